package main

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// onceWord, as the first argument, makes this program run one command and nothing else.
const onceWord = "run-once"

// runOnce runs a command with a file as its input, and writes how long that took in ns and the largest resident set of any
// of its processes in KiB.
func runOnce(input string, argv []string) int {
	fail := func(err error) int {
		os.Stderr.WriteString("bench: " + argv[0] + ": " + err.Error() + "\n")
		return 1
	}
	in, err := os.Open(input)
	if err != nil {
		return fail(err)
	}
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return fail(err)
	}
	begin := time.Now()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{in.Fd(), out.Fd(), 2}})
	if err != nil {
		return fail(err)
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	if _, err := syscall.Wait4(pid, &status, 0, &usage); err != nil {
		return fail(err)
	}
	took := time.Since(begin)
	if status.ExitStatus() != 0 {
		return fail(os.NewSyscallError("exit status "+strconv.Itoa(status.ExitStatus()), syscall.ECHILD))
	}
	os.Stdout.WriteString(strconv.FormatInt(took.Nanoseconds(), 10) + " " + strconv.FormatInt(usage.Maxrss, 10) + "\n")
	return 0
}
