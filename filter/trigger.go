package filter

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// Triggers runs the user's commands for dumpfile elements, beside the stream: `--on-dumpfile TYPE=COMMAND`.
type Triggers struct {
	commands map[string]string
	warn     func(string)
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

// NewTriggers takes the commands as TYPE=COMMAND. warn is told of commands that fail.
func NewTriggers(specs []string, warn func(string)) (*Triggers, error) {
	t := &Triggers{commands: map[string]string{}, warn: warn,
		slots: make(chan struct{}, maxTriggers), waiting: make(chan struct{}, maxWaiting)}
	for _, spec := range specs {
		kind, command, ok := strings.Cut(spec, "=")
		if !ok || kind == "" || command == "" {
			return nil, fmt.Errorf("--on-dumpfile=%s: want TYPE=COMMAND", spec)
		}
		if _, twice := t.commands[kind]; twice {
			return nil, fmt.Errorf("--on-dumpfile=%s: there is a command for %s already", spec, kind)
		}
		t.commands[kind] = command
	}
	return t, nil
}

// Start runs the command for a dumpfile, if there is one for its type. The shell gets the command as the user wrote it; the
// log's words come as arguments and are never expanded: $1 is the file with the context, $2 the type, $3 the name.
func (t *Triggers) Start(ctx context.Context, d Dumpfile) {
	command, ok := t.commands[d.Type]
	if !ok {
		return
	}
	select {
	case t.waiting <- struct{}{}:
	default:
		t.warn(fmt.Sprintf("dumpfile %s %q: passed over: %d others are waiting", d.Type, d.Name, maxWaiting))
		return
	}
	t.running.Go(func() {
		t.slots <- struct{}{}
		defer func() { <-t.slots; <-t.waiting }()
		if err := run(ctx, command, d); err != nil {
			t.warn(fmt.Sprintf("dumpfile %s %q: %v", d.Type, d.Name, err))
		}
	})
}

// Wait waits for the commands that are still running.
func (t *Triggers) Wait() { t.running.Wait() }

func run(ctx context.Context, command string, d Dumpfile) error {
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
