package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"qss-filter/filter"
)

// triggers runs the user's commands for dumpfile elements, beside the stream.
type triggers struct {
	commands map[string]string
	slots    chan struct{}
	waiting  chan struct{}
	running  sync.WaitGroup
}

// maxTriggers is how many commands run at a time, and maxWaiting how many dumpfiles may wait for their turn: a log can
// announce any number of them.
const (
	maxTriggers = 2
	maxWaiting  = 64
)

func newTriggers() *triggers {
	return &triggers{commands: map[string]string{}, slots: make(chan struct{}, maxTriggers), waiting: make(chan struct{}, maxWaiting)}
}

// add adds a command, as TYPE=COMMAND.
func (t *triggers) add(spec string) error {
	kind, command, ok := strings.Cut(spec, "=")
	if !ok || kind == "" || command == "" {
		return errors.New("want TYPE=COMMAND")
	}
	if _, twice := t.commands[kind]; twice {
		return fmt.Errorf("there is a command for %s already", kind)
	}
	t.commands[kind] = command
	return nil
}

// use lets a filter start the commands; warn is called for those that fail.
func (t *triggers) use(o *filter.Options) {
	if len(t.commands) > 0 {
		o.OnDumpfile = func(d filter.Dumpfile) { t.start(context.Background(), d, o.Warn) }
	}
}

// start runs the command for a dumpfile, if there is one for its type. The shell gets the command as the user wrote it; the
// log's words come as arguments and are never expanded: $1 is the file with the context, $2 the type, $3 the name.
func (t *triggers) start(ctx context.Context, d filter.Dumpfile, warn func(message string)) {
	command, ok := t.commands[d.Type]
	if !ok {
		return
	}
	select {
	case t.waiting <- struct{}{}:
	default:
		warn(fmt.Sprintf("dumpfile %s %q: passed over: %d others are waiting", d.Type, d.Name, maxWaiting))
		return
	}
	t.running.Go(func() {
		t.slots <- struct{}{}
		defer func() { <-t.slots; <-t.waiting }()
		if err := runShell(ctx, command, d); err != nil {
			warn(fmt.Sprintf("dumpfile %s %q: %v", d.Type, d.Name, err))
		}
	})
}

// wait waits for the commands that are still running.
func (t *triggers) wait() { t.running.Wait() }

// runShell runs a command of the user's.
func runShell(ctx context.Context, command string, d filter.Dumpfile) error {
	file, err := os.CreateTemp("", "qss-filter-context-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(append(d.Context, '\n'))
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command, "qss-filter", file.Name(), d.Type, d.Name)
	// Standard output is the log's. What the command prints goes where diagnostics go.
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %q: %w", command, err)
	}
	return nil
}
