package cli

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"golang.org/x/term"
)

// paged writes a long text to a terminal by a pager, as git does: that of $QSS_FILTER_PAGER or of $PAGER, or less, which ends at once if
// the text fits the screen. It writes the text itself if standard output is no terminal, the variable is empty, or the pager cannot be started.
func (p *Program) paged(text string) (status int, err error) {
	out, terminal := p.terminal()
	name, set := os.LookupEnv("QSS_FILTER_PAGER")
	if !set {
		if name, set = os.LookupEnv("PAGER"); !set {
			name = "less"
		}
	}
	words := strings.Fields(name)
	if !terminal || os.Getenv("TERM") == "dumb" || len(words) == 0 || strings.TrimSpace(name) == "cat" {
		return p.print(text)
	}
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
	interrupted := make(chan os.Signal, 1) // which ends a search in less, and neither less nor this program
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
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
