// Package triage says what a stack is about: which of its frames are the program's own, a signature by which stacks of one fault are
// found again, and the headline of the report that it stands in.
//
//	own.go        which functions are the program's own
//	judged.go     what was said of the functions so far
//	library.go    functions of the standard libraries of Rust and Go
//	name.go       names of functions without what differs from build to build
//	signature.go  the signature of a stack, and where a stack ends
//	headline.go   headlines, and what a report says of each of its stacks
package triage

import (
	"path"
	"slices"
	"strings"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// notOwn are functions of allocators, interceptors and runtimes: they say where a fault was noticed, not where it was made. They are
// compared with what Name returns.
var notOwn = sync.OnceValue(func() map[string]bool {
	return words(`
	malloc calloc realloc reallocarray free cfree valloc pvalloc memalign aligned_alloc posix_memalign strdup strndup asprintf vasprintf
	operator_new operator_new[] operator_delete operator_delete[] xmalloc xrealloc xcalloc g_malloc g_malloc0 g_realloc g_free g_try_malloc
	je_malloc je_calloc je_realloc je_free scudo_malloc scudo_free tc_malloc tc_free cfi_slowpath
	abort raise gsignal tgkill kill pthread_kill exit _exit quick_exit syscall sigaction backtrace unwind_backtrace
	memcpy memmove memset memcmp memchr bcmp strlen strnlen strcpy strncpy strcat strncat strcmp strncmp strcasecmp strchr strrchr strstr
	printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf read write recv recvmsg send sendmsg pthread_create
	_start start start_thread clone clone3 thread_start _sigtramp __restore_rt __kernel_rt_sigreturn __dl_sysinfo_int80 call_init _dl_init
	RaiseException RtlUserThreadStart BaseThreadInitThunk KiUserExceptionDispatcher RtlRaiseException RtlInitializeExceptionChain
	invoke_main mainCRTStartup wmainCRTStartup _purecall _CxxThrowException UnhandledExceptionFilter
	operator_-> operator_* operator_[] operator_() operator_bool operator_== operator_!= WTFReportBacktrace __android_log_assert
	V8_Fatal V8_Dcheck WTFCrash WTFCrashWithInfo WTFCrashWithInfoImpl CrashOverflowVector rust_panic rust_begin_unwind panic do_panic
	g_log g_logv g_log_structured_array g_assertion_message g_assertion_message_expr g_return_if_fail_warning
	[vdso] dump_stack dump_stack_lvl show_stack dump_backtrace print_address_description print_report object_err die oops_end no_context
	check_memory_region report_enabled end_report CrashTrampolineAsm`)
})

// notOwnPrefixes begin the names of such functions.
var notOwnPrefixes = sync.OnceValue(func() []string {
	return strings.Fields(`
	__asan_ __hwasan_ __memprof_ __msan_ __tsan_ __ubsan_ __lsan_ __dfsan_ __sanitizer_ __sanitizer:: __interceptor_ ___interceptor_
	__asan:: __hwasan:: __msan:: __tsan:: __ubsan:: __lsan:: __interception:: __cfi_ __gwp_asan pthread_ asan_ wrap_ fuzzer:: centipede::
	__aeabi_ _swift_stdlib_ Swift. __cxa_ __cxxabiv1:: __gnu_cxx:: __gxx_ _Unwind_ __libc_ __GI_ __pthread_ __assert __fortify_ __chk_fail __stack_chk_fail __scrt_
	std:: runtime. rust_panic __rust __rustc:: testing.tRunner test::__rust_ test::run_test
	__wrap_ HF_ _objc_terminate _sanitizer_ __sanitizer:: v8::api_internal:: blink::ReportV8FatalError ExitCallback abort_ absl::log_internal:: absl::lts_ google::LogMessage google::LogMessageFatal logging::LogMessage
	logging::CheckError base::debug:: base::ImmediateCrash v8::base::OS::Abort v8::base::debug:: WTF::fastMalloc WTF::Partition::
	blink::PartitionAlloc base::allocator:: partition_alloc:: base::PartitionAlloc base::PartitionRoot android::base::LogMessage
	android::AndroidRuntime::onCrash art::Runtime::Abort kasan_ __kasan_ kmsan_ kcsan_ warn_slowpath_ __warn report_bug do_trap do_error_trap`)
})

// notOwnModules begin the names of files whose functions are a runtime's.
var notOwnModules = sync.OnceValue(func() []string {
	return strings.Fields(`
	libc.so libc- libc.musl libm.so libm- libpthread libdl. libdl- librt. ld- ld. linker linux-vdso linux-gate [vdso] libstdc++ libc++ libgcc_s
	libasan libhwasan libubsan libtsan liblsan libmsan libclang_rt libscudo libsystem_ libdyld libobjc libunwind libbacktrace
	ntdll kernel32 kernelbase ucrtbase msvcrt vcruntime msvcp clang_rt. libsigchain libart. libhonggfuzz`)
})

// notOwnPaths are in the paths of source files of systems and of toolchains, and dependencies in those of code that a build has a copy of.
var (
	notOwnPaths = []string{"/compiler-rt/", "sanitizer_common/", "/libsanitizer/", "/libcxxabi/", "/libfuzzer/", "/libstdc++-v3/", "/include/c++/", "/c++/v1/",
		"/usr/include/", "/usr/lib/gcc", "/usr/lib/llvm", "/usr/lib/python", "/usr/src/debug/", "/rustc/", "/rust/deps/", "/library/std/src/", "/library/core/src/", "/library/alloc/src/", "/.rustup/", "/rustup/toolchains/",
		"/usr/lib/go", "/usr/local/go/src/", "/goroot/src/", "/go/src/runtime/", "sysdeps/", "/glibc", "csu/libc-start", "vcruntime", "vcstartup",
		"/VC/Tools/MSVC/", "/Windows Kits/", "/vctools/crt/", "/minkernel/crts/", "/hostedtoolcache/", "/Toolchains/", "/toolchains/llvm/", "/Xcode.app/", "/emsdk/", "/node:"}
	dependencies = []string{"/third_party/", "/third-party/", "/thirdparty/", "/3rdparty/", "/vendor/", "/external/", "/node_modules/", "/site-packages/", "/dist-packages/", "/_deps/",
		"cargo/registry/", "cargo/git/", "/usr/local/include/", "/pkg/mod/", "/vcpkg_installed/", "/.conan/", "/.conan2/", "/nix/store/"}
)

// systemDirs begin the paths of modules that a system brings along.
var systemDirs = []string{"/lib/", "/lib32/", "/lib64/", "/bin/", "/sbin/", "/usr/lib", "/usr/bin/", "/usr/sbin/", "/System/", "/system/", "/apex/", "/vendor/lib",
	"/nix/store/", "C:/Windows/", "C:/WINDOWS/"}

// Rules say which functions are the program's own. The zero value has the general ones.
type Rules struct {
	// Root is the directory of the program's source: what is above it says nothing of a file below it. "" for none.
	Root string
	// Patterns are globs of source files and of modules, in which * stands for anything: what matches one is the program's own, or is not
	// if the pattern begins with !. The last one that matches counts. One without a slash is of the last part of a path.
	Patterns []string
}

// Own reports whether a function is the program's own: it is none of an allocator, of an interceptor of a sanitizer, of a runtime or of a
// standard library, and its source is none of a system, of a toolchain or of a dependency. name is the function as debug information has
// it, "" if it is unknown; module is the path of its binary, and file that of its source.
func (r *Rules) Own(name, module, file string) bool {
	if own, said := r.said(module, file); said {
		return own
	}
	if r.Root != "" {
		file = strings.TrimPrefix(file, strings.TrimRight(r.Root, "/"))
	}
	v := judge(name, module, file)
	return v.own && !v.dependency
}

// OwnFunction reports the same for a function of an answer, which a map may say to be of another program's source.
func (r *Rules) OwnFunction(fr *symsrc.Frame, module string) bool {
	return !r.foreign(fr.Foreign, module, fr.File) && r.Own(fr.Func, module, fr.File)
}

// foreign reports whether a source is another program's by the word of a map, and the user does not say otherwise.
func (r *Rules) foreign(is bool, module, file string) bool {
	if is {
		_, said := r.said(module, file)
		return !said
	}
	return false
}

// isDependency reports whether a source file is a copy of a dependency. The directory of a module that Go has fetched has a version.
func isDependency(file string) bool {
	return contains(file, dependencies) || strings.HasSuffix(file, ".go") && strings.Contains(file, "@v")
}

// contains reports whether a path, which may be relative, has one of the parts.
func contains(file string, parts []string) bool {
	if file = slashed(file); file != "" && file[0] != '/' {
		file = "/" + file
	}
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(file, part) })
}

// OwnModule reports whether code of which only the module is known may be the program's own: a module of a system's directory has none.
func (r *Rules) OwnModule(module string) bool {
	if own, said := r.said(module, ""); said {
		return own
	}
	at := slashed(module)
	return judge("", module, "").own && !slices.ContainsFunc(systemDirs, func(dir string) bool { return strings.HasPrefix(at, dir) })
}

// said returns what the user says of a source file or a module, if that is anything.
func (r *Rules) said(module, file string) (own, said bool) {
	for _, pattern := range slices.Backward(r.Patterns) {
		pattern, not := strings.CutPrefix(pattern, "!")
		if matches(pattern, file) || matches(pattern, module) {
			return !not, true
		}
	}
	return false, false
}

// slashed returns a path with the separators of Unix.
func slashed(path string) string { return strings.ReplaceAll(path, `\`, "/") }

// matches reports whether a path, or its last part if the pattern has no slash, matches a pattern.
func matches(pattern, of string) bool {
	if of == "" || pattern == "" {
		return false
	}
	of = slashed(of)
	if !strings.Contains(pattern, "/") {
		return wild(pattern, of[strings.LastIndexByte(of, '/')+1:])
	}
	return wild(pattern, of) || !strings.HasPrefix(pattern, "/") && wild("*/"+pattern, of)
}

// wild reports whether a text matches a pattern in which * stands for anything.
func wild(pattern, text string) bool {
	begin, rest, ok := strings.Cut(pattern, "*")
	if !ok {
		return pattern == text
	}
	if !strings.HasPrefix(text, begin) {
		return false
	}
	text = text[len(begin):]
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(text, part)
		}
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(part):], more
	}
}

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(list) {
		if word, ok := strings.CutPrefix(word, "operator_"); ok {
			set["operator"+word] = true
			set["operator "+word] = true
			continue
		}
		set[word] = true
	}
	return set
}

// own is Rules.Own without rules of the user, for which dependencies are the program's own, too. name is as Name returns it, and file is not
// that of a system or of a toolchain.
func own(name, module, file string) bool {
	if strings.HasSuffix(name, "_chk") { // the checked functions of libc
		return false
	}
	if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") || strings.HasPrefix(name, "__Z") {
		name = Name(demangle.Demangle(name))
	}
	if ofRust(name, file) || ofGo(name, file) {
		return false
	}
	base := strings.ToLower(path.Base(slashed(module)))
	for _, begin := range notOwnModules() {
		if strings.HasPrefix(base, begin) {
			return false
		}
	}
	if notOwn()[name] || notOwn()[strings.TrimLeft(name, "_")] {
		return false
	}
	for _, begin := range notOwnPrefixes() {
		if strings.HasPrefix(name, begin) {
			return false
		}
	}
	return true
}
