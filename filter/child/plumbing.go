package child

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// plumbing is what lies between the command's standard files and ours.
type plumbing struct {
	streams []*passage
	// term is the command's own terminal, in a session of its own; nil without.
	term *terminal
	// sized are terminals that follow the size of one of ours.
	sized []sized
	// theirs are the ends that only the command should hold.
	theirs []*os.File
}

// sized is a terminal with the one of ours whose size it has.
type sized struct{ inner, ours *os.File }

// connect decides what the command's standard files are and makes them. Standard input is ours, but for a command with a
// terminal of its own.
func connect(cmd *exec.Cmd, o Options) (p *plumbing, err error) {
	p = &plumbing{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	cmd.Stdin = o.Stdin
	out, err := p.stream("standard output", o.Stdout, o)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	if p.streams[0].in.tty && isTerminal(o.Stdin) {
		cmd.Stdin = out
		first := p.streams[0]
		first.in.session = true
		p.term = newTerminal(o.Stdin, first.in.file)
		first.out = p.term.writer(o.Stdout)
		cmd.SysProcAttr = ownSession()
	}
	if !sameFile(o.Stdout, o.Stderr) {
		if cmd.Stderr, err = p.stream("standard error", o.Stderr, o); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// stream makes the stream that ends in to, one of our own files, and returns the end of it that the command writes to.
func (p *plumbing) stream(name string, to *os.File, o Options) (theirs *os.File, err error) {
	var ours *os.File
	tty := isTerminal(to)
	if tty {
		whole := to == o.Stdout && isTerminal(o.Stdin)
		if ours, theirs, err = openTerminal(to, whole); err != nil {
			o.Warn(fmt.Sprintf("no terminal for the command, which writes to a pipe: %v", err))
			tty = false
		}
	}
	if !tty {
		if ours, theirs, err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
	}
	p.theirs = append(p.theirs, theirs)
	in, err := newOutput(ours, tty, o.Maps)
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	in.link = linkOf(theirs)
	if tty {
		p.sized = append(p.sized, sized{ours, to})
	}
	p.streams = append(p.streams, &passage{name: name, in: in, out: io.Writer(to)})
	return theirs, nil
}

// started is called once the command holds its ends.
func (p *plumbing) started() {
	for _, f := range p.theirs {
		f.Close()
	}
	p.theirs = nil
}

// over is called once the command has ended: what cannot be passed on need not be read any more.
func (p *plumbing) over() {
	for _, s := range p.streams {
		s.in.over()
	}
}

// ended is called when processes left behind have been waited for: what is left to read is read within grace.
func (p *plumbing) ended() {
	for _, s := range p.streams {
		s.in.end()
	}
}

func (p *plumbing) close() {
	p.started()
	for _, s := range p.streams {
		s.in.close()
	}
}

// sameFile reports whether two descriptors are of one file, pipe or terminal.
func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}
