package cli

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// paged writes a long text to a terminal by a pager, as git does: that of $QSS_FILTER_PAGER or of $PAGER, or less, which ends at once if
// the text fits the screen. It writes the text itself if standard output is no terminal or the pager cannot be started.
func (p *Program) paged(text string) (status int, err error) {
	out, terminal := p.terminal()
	name := cmp.Or(os.Getenv("QSS_FILTER_PAGER"), os.Getenv("PAGER"), "less")
	if !terminal || os.Getenv("TERM") == "dumb" || strings.TrimSpace(name) == "cat" {
		return p.print(text)
	}
	words := strings.Fields(name)
	path, err := exec.LookPath(words[0])
	if err != nil {
		return p.print(text)
	}
	cmd := exec.Command(path, words[1:]...)
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), out, os.Stderr
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err == nil || errors.As(err, &exit) { // that it was left before the end is no error
		return OK, nil
	}
	return p.print(text)
}

// terminal returns standard output if it is a terminal.
func (p *Program) terminal() (out *os.File, is bool) {
	out, is = p.Stdout.(*os.File)
	return out, is && term.IsTerminal(int(out.Fd()))
}
