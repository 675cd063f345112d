package child

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

var errNoCommand = errors.New("no command")

// command finds the command.
func command(argv []string) (*exec.Cmd, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errNoCommand
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	// A "." in PATH is the user's own choice; on Windows it is there always.
	if errors.Is(cmd.Err, exec.ErrDot) && runtime.GOOS != "windows" {
		cmd.Err = nil
		return cmd, nil
	}
	if cmd.Err == nil { // a path is not looked at until now
		_, cmd.Err = exec.LookPath(cmd.Path)
	}
	return cmd, cmd.Err
}

// start starts the command. A text file that names no interpreter is run by the shell, as shells and execvp(3) do.
func start(cmd *exec.Cmd) (*exec.Cmd, error) {
	err := cmd.Start()
	if errors.Is(err, syscall.ENOEXEC) && isText(cmd.Path) {
		again := exec.Command("/bin/sh", append([]string{cmd.Path}, cmd.Args[1:]...)...)
		again.Stdin, again.Stdout, again.Stderr, again.SysProcAttr = cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr
		cmd = again
		err = cmd.Start()
	}
	if errors.Is(err, fs.ErrNotExist) {
		// The file was found: it is what should interpret it that is not there.
		err = errors.New("its interpreter or dynamic linker does not exist")
	}
	return cmd, err
}

// isText reports whether the beginning of a file has no NUL.
func isText(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 512))
	return err == nil && bytes.IndexByte(head, 0) < 0
}

// failure returns the exit status and the message for a command that did not run.
func failure(argv []string, err error) (int, error) {
	if errors.Is(err, errNoCommand) {
		return exitNotFound, err
	}
	name := argv[0]
	var ofPath *fs.PathError
	var ofExec *exec.Error
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return exitNotFound, fmt.Errorf("%s: command not found", name)
	case errors.Is(err, fs.ErrNotExist):
		return exitNotFound, fmt.Errorf("%s: no such file or directory", name)
	case errors.As(err, &ofExec):
		err = ofExec.Err
	case errors.As(err, &ofPath):
		err = ofPath.Err
	}
	return exitCannotRun, fmt.Errorf("%s: %w", name, err)
}
