package child

import (
	wire "encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where the kernel permits no records, the command is traced, but only until its dynamic linker has loaded the libraries that it needs and
// goes to the entry point of the program: see ptrace(2). It is free before the first instruction of the program itself, so it may
// trace and be traced, as debuggers and LeakSanitizer do. What it executes and what it forks is not traced.

const (
	// debugRegisters is the offset of u_debugreg in struct user. The first one has the address, and the one of that number says that the
	// processor stops before it executes what is there.
	debugRegisters  = 848
	debugControl    = debugRegisters + 7*8
	stopAtFirst     = 1
	trapBreakpoint  = 4 // TRAP_HWBKPT
	maxExecutions   = 8
	maxInterpreters = 4
	auxBase         = 7
	auxEntry        = 9
	auxSecure       = 23
	elfClass64      = 2
)

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

// traceToEntry lets a command that was started with setTraced run until its libraries are loaded, calls loaded, and lets it go. If the command gets a
// signal before, or ends, that is all. It is called by the thread that has started the command.
func traceToEntry(pid int, loaded func()) {
	ws, ok := nextStop(pid)
	if !ok {
		return
	}
	if ws.StopSignal() == unix.SIGTRAP { // it has executed its program
		if ws, ok = runToEntry(pid); !ok {
			return
		}
	}
	loaded()
	_ = pokeUser(pid, debugControl, 0) // it has ended if this fails
	signal := ws.StopSignal()
	if signal == unix.SIGTRAP && (ws.TrapCause() > 0 || isBreakpoint(pid)) {
		signal = 0
	}
	detach(pid, signal)
}

// runToEntry lets a command that has executed a program run to that program's entry point, and returns how it has stopped. The status is that of a
// trap if it cannot, or need not, be let run.
func runToEntry(pid int) (ws unix.WaitStatus, ok bool) {
	const stays = unix.WaitStatus(unix.PTRACE_EVENT_EXEC<<16 | int(unix.SIGTRAP)<<8 | 0x7f)
	if unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACEEXEC) != nil {
		return stays, true
	}
	for range maxExecutions {
		entry, found := entryPoint(pid)
		if !found || pokeUser(pid, debugRegisters, entry) != nil || pokeUser(pid, debugControl, stopAtFirst) != nil || unix.PtraceCont(pid, 0) != nil {
			return stays, true
		}
		ws, ok = nextStop(pid)
		if !ok || ws.TrapCause() != unix.PTRACE_EVENT_EXEC {
			return ws, ok
		}
	}
	return stays, true
}

// nextStop waits for a traced process to stop. ok is false if it has ended; its status stays for another wait.
func nextStop(pid int) (ws unix.WaitStatus, ok bool) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || info.Code != cldTrapped && info.Code != cldStopped:
			return 0, false
		}
		if _, err = unix.Wait4(pid, &ws, unix.WALL, nil); err != unix.EINTR {
			return ws, err == nil && ws.Stopped()
		}
	}
}

// Values of Siginfo.Code of SIGCHLD.
const (
	cldTrapped = 4
	cldStopped = 5
)

// entryPoint returns the address at which the program of a process begins, by proc_pid_auxv(5). found is false if it has no dynamic linker,
// or is of another kind of machine.
func entryPoint(pid int) (entry uint64, found bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	text, err := os.ReadFile(filepath.Join(dir, "auxv"))
	if err != nil {
		return 0, false
	}
	exe, err := os.Open(filepath.Join(dir, "exe"))
	if err != nil {
		return 0, false
	}
	defer exe.Close()
	var ident [5]byte
	if _, err = exe.ReadAt(ident[:], 0); err != nil || ident[4] != elfClass64 {
		return 0, false
	}
	var base uint64
	for ; len(text) >= 16; text = text[16:] {
		value := wire.LittleEndian.Uint64(text[8:])
		switch wire.LittleEndian.Uint64(text) {
		case auxBase:
			base = value
		case auxEntry:
			entry = value
		case auxSecure:
			if value != 0 {
				return 0, false
			}
		}
	}
	return entry, base != 0 && entry != 0
}

// isBreakpoint reports whether a process has stopped at the address in its debug registers.
func isBreakpoint(pid int) bool {
	var info unix.Siginfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(pid), 0, uintptr(unsafe.Pointer(&info)), 0, 0)
	return errno == 0 && info.Code == trapBreakpoint
}

func pokeUser(pid int, offset uintptr, value uint64) error {
	_, err := unix.PtracePokeUser(pid, offset, wire.LittleEndian.AppendUint64(nil, value))
	return err
}

// detach lets a process go, with a signal that it gets.
func detach(pid int, signal syscall.Signal) {
	_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0) // it has ended if this fails
}
