package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// stream is one filter with what it reads and writes.
type stream struct {
	name    string
	traffic *traffic

	written, read, named atomic.Int64 // lines to the filter and from it; frames that have got their name
	marks                int          // lines from it that are told apart
	delays               delays       // of these
}

// run starts the filter, writes the traffic and reads what comes back until that ends.
func (s *stream) run(ctx context.Context, cmd *exec.Cmd) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var said counter
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	w := &watch{pid: cmd.Process.Pid, name: s.name, stream: s}
	watching := make(chan error, 1)
	over := make(chan struct{})
	go func() { watching <- w.until(over) }()
	wrote := make(chan error, 1)
	go func() {
		err := s.write(ctx, in)
		wrote <- errors.Join(err, in.Close())
	}()
	readErr := s.compare(out)
	writeErr := <-wrote
	close(over)
	watchErr := <-watching
	waitErr := cmd.Wait()
	if readErr == nil && s.marks != s.traffic.marks {
		readErr = fmt.Errorf("%d lines of %d came back", s.marks, s.traffic.marks)
	}
	if readErr == nil && s.named.Load() == 0 {
		readErr = errors.New("no frame got its name")
	}
	fmt.Printf("%s: %d lines read, %d written, %d frames named, %d bytes of messages; a line's delay: %v\n", s.name,
		s.written.Load(), s.read.Load(), s.named.Load(), said.n.Load(), &s.delays)
	return errors.Join(readErr, writeErr, watchErr, waitErr)
}

// write writes the traffic, at the rate asked for.
func (s *stream) write(ctx context.Context, to io.Writer) error {
	out := bufio.NewWriterSize(to, 64<<10)
	began := time.Now()
	s.delays.start = began
	sent := 0
	flush := func(marks int) error {
		s.delays.send(sent, marks)
		sent = marks
		return out.Flush()
	}
	var text []byte
	for n := 0; ctx.Err() == nil && (*lines == 0 || n < *lines); {
		marks := s.traffic.marks
		text = s.traffic.next(text[:0])
		if len(text) > out.Available() {
			if err := flush(marks); err != nil {
				return err
			}
		}
		if len(text) > out.Size() { // it goes out at once
			s.delays.send(sent, s.traffic.marks)
			sent = s.traffic.marks
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		n += bytes.Count(text, []byte("\n"))
		s.written.Store(int64(n))
		if *rate == 0 {
			continue
		}
		if due := began.Add(time.Duration(n) * time.Second / time.Duration(*rate)); time.Until(due) > 20*time.Millisecond {
			if err := flush(s.traffic.marks); err != nil {
				return err
			}
			time.Sleep(time.Until(due))
		}
	}
	return flush(s.traffic.marks)
}

// compare reads the filter's output: the marked lines are all there, in order, as they were.
func (s *stream) compare(from io.Reader) error {
	in := bufio.NewReaderSize(from, 1<<20)
	var fault error
	var want []byte
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if fault == nil && bytes.HasPrefix(line, []byte(markStart)) {
			if want = appendMark(want[:0], s.marks); !bytes.Equal(line, want) {
				fault = fmt.Errorf("%q came back, want %q", line, want)
			}
			s.delays.back(s.marks)
			s.marks++
		}
		if bytes.Contains(line, []byte("inner_func")) {
			s.named.Add(1)
		}
		s.read.Add(1)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			return fault
		}
	}
}

// counter counts what is written to it.
type counter struct{ n atomic.Int64 }

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

// traffic makes up a log: some processes at a time, each of which maps modules, talks, crashes and ends.
type traffic struct {
	*rand.Rand
	samples [][]byte
	ids     []string // of modules that a server has
	// brief keeps lines short: llvm quotes a line in the message on each of its elements.
	brief   bool
	live    []*process
	nextPID int
	marks   int
}

// process is one of the log. way is how its lines are marked as its own.
type process struct {
	pid, way, left int
	modules        int
	base           uint64
}

// readSamples reads the sample logs that crashes are taken from.
func readSamples() (all [][]byte, err error) {
	for _, pattern := range []string{"testdata/logs/*.log", "testdata/logs/*/*.log", "testdata/qss/*.log"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			if len(b) <= 16<<10 {
				all = append(all, b)
			}
		}
	}
	if len(all) == 0 {
		return nil, os.ErrNotExist
	}
	return all, nil
}

func newTraffic(seed uint64, samples [][]byte, ids []string) *traffic {
	return &traffic{Rand: rand.New(rand.NewPCG(seed, 1)), samples: samples, ids: ids, nextPID: 1000}
}

// liveAtOnce is how many processes there are at a time.
const liveAtOnce = 60

// next appends what one process says next.
func (t *traffic) next(dst []byte) []byte {
	for len(t.live) < liveAtOnce {
		t.nextPID += 1 + t.IntN(3)
		p := &process{pid: t.nextPID, way: t.IntN(5), left: 5 + t.IntN(60), base: uint64(t.IntN(1<<20)) << 24}
		t.live = append(t.live, p)
		dst = t.begin(dst, p)
	}
	i := t.IntN(len(t.live))
	p := t.live[i]
	if p.left--; p.left < 0 {
		t.live[i] = t.live[len(t.live)-1]
		t.live = t.live[:len(t.live)-1]
		return t.crash(dst, p)
	}
	if t.marks++; t.marks%7 == 0 {
		dst = t.known(dst)
	}
	switch t.IntN(40) {
	case 0:
		dst = t.crash(dst, p)
	case 1:
		dst = t.begin(dst, p)
	case 2:
		dst = t.hostile(dst, p)
	case 3, 4, 5:
		dst = t.frames(dst, p)
	default:
		dst = t.say(dst, p, fmt.Sprintf("frame %d drawn in %d ms", t.IntN(1e6), t.IntN(100)))
	}
	return appendMark(dst, t.marks-1)
}

// markStart begins the lines that must come back as they were, in order.
const markStart = "mark "

func appendMark(dst []byte, n int) []byte {
	dst = strconv.AppendInt(append(dst, markStart...), int64(n), 10)
	return append(dst, " of what is never lost\n"...)
}

// say appends a line as the process's logger writes it.
func (t *traffic) say(dst []byte, p *process, text string) []byte {
	switch p.way {
	case 0:
		return fmt.Appendf(dst, "11-21 10:11:12.%03d %5d %5d E soak    : %s\n", t.IntN(1000), p.pid, p.pid, text)
	case 1:
		return fmt.Appendf(dst, "Nov 21 10:11:12 host%d soak[%d]: %s\n", p.pid%3, p.pid, text)
	case 2:
		return fmt.Appendf(dst, "{\"pid\":%d,\"log\":%q}\n", p.pid, text)
	case 3:
		return fmt.Appendf(dst, "E/soak(%5d): \x1b[31m%s\x1b[0m\r\n", p.pid, text)
	}
	return append(append(dst, text...), '\n')
}

// begin lets a process define its modules and where they are mapped.
func (t *traffic) begin(dst []byte, p *process) []byte {
	if t.IntN(4) == 0 {
		for i := range uint64(1 + t.IntN(30)) {
			at := p.base + i<<14
			dst = t.say(dst, p, fmt.Sprintf("%x-%x r-xp 00000000 fe:00 %d /usr/lib/lib%d.so", at, at+0x4000, i, t.IntN(5000)))
		}
		return dst
	}
	dst = t.say(dst, p, "{{{reset}}}")
	p.modules = 1 + t.IntN(20)
	for i := range p.modules {
		id := fmt.Sprintf("%016x", t.Uint64N(1<<11)*0x9e3779b97f4a7c15)
		switch t.IntN(60) {
		case 10: // one that was not seen before
			id = fmt.Sprintf("%040x", t.Uint64())
		case 0, 2, 4, 6, 8:
			id = "529039c4877f2b56918b2063129d06669b993be2"
		case 1, 3, 5, 7, 9:
			id = t.ids[t.IntN(len(t.ids))]
		}
		at := p.base + uint64(i)<<16
		dst = t.say(dst, p, fmt.Sprintf("{{{module:%#x:lib%d.so:elf:%s}}}", i, t.IntN(5000), id))
		dst = t.say(dst, p, fmt.Sprintf("{{{mmap:%#x:0x8000:load:%#x:rx:0x0}}}", at, i))
		dst = t.say(dst, p, fmt.Sprintf("{{{mmap:%#x:0x8000:load:%#x:rw:0x8000}}}", at+0x8000, i))
	}
	return dst
}

// frames appends a stack of the process.
func (t *traffic) frames(dst []byte, p *process) []byte {
	for i := range 1 + t.IntN(12) {
		at := p.base + uint64(t.IntN(max(p.modules, 1)))<<16 + uint64(t.IntN(0x9000))
		switch p.way % 2 {
		case 0:
			dst = t.say(dst, p, fmt.Sprintf("{{{bt:%d:%#x:ra}}}", i, at))
		default:
			dst = t.say(dst, p, fmt.Sprintf("    #%d %#x  (/usr/lib/lib%d.so+%#x)", i, at, t.IntN(5000), t.IntN(0x9000)))
		}
	}
	return dst
}

// known appends frames whose names are known to be found.
func (t *traffic) known(dst []byte) []byte {
	const id = "529039c4877f2b56918b2063129d06669b993be2"
	dst = append(dst, "#0 0x7fa52731c130 (/usr/lib/libdemo-1.2.3.so+0x1130) (Buildid: "+id+")\n"...)
	dst = append(dst, "{{{reset}}}\n{{{module:0:libdemo.so:elf:"+id+"}}}\n{{{mmap:0x1000:0x5000:load:0:rx:0x1000}}}\n"...)
	return append(dst, "{{{bt:0:0x1130:pc}}}\n"...)
}

// crash appends one of the sample reports in the process's name.
func (t *traffic) crash(dst []byte, p *process) []byte {
	for line := range bytes.Lines(t.samples[t.IntN(len(t.samples))]) {
		text := string(bytes.TrimRight(line, "\r\n"))
		if t.IntN(50) == 0 {
			text = text[:t.IntN(len(text)+1)]
		}
		dst = t.say(dst, p, text)
	}
	return dst
}

// hostile appends what no good program writes.
func (t *traffic) hostile(dst []byte, p *process) []byte {
	name := bytes.Repeat([]byte("n"), 1+t.IntN(6000))
	switch t.IntN(9) {
	case 0: // bytes
		for range t.IntN(400) {
			if c := byte(t.Uint32()); c != '\n' {
				dst = append(dst, c)
			}
		}
		return append(dst, "\x1b[0m\n"...)
	case 1:
		return t.say(dst, p, fmt.Sprintf("{{{module:%d:%s:elf:%x}}}", t.IntN(1e6), name, name[:min(len(name), 70)]))
	case 2: // a long line
		if t.brief {
			return append(dst, "{{{bt:0:0x1:ra}}} {{{bt:1:0x1:ra}}}\n"...)
		}
		return append(append(dst, bytes.Repeat([]byte("{{{bt:0:0x1:ra}}} "), t.IntN(1e5)/(1+t.IntN(100)))...), '\n')
	case 3:
		return t.say(dst, p, fmt.Sprintf("Module %s from rpm a-1.x86_64, build-id=%x", name[:min(len(name), 300)], t.Uint64()))
	case 4: // many mappings of one module
		dst = t.say(dst, p, "{{{module:0:m:elf:00}}}")
		for range 500 {
			dst = t.say(dst, p, fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:r:0}}}", t.Uint64N(1<<35)<<12))
		}
		return dst
	case 5:
		return t.say(dst, p, fmt.Sprintf("{{{hexdict:{\"RIP\": %#x", p.base))
	case 6:
		return t.say(dst, p, fmt.Sprintf("#%d 0x%x (/usr/lib/%s.so+0x10) (BuildId: %x)", t.Uint64N(1<<40), t.Uint64(), name, t.Uint64()))
	case 7:
		return t.say(dst, p, fmt.Sprintf("%x-%x r-xp 00000000 fe:00 1 /%s", p.base, p.base+0x1000, name))
	}
	return t.say(dst, p, "\tat "+string(name[:min(len(name), 200)])+"(+0x10) [0xffffffffffffffff]")
}
