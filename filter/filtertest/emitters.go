package filtertest

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"strings"
)

// Emitters write stacks in the format of a program's source, which the comments name.
var Emitters = []Emitter{
	{Name: "addresses alone, raw", maps: true, each: func(p *Page, _ int, f walkedFrame) { p.frame(f, "  %#x", f.pc) }},
	{Name: "addresses alone, moved", maps: true, each: func(p *Page, _ int, f walkedFrame) { p.frame(f, "  %#x", f.pc-f.moved()) }},
	{Name: "addresses alone, 16 digits", maps: true, each: func(p *Page, _ int, f walkedFrame) { p.frame(f, "0x%016x", f.pc) }},
	{Name: "path+offset alone, raw", each: eachIn(func(p *Page, _ int, f walkedFrame) { p.frame(f, "   %s+%#x", f.in.path, f.linked()) })},
	{Name: "path+offset alone, moved", each: eachIn(func(p *Page, _ int, f walkedFrame) {
		p.frame(f, "   %s+%#x", f.in.path, f.linked()-f.moved())
	})},
	{Name: "Backtrace: and addresses, raw", maps: true, stack: says("Backtrace:"),
		each: func(p *Page, _ int, f walkedFrame) { p.frame(f, "  %#x", f.pc) }},
	// Seastar, src/util/backtrace.cc: backtrace() decorates ip - 1, also what a signal interrupted.
	{Name: "Seastar", maps: true, stack: says("Reactor stalled for 33 ms on shard 0, in scheduling group main. Backtrace:"),
		each: eachIn(func(p *Page, _ int, f walkedFrame) { p.frame(f, "  %#x", f.pc-1) })},
	{Name: "Seastar, modules", stack: says("Segmentation fault on shard 0.\nBacktrace:"),
		each: eachIn(func(p *Page, _ int, f walkedFrame) { p.frame(f, "  %s+%#x", f.in.path, f.linked()-1) })},
	{Name: "PerFlow", maps: true, stack: perFlowHead, each: func(p *Page, _ int, f walkedFrame) { p.frame(f, "  0x%016x", f.pc) }},
	{Name: "pc=, raw", maps: true, each: func(p *Page, i int, f walkedFrame) { p.frame(f, "frame %d: pc=%#x", i, f.pc) }},
	{Name: "pc=, moved", maps: true, each: func(p *Page, i int, f walkedFrame) { p.frame(f, "frame %d: pc=%#x", i, f.pc-f.moved()) }},
	// glibc, debug/backtracesyms.c.
	{Name: "glibc", each: eachIn(glibcFrame)},
	{Name: "glibc after UBSan's headline", head: ubsanHead, each: eachIn(glibcFrame)},
	// Ceph, src/common/BackTrace.cc: glibc's frames, without the module where there is a function.
	{Name: "Ceph", each: eachIn(func(p *Page, i int, f walkedFrame) {
		if name, off := p.w.symbolAt(f); len(name)%2 == 1 {
			p.frame(f, " %d: (%s+%#x) [%#x]", i+1, name, off, f.pc)
			return
		}
		glibcFrame(p, i, f)
	})},
	// Mono, mono/mini/mini-posix.c.
	{Name: "Mono", maps: true, each: eachIn(func(p *Page, _ int, f walkedFrame) { p.frame(f, "\t%#x - %s : ", f.pc, f.in.path) })},
	// glog, src/signalhandler.cc and utilities.cc.
	{Name: "glog", maps: true, each: func(p *Page, _ int, f walkedFrame) { p.frame(f, "    @ %18s (unknown)", fmt.Sprintf("%#x", f.pc)) }},
	{Name: "glog after UBSan's headline", maps: true, head: ubsanHead, each: func(p *Page, _ int, f walkedFrame) {
		p.frame(f, "    @ %18s (unknown)", fmt.Sprintf("%#x", f.pc))
	}},
	// Programs that make frames of backtrace and dladdr: the distance from dli_fbase.
	{Name: "dladdr", each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "#%02d %#x %s(+%#x)", i, f.pc, f.in.path, f.pc-f.in.first)
	})},
	// The example that most programs with libunwind copy, without symbols.
	{Name: "libunwind", maps: true, each: func(p *Page, _ int, f walkedFrame) {
		p.frame(f, "%#x: -- error: unable to obtain symbol name for this frame", f.pc)
	}},
	// compiler-rt, sanitizer_stacktrace_libcdep.cpp: `    #%n %p %F %L`, moved.
	{Name: "sanitizer", stack: says("==7==ERROR: AddressSanitizer: x"), each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "    #%d %#x  (%s+%#x)", i, f.pc-f.moved(), f.in.path, f.linked()-f.moved())
	})},
	{Name: "one space, raw, after UBSan's headline", head: ubsanHead, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "#%d %#x (%s+%#x)", i, f.pc, f.in.path, f.linked())
	})},
	{Name: "one space, raw", each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "#%d %#x (%s+%#x)", i, f.pc, f.in.path, f.linked())
	})},
	{Name: "markup, raw", stack: markupHead, each: func(p *Page, i int, f walkedFrame) { p.frame(f, "{{{bt:%d:%#x}}}", i, f.pc) }},
	{Name: "markup, raw, after UBSan's headline", head: ubsanHead, stack: markupHead, each: func(p *Page, i int, f walkedFrame) {
		p.frame(f, "{{{bt:%d:%#x}}}", i, f.pc)
	}},
	{Name: "markup, moved, of ASan", stack: func(p *Page, s *walkedStack) {
		markupHead(p, s)
		p.text("==7==ERROR: AddressSanitizer: x")
	}, each: func(p *Page, i int, f walkedFrame) { p.frame(f, "{{{bt:%d:%#x}}}", i, f.pc-f.moved()) }},
	{Name: "markup, :ra and :pc", stack: markupHead, each: func(p *Page, i int, f walkedFrame) {
		p.frame(f, "{{{bt:%d:%#x:%s}}}", i, f.pc, map[bool]string{true: "pc", false: "ra"}[f.exact])
	}},
	// perf, util/evsel_fprintf.c: offsets in the file, return addresses but for the sample's own.
	{Name: "perf script", interrupted: true, stack: perfHead, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "\t%16x %s (%s)", f.inFile(), "[unknown]", f.in.path)
	})},
	{Name: "perf script below the kernel", interrupted: true, stack: func(p *Page, s *walkedStack) {
		perfHead(p, s)
		p.text("\tffffffff822039e0 _raw_spin_unlock+0x0 ([kernel.kallsyms])\n\tffffffff811039e0 do_syscall_64+0x3b ([kernel.kallsyms])")
	}, each: eachIn(func(p *Page, i int, f walkedFrame) { p.frame(f, "\t%16x [unknown] (%s)", f.inFile(), f.in.path) })},
	{Name: "perf script, with what it knows not", interrupted: true, stack: perfHead, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "\t%16x [unknown] (%s)", f.inFile(), f.in.path)
		p.text("\t%16x [unknown] ([unknown])\n\t%16x small+0x3 (inlined)\n\t%16x small+0x3 (inlined)\n\t%16x small+0x3 (inlined)", 0, 7, 8, 9)
	})},
	// OpenJDK, src/hotspot/share/utilities/vmError.cpp.
	{Name: "hs_err", interrupted: true, stack: says(hsErrHead), each: eachIn(hsErrFrame)},
	{Name: "hs_err, Java frames between", interrupted: true, stack: says(hsErrHead),
		each: eachIn(func(p *Page, i int, f walkedFrame) {
			hsErrFrame(p, i, f)
			p.text("j  Hs.boom(I)I+0\nj  Hs.b(I)I+0\nJ 12 c2 Hs.c(I)I (2 bytes) @ 0x00007f\nj  Hs.d(I)I+0\nv  ~StubRoutines::call_stub")
		})},
	// strace, src/unwind.c: libunwind's offsets are those in the file.
	{Name: "strace -k", interrupted: true, stack: says(`write(1, "hi\n", 3) = 3`), each: eachIn(func(p *Page, _ int, f walkedFrame) {
		if name, off := p.w.symbolAt(f); len(name)%2 == 1 { // some have a symbol
			p.frame(f, " > %s(%s+%#x) [%#x]", f.in.path, name, off, f.inFile())
			return
		}
		p.frame(f, " > %s() [%#x]", f.in.path, f.inFile())
	})},
	{Name: "strace -k with libdw", interrupted: true, stack: says(`write(1, "hi\n", 3) = 3`), each: eachIn(func(p *Page, _ int, f walkedFrame) {
		p.frame(f, " > %s() [%#x]", f.in.path, f.linked()-f.back())
	})},
	// Chromium, base/debug/stack_trace_android.cc, before and since 2015.
	{Name: "Chromium on Android, path+offset", each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "#%02d 0x%08x %s+0x%08x", i, f.pc, f.in.path, f.inFile())
	})},
	{Name: "Chromium on Android, pc", each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "#%02d pc 0x%08x %s", i, f.pc-1-f.in.text, f.in.path)
	})},
	// libunwindstack, Unwinder.cpp: moved. Up to Android 10 the offset is that in the file, and without names the log does not say which.
	{Name: "Android 11", each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "      #%02d pc %016x  %s (BuildId: %s)", i, f.linked()-f.moved(), f.in.path, buildIDOf(f.in.path))
	})},
	{Name: "Android, named", each: eachIn(func(p *Page, i int, f walkedFrame) { androidNamed(p, i, f, f.linked()) })},
	{Name: "Android 10, named", each: eachIn(func(p *Page, i int, f walkedFrame) { androidNamed(p, i, f, f.inFile()) })},
	{Name: "Android", each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "      #%02d pc %016x  %s", i, f.linked()-f.moved(), f.in.path)
	})},
	{Name: "Android 10", each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "      #%02d pc %016x  %s", i, f.inFile()-f.moved(), f.in.path)
	})},
	// Tizen.
	{Name: "Tizen sys-assert", interrupted: true, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "%2d: (%#x) [%s] + %#x", i, f.pc, f.in.path, f.pc-f.in.text)
	})},
	{Name: "Tizen dump-stack", interrupted: true, each: eachIn(func(p *Page, i int, f walkedFrame) {
		name, off := p.w.symbolAt(f)
		if name == "" {
			name = "(null)"
		}
		p.frame(f, "  %2d: %s + %#x (0x%016x) [%s] + %#x", i, name, off, f.pc, f.in.path, f.pc-f.in.first)
	})},
	{Name: "systemd-coredump", interrupted: true, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "#%-2d 0x%016x n/a (%s + %#x)", i, f.pc, filepath.Base(f.in.path), f.pc-f.in.first)
	})},
	{Name: "gdb", interrupted: true, maps: true, each: func(p *Page, i int, f walkedFrame) { p.frame(f, "#%-2d 0x%016x in ?? ()", i, f.pc) }},
	{Name: "backward", maps: true, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "#%-4d Object \"%s\", at %#x, in ", i, f.in.path, f.pc)
	})},
	// With the compiler's unwinder, backward.hpp: 1 is taken from return addresses.
	{Name: "backward, moved", maps: true, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "#%-4d Object \"%s\", at %#x, in ", i, f.in.path, (f.pc&^f.thumb())-f.back())
	})},
	{Name: "backward, no mappings", each: eachIn(func(p *Page, i int, f walkedFrame) {
		if !f.in.pie {
			p.frame(f, "#%-4d Object \"%s\", at %#x, in ", i, f.in.path, f.pc)
			return
		}
		p.text("#%-4d Object \"%s\", at %#x, in ", i, f.in.path, f.pc)
	})},
	{Name: "Rust", maps: true, each: func(p *Page, i int, f walkedFrame) {
		p.frame(f, "%4d: %18s - <unknown>", i, fmt.Sprintf("%#x", f.pc))
	}},
	{Name: "Envoy", maps: true, each: func(p *Page, i int, f walkedFrame) {
		p.frame(f, "[critical][backtrace] [./source/server/backtrace.h:104] #%d: [%#x]", i, f.pc)
	}},
	// Mozilla, mozglue/misc/StackWalk.cpp.
	{Name: "Mozilla", each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "#%02d: ???[%s +%#x]", i+1, f.in.path, f.linked())
	})},
	// c10/util/Backtrace.cpp takes apart what backtrace_symbols returns, or prints that.
	{Name: "PyTorch", each: eachIn(func(p *Page, i int, f walkedFrame) {
		if !f.in.pie {
			p.frame(f, "frame #%d: %s() [%#x]", i, f.in.path, f.pc)
			return
		}
		name, off := nameOrOffset(p, f)
		if name == "" {
			name = "<unknown function>"
		}
		p.frame(f, "frame #%d: %s + %#x (%#x in %s)", i, name, off, f.pc, f.in.path)
	})},
	// CPython, Python/traceback.c.
	{Name: "faulthandler", each: eachIn(func(p *Page, _ int, f walkedFrame) {
		if name, off := nameOrOffset(p, f); name != "" || f.in.pie {
			p.frame(f, `  Binary file "%s", at %s+%#x [%#x]`, f.in.path, name, off, f.pc)
			return
		}
		p.frame(f, `  Binary file "%s" [%#x]`, f.in.path, f.pc)
	})},
	// Linux, arch/x86/mm/fault.c and mm/memory.c, before and since 6.7.
	{Name: "Linux, segfault", interrupted: true, each: eachIn(func(p *Page, _ int, f walkedFrame) {
		if f.exact {
			p.frame(f, "walks[7]: segfault at 0 ip %016x sp %016x error 4 in %s[%x+%x] likely on CPU 1 (core 1, socket 0)", f.pc, 1<<46,
				filepath.Base(f.in.path), f.in.text, f.in.textEnd-f.in.text)
		}
	})},
	{Name: "Linux 6.7, trap", interrupted: true, each: eachIn(func(p *Page, _ int, f walkedFrame) {
		if f.exact {
			p.frame(f, "traps: walks[7] trap invalid opcode ip:%x sp:%x error:0 in %s[%x,%x+%x]", f.pc, 1<<46, filepath.Base(f.in.path),
				f.inFile(), f.in.text, f.in.textEnd-f.in.text)
		}
	})},
	// arch/x86/kernel/traps.c: after int3 the address is that of the next instruction. No other machine has it.
	{Name: "Linux, trap int3", each: eachIn(func(p *Page, _ int, f walkedFrame) {
		if !f.exact && f.in.machine == elf.EM_X86_64 {
			p.frame(f, "traps: walks[7] trap int3 ip:%x sp:%x error:0 in %s[%x+%x]", f.pc, 1<<46, filepath.Base(f.in.path), f.in.text, f.in.textEnd-f.in.text)
		}
	})},
	// arch/powerpc/kernel/traps.c, arch/riscv/kernel/traps.c, arch/s390/mm/fault.c and arch/mips/mm/fault.c, since 6.7.
	{Name: "Linux on PowerPC", interrupted: true, each: onlyFault("walks[7]: segfault (11) at 0 nip ADDR lr ADDR code 1 in MAPPING")},
	{Name: "Linux on RISC-V", interrupted: true, each: onlyFault("walks[7]: unhandled signal 11 code 0x1 at 0x0000000000000000 in MAPPING")},
	{Name: "Linux on s390", interrupted: true, each: onlyFault("User process fault: interruption code 0010 ilc:2 in MAPPING")},
	{Name: "Linux on MIPS", interrupted: true, each: onlyFault("epc = ADDR in MAPPING")},
	// before 6.7
	{Name: "Linux 6.6 on MIPS", interrupted: true, each: eachIn(func(p *Page, _ int, f walkedFrame) {
		if f.exact && !f.in.pie {
			p.frame(f, "epc = %016x in %s[%x+%x]", f.pc, filepath.Base(f.in.path), f.in.text, f.in.textEnd-f.in.text)
		}
	})},
	// Breakpad, processor/stackwalk_common.cc, since 2013 and before.
	{Name: "minidump-stackwalk", interrupted: true, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "%2d  %s + %#x", i, filepath.Base(f.in.path), f.pc-f.in.first)
	})},
	{Name: "minidump-stackwalk, moved", interrupted: true, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "%2d  %s + %#x", i, filepath.Base(f.in.path), f.pc-f.moved()-f.in.first)
	})},
	{Name: "minidump-stackwalk -m", interrupted: true, each: eachIn(func(p *Page, i int, f walkedFrame) {
		p.frame(f, "0|%d|%s||||%#x", i, filepath.Base(f.in.path), f.pc-f.in.first)
	})},
	// PyTorch, c10/util/Backtrace.cpp.
	{Name: "PyTorch on Android", maps: true, each: func(p *Page, i int, f walkedFrame) { p.frame(f, " frame #%d\t[%#x]\t", i, f.pc) }},
	{Name: "cuda-memcheck", each: eachIn(func(p *Page, _ int, f walkedFrame) {
		p.frame(f, "=========     Host Frame:%s [%#x]", f.in.path, f.pc-f.in.first)
	})},
	{Name: "compute-sanitizer, two lines", each: eachIn(func(p *Page, _ int, f walkedFrame) {
		p.text("=========     Host Frame: [%#x]", f.pc-f.in.first)
		p.frame(f, "=========                in %s", f.in.path)
	})},
	{Name: "compute-sanitizer", each: eachIn(func(p *Page, _ int, f walkedFrame) {
		p.frame(f, "=========         Host Frame: [%#x] in %s", f.pc-f.in.first, filepath.Base(f.in.path))
	})},
	// Unreal Engine, UnixPlatformStackWalk.cpp.
	{Name: "Unreal", each: eachIn(unrealFrame)},
	{Name: "Unreal, named", interrupted: true, each: eachIn(func(p *Page, i int, f walkedFrame) {
		if name, off := p.w.symbolAt(f); name != "" {
			p.frame(f, "0x%016x %s!%s(+%#x)", f.pc, filepath.Base(f.in.path), name, off-min(1, uint64(i)))
			return
		}
		unrealFrame(p, i, f)
	})},
	// Crystal, src/exception/call_stack/libunwind.cr: dladdr's function, and its file.
	{Name: "Crystal", maps: true, each: eachIn(func(p *Page, _ int, f walkedFrame) {
		if name, off := p.w.symbolAt(f); name != "" {
			p.frame(f, "[%#x] %s +%d in %s", f.pc, name, off, f.in.path)
			return
		}
		p.frame(f, "[%#x] ???", f.pc)
	})},
	{Name: "Crystal before 1.2", maps: true, each: func(p *Page, _ int, f walkedFrame) {
		if name, off := p.w.symbolAt(f); name != "" {
			p.frame(f, "[%#x] %s +%d", f.pc, name, off)
			return
		}
		p.frame(f, "[%#x] ???", f.pc)
	}},
	// g3log, src/crashhandler_unix.cpp: glibc's frames, taken apart.
	{Name: "g3log", each: eachIn(func(p *Page, i int, f walkedFrame) {
		if name, off := nameOrOffset(p, f); name != "" {
			p.frame(f, "\tstack dump [%d]  %s : %s+%#x [%#x]", i+1, f.in.path, name, off, f.pc)
		} else {
			p.frame(f, "\tstack dump [%d]  %s+%#x [%#x]", i+1, f.in.path, off, f.pc)
		}
	})},
	// Zig, lib/std/debug.zig, and Julia, src/stackwalk.c.
	{Name: "Zig", interrupted: true, maps: true, each: func(p *Page, _ int, f walkedFrame) { p.frame(f, "???:?:?: %#x in ??? (???)", f.pc-f.moved()) }},
	{Name: "Julia", interrupted: true, maps: true, each: func(p *Page, _ int, f walkedFrame) {
		p.frame(f, "unknown function (ip: %#x)", f.pc-f.moved())
	}},
	// Wine, programs/winedbg/stack.c, since Wine 8 and before.
	{Name: "Wine", interrupted: true, each: eachIn(func(p *Page, i int, f walkedFrame) { wineFrame(p, i, f, 0) })},
	{Name: "Wine 7", interrupted: true, each: eachIn(func(p *Page, i int, f walkedFrame) { wineFrame(p, i, f, min(1, uint64(i))) })},
	{Name: "valgrind", interrupted: true, stack: func(p *Page, _ *walkedStack) {
		p.text("==7== %s", strings.Join(p.w.maps, "\n==7== "))
	}, each: func(p *Page, i int, f walkedFrame) {
		p.frame(f, "==7==    %s 0x%X: ???", map[bool]string{true: "at", false: "by"}[i == 0], (f.pc&^f.thumb())-f.back())
	}},
}

// hsErrHead are the headlines of a signal and of the native frames.
const hsErrHead = "#  SIGSEGV (0xb) at pc=0x00007f4ee736d0f9, pid=7, tid=7\nNative frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)"

const ubsanHead = "a.c:7:3: runtime error: signed integer overflow"

func says(text string) func(*Page, *walkedStack) {
	return func(p *Page, _ *walkedStack) { p.text("%s", text) }
}

// mapping returns the mapping of a frame as Linux has it in the messages of faults since 6.7, with the frame's offset in the file.
func (f *walkedFrame) mapping() string {
	return fmt.Sprintf("%s[%x,%x+%x]", filepath.Base(f.in.path), f.inFile(), f.in.text, f.in.textEnd-f.in.text)
}

// onlyFault writes the frame that a signal interrupted, ADDR and MAPPING stand for what they are.
func onlyFault(format string) func(p *Page, i int, f walkedFrame) {
	return eachIn(func(p *Page, _ int, f walkedFrame) {
		if f.exact {
			p.frame(f, "%s", strings.NewReplacer("ADDR", fmt.Sprintf("%x", f.pc), "MAPPING", f.mapping()).Replace(format))
		}
	})
}

func eachIn(each func(p *Page, i int, f walkedFrame)) func(p *Page, i int, f walkedFrame) {
	return func(p *Page, i int, f walkedFrame) {
		if f.in != nil {
			each(p, i, f)
		}
	}
}

func glibcFrame(p *Page, _ int, f walkedFrame) {
	if f.in.pie {
		p.frame(f, "%s(+%#x)[%#x]", f.in.path, f.linked(), f.pc)
		return
	}
	p.frame(f, "%s[%#x]", f.in.path, f.pc)
}

// nameOrOffset returns the function of a frame and how far in it the frame is, or the frame's address in the file. Only some functions
// are known.
func nameOrOffset(p *Page, f walkedFrame) (name string, off uint64) {
	if name, off = p.w.symbolAt(f); len(name)%2 == 1 {
		return name, off
	}
	return "", f.linked()
}

func hsErrFrame(p *Page, _ int, f walkedFrame) {
	p.frame(f, "C  [%s+%#x]", filepath.Base(f.in.path), f.linked())
}

// libraryName returns a name that ends as those of libraries do.
func libraryName(path string) string {
	if name := filepath.Base(path); strings.Contains(name, ".so") {
		return name
	}
	return filepath.Base(path) + ".so"
}

func unrealFrame(p *Page, i int, f walkedFrame) {
	p.frame(f, "LogCore: Error: [Callstack] 0x%016x %s!UnknownFunction(%#x)", f.pc, filepath.Base(f.in.path), f.pc-min(1, uint64(i))-f.in.first)
}

func wineFrame(p *Page, i int, f walkedFrame, less uint64) {
	p.frame(f, "%s%d 0x%08x in %s (+%#x) (0x0032f8d8)", map[bool]string{true: "=>", false: "  "}[i == 0], i, f.pc, libraryName(f.in.path),
		f.pc-less-f.in.first)
}

func androidNamed(p *Page, i int, f walkedFrame, at uint64) {
	name, off := p.w.symbolAt(f)
	p.frame(f, "      #%02d pc %016x  %s (%s+%d)", i, at-f.moved(), f.in.path, name, off-f.moved())
}

func perFlowHead(p *Page, s *walkedStack) {
	p.text("[1795191696932172754] Call walkedStack (depth: %d)", len(s.frames))
}

func perfHead(p *Page, s *walkedStack) {
	p.text("walks  4711 12.345678:     250000 cpu-clock:u: ")
}

func markupHead(p *Page, _ *walkedStack) {
	p.text("{{{reset}}}")
	n := 0
	for _, f := range p.w.spaces {
		if f.text == 0 {
			continue
		}
		p.text("{{{module:%d:%s:elf:%s}}}", n, f.path, buildIDOf(f.path))
		p.text("{{{mmap:%#x:%#x:load:%d:rx:%#x}}}", f.text, f.textEnd-f.text, n, f.text-f.first+f.low)
		n++
	}
}

// symbolAt returns the symbol of a frame of the program, and how far after its beginning the frame is.
func (w *Walked) symbolAt(f walkedFrame) (name string, off uint64) {
	if f.in.path != w.Path {
		return "", 0
	}
	for _, s := range symbolsOf(w.Path) {
		if at := f.linked(); elf.ST_TYPE(s.Info) == elf.STT_FUNC && at > s.Value && at <= s.Value+s.Size {
			return s.Name, at - s.Value
		}
	}
	return "", 0
}
