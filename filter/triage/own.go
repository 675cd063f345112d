// Package triage says what a stack is about: which of its frames are the program's own, a signature by which stacks of one fault are
// found again, and the headline of the report that it stands in.
//
//	own.go        which functions are the program's own
//	name.go       names of functions without what differs from build to build
//	signature.go  the signature of a stack, and where a stack ends
//	headline.go   headlines, and what a report says of each of its stacks
package triage

import (
	"path"
	"strings"
	"sync"
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
	check_memory_region report_enabled end_report`)
})

// notOwnPrefixes begin the names of such functions.
var notOwnPrefixes = sync.OnceValue(func() []string {
	return strings.Fields(`
	__asan_ __hwasan_ __memprof_ __msan_ __tsan_ __ubsan_ __lsan_ __dfsan_ __sanitizer_ __sanitizer:: __interceptor_ ___interceptor_
	__asan:: __hwasan:: __msan:: __tsan:: __ubsan:: __lsan:: __interception:: __cfi_ __gwp_asan pthread_ asan_ wrap_ fuzzer:: centipede::
	__cxa_ __cxxabiv1:: __gnu_cxx:: __gxx_ _Unwind_ __libc_ __GI_ __pthread_ __assert __fortify_ __chk_fail __stack_chk_fail __scrt_
	std:: runtime. rust_panic __rust __rustc:: core::panicking:: core::result::unwrap core::option::unwrap core::option::expect core::ops::function:: core::fmt::
	__wrap_ HF_ _objc_terminate _sanitizer_ __sanitizer:: v8::api_internal:: blink::ReportV8FatalError ExitCallback alloc::alloc:: alloc::raw_vec::handle_ abort_ absl::log_internal:: absl::lts_ google::LogMessage google::LogMessageFatal logging::LogMessage
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

// notOwnPaths are in the paths of a runtime's source files.
var notOwnPaths = []string{"/compiler-rt/", "sanitizer_common/", "/libsanitizer/", "/libcxxabi/", "/libfuzzer/",
	"/rustc/", "/usr/lib/go", "/usr/local/go/src/runtime/", "sysdeps/", "/glibc", "vcruntime", "vcstartup"}

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

// Own reports whether a function is the program's own. It is none of an allocator, of an interceptor of a sanitizer, or of a runtime.
// name is the function as debug information has it, "" if it is unknown; module is the path of its binary, and file that of its source.
func Own(name, module, file string) bool { return own(Name(name), module, file) }

// own is Own for a name as Name returns it.
func own(name, module, file string) bool {
	for _, dir := range notOwnPaths {
		if strings.Contains(file, dir) {
			return false
		}
	}
	if strings.HasSuffix(name, "_chk") { // the checked functions of libc
		return false
	}
	base := strings.ToLower(path.Base(strings.ReplaceAll(module, `\`, "/")))
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
