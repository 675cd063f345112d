package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Where the kernel permits no records, the command is traced, but only until its dynamic linker has loaded the libraries that it needs: see
// ptrace(2). It stops at its system calls, and is let go at the first one that is not the linker's own:
//
//   - that of glibc has calls in its own code, so a call from elsewhere is that of a library that is initialized, or of the program;
//   - that of musl is the C library as well: what it was called to return to, which is below the stack that the kernel has made, is
//     another thing when the program begins;
//   - and wherever it comes from, it is let go before any call that linkers do not make.
//
// So the command has not written, forked or executed anything, and has no threads. It may trace and be traced from then on, as debuggers and
// LeakSanitizer do. What it executes and what it forks is not traced.
//
// A breakpoint would not do: processors of many virtual machines stop at none of their debug registers, and an instruction that traps could stay in the
// memory of a process that the command forks.

const (
	// syscallStop is the signal of a stop at a system call, with PTRACE_O_TRACESYSGOOD: SIGTRAP with one more bit.
	syscallStop = unix.SIGTRAP | 0x80
	// maxLoading bounds the stops. A library has about 16.
	maxLoading      = 1 << 16
	maxInterpreters = 4
)

// linkerCalls are the system calls that the dynamic linkers of glibc and musl make before they have loaded all libraries, but for those of messages.
var linkerCalls = []uint64{
	unix.SYS_BRK, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE,
	unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_CLOSE, unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_LSEEK, unix.SYS_FCNTL,
	unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_ACCESS, unix.SYS_FACCESSAT,
	unix.SYS_READLINK, unix.SYS_READLINKAT, unix.SYS_GETCWD, unix.SYS_UNAME,
	unix.SYS_ARCH_PRCTL, unix.SYS_SET_TID_ADDRESS, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_PRLIMIT64, unix.SYS_GETRANDOM,
}

// setTraced sets whether a command is traced from its start on, and reports whether it is. A program that gets rights by its file would not get them.
func setTraced(cmd *exec.Cmd, on bool) bool {
	on = on && !privileged(cmd.Path, maxInterpreters)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = on
	return on
}

// privileged reports whether a program, or an interpreter of it, gets rights by its file, or may do so.
func privileged(path string, interpreters int) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 || !info.Mode().IsRegular() {
		return true
	}
	if _, err := unix.Getxattr(path, "security.capability", nil); err == nil {
		return true
	}
	file, err := os.Open(path)
	if err != nil {
		return true
	}
	defer file.Close()
	head := make([]byte, 256)
	n, _ := file.Read(head) // an error leaves it empty
	line, isScript := strings.CutPrefix(string(head[:n]), "#!")
	if !isScript {
		return false
	}
	words := strings.Fields(strings.SplitN(line, "\n", 2)[0])
	return len(words) == 0 || interpreters == 0 || privileged(words[0], interpreters-1)
}

// traceLoading lets a command that was started with setTraced run until its libraries are loaded, calls loaded, and lets it go. If the command gets a
// signal before, or ends, that is all. It is called by the thread that has started the command.
func traceLoading(pid int, loaded func()) {
	signal, ok := nextStop(pid)
	if !ok {
		return
	}
	if signal == unix.SIGTRAP { // it has executed its program
		if signal, ok = runLoading(pid); !ok {
			return
		}
	}
	loaded()
	_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0) // it has ended if this fails
}

// runLoading lets a command that has executed a program run until its libraries are loaded, and returns the signal that it has stopped with and is to get:
// 0 for none. ok is false if it has ended.
func runLoading(pid int) (signal syscall.Signal, ok bool) {
	linker := linkerCode(pid)
	var regs unix.PtraceRegs
	if len(linker) == 0 || unix.PtraceGetRegs(pid, &regs) != nil || unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD) != nil {
		return 0, true
	}
	caller := uintptr(regs.Rsp) - 8 // where the first call of the linker's or the program's beginning returns to: both begin with that stack
	var linkers, now [8]byte
	for i := range maxLoading {
		if unix.PtraceSyscall(pid, 0) != nil {
			return 0, true
		}
		if signal, ok = nextStop(pid); !ok || signal != syscallStop {
			return signal, ok
		}
		if _, err := unix.PtracePeekData(pid, caller, now[:]); err != nil {
			break
		}
		if i == 0 {
			linkers = now
		}
		if now != linkers || unix.PtraceGetRegs(pid, &regs) != nil || !slices.Contains(linkerCalls, regs.Orig_rax) ||
			!slices.ContainsFunc(linker, func(m mapping) bool { return m.start <= regs.Rip && regs.Rip <= m.end }) {
			break
		}
	}
	return 0, true
}

// linkerCode returns the code of the dynamic linker of a process that has just executed its program: all that is mapped from files, but for
// the program. It is empty if there is none.
func linkerCode(pid int) []mapping {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	program := exe(dir)
	raw, err := os.ReadFile(filepath.Join(dir, "maps"))
	if err != nil || program == "" {
		return nil
	}
	return slices.DeleteFunc(readMappings(raw), func(m mapping) bool { return m.path == program })
}

// nextStop waits for a traced process to stop, and returns its signal. ok is false if it has ended; its status stays for another wait.
func nextStop(pid int) (signal syscall.Signal, ok bool) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || info.Code != cldTrapped && info.Code != cldStopped:
			return 0, false
		}
		var ws unix.WaitStatus
		if _, err = unix.Wait4(pid, &ws, unix.WALL, nil); err != unix.EINTR {
			return ws.StopSignal(), err == nil && ws.Stopped()
		}
	}
}

// Values of Siginfo.Code of SIGCHLD.
const (
	cldTrapped = 4
	cldStopped = 5
)
