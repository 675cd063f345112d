package addr2line

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"qss-filter/symsrc"
)

// maxDeaths is how often a program may die over one file without an answer in between; then it is not begun again.
const maxDeaths = 3

// child is one program over one file.
type child struct {
	mu      sync.Mutex
	path    string
	program string
	warn    func(string)
	used    int64

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	deaths int
}

// start begins the program. It prints each address before its answer, and the whole chain with functions.
func (c *child) start() error {
	cmd := exec.Command(c.program, "-a", "-f", "-i", "-e", c.path)
	// No downloads, and no translated words.
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd, c.in, c.out = cmd, in, bufio.NewReaderSize(out, 64<<10)
	return nil
}

// end ends the program.
func (c *child) end() {
	if c.cmd == nil {
		return
	}
	c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
	c.cmd = nil
}

// ask gives the frames of addresses. Where the program dies it is begun again behind what it has answered, with one address
// by itself; one that it dies of then is passed over.
func (c *child) ask(ctx context.Context, addrs []uint64) [][]symsrc.Frame {
	answers := make([][]symsrc.Frame, len(addrs))
	done, alone := 0, false
	for done < len(addrs) && c.deaths < maxDeaths && ctx.Err() == nil {
		if c.cmd == nil {
			if err := c.start(); err != nil {
				c.deaths = maxDeaths
				c.warn(fmt.Sprintf("%s: %v", filepath.Base(c.program), err))
				break
			}
		}
		todo := addrs[done:]
		if alone {
			todo = todo[:1]
		}
		n, err := c.stream(ctx, todo, answers[done:])
		done += n
		if n > 0 {
			c.deaths = 0
		}
		if err == nil {
			alone = false
			continue
		}
		c.end()
		if ctx.Err() != nil {
			break
		}
		c.deaths++
		c.warn(fmt.Sprintf("%s: over %s: %v", filepath.Base(c.program), c.path, err))
		if alone {
			done++
		}
		alone = !alone
	}
	return answers
}

// stop is an address that no file has. Its answer tells that the one before it is complete.
const stop = ^uint64(0)

// stream asks for addresses: one goroutine writes them all while this one reads, so neither side waits for the other with
// full pipes. It gives how many were answered.
func (c *child) stream(ctx context.Context, addrs []uint64, answers [][]symsrc.Frame) (n int, err error) {
	defer context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() })()
	written := make(chan error, 1)
	go func() {
		w := bufio.NewWriterSize(c.in, 64<<10)
		var line []byte
		for i := range len(addrs) + 1 {
			addr := stop
			if i < len(addrs) {
				addr = addrs[i]
			}
			line = append(strconv.AppendUint(append(line[:0], "0x"...), addr, 16), '\n')
			if _, err := w.Write(line); err != nil {
				written <- err
				return
			}
		}
		written <- w.Flush()
	}()
	n, err = c.read(addrs, answers)
	if err != nil {
		_ = c.cmd.Process.Kill() // which ends the writer, too
	}
	if writeErr := <-written; err == nil && writeErr != nil {
		err = writeErr
	}
	return n, err
}

var errOutOfStep = errors.New("prints what was not asked for")

// read reads the answers to addresses, up to that of stop.
func (c *child) read(addrs []uint64, answers [][]symsrc.Frame) (n int, err error) {
	line, err := c.line()
	for i := range len(addrs) + 1 {
		if err != nil {
			return n, err
		}
		want := stop
		if i < len(addrs) {
			want = addrs[i]
		}
		if got, ok := header(line); !ok || got != want && got != want&(1<<32-1) {
			return n, errOutOfStep
		}
		var frames []symsrc.Frame
		for {
			if line, err = c.line(); err != nil {
				return n, err
			}
			if _, ok := header(line); ok {
				if len(frames) == 0 { // every answer has a function, if only ??
					return n, errOutOfStep
				}
				break
			}
			function := string(line)
			if line, err = c.line(); err != nil {
				return n, err
			}
			frames = append(frames, parseFrame(function, string(line)))
			if i == len(addrs) {
				return n, nil
			}
		}
		answers[i] = known(frames)
		n++
	}
	return n, nil
}

// maxLine bounds a line of the program in bytes.
const maxLine = 1 << 20

// line reads a line without its end.
func (c *child) line() ([]byte, error) {
	var long []byte
	for {
		b, err := c.out.ReadSlice('\n')
		switch {
		case err == nil && long == nil:
			return trimEnd(b), nil
		case err == nil:
			return trimEnd(append(long, b...)), nil
		case errors.Is(err, bufio.ErrBufferFull) && len(long) < maxLine:
			long = append(long, b...)
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}
