//go:build linux || darwin

package child

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// inForeground reports whether we are in the foreground of our terminal, whose keys then send signals to our whole process
// group.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// ignores reports whether a process ignores a signal, as shells do with those of job control. It is known where there is a
// /proc: the line `SigIgn:` of status is a mask of 16 hexadecimal digits, bit 0 for signal 1; see proc_pid_status(5).
func ignores(pid int, s syscall.Signal) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, after, ok := bytes.Cut(status, []byte("\nSigIgn:"))
	if !ok {
		return false
	}
	digits, _, _ := bytes.Cut(after, []byte("\n"))
	mask, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 64)
	return err == nil && mask>>(uint(s)-1)&1 != 0
}
