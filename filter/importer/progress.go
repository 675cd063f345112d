package importer

import (
	"io"
	"os"
)

// progress counts how much of an input was read.
type progress struct {
	tell        func(done, total int64)
	done, total int64
}

// expect adds to what there is to read.
func (p *progress) expect(n int64) { p.total += n }

// read adds to what was read.
func (p *progress) read(n int64) {
	if p.tell != nil && n > 0 {
		p.done += n
		p.tell(min(p.done, max(p.total, 1)-1), max(p.total, 1))
	}
}

// reach makes what was read as much as done.
func (p *progress) reach(done int64) { p.read(done - p.done) }

// end says that there is no more to read.
func (p *progress) end() {
	if p.tell != nil {
		p.total = max(p.total, 1)
		p.tell(p.total, p.total)
	}
}

// counted is a file whose bytes count as they are read.
type counted struct {
	*os.File
	p *progress
}

// open opens a file for reading whose bytes were expected.
func (p *progress) open(path string) (io.ReadCloser, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	return &counted{f, p}, nil
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.File.Read(b)
	c.p.read(int64(n))
	return n, err
}
