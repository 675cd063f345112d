package sourcemap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/mapped"
	"qss-filter/symsrc/pages"
)

// text is the text of a map. Most of it are the contents of sources, which stay in the file.
type text struct {
	data []byte // nil if it is in a file
	path string
	info os.FileInfo // of the file as it was
	// lost is set if it was another one when a piece of it was wanted.
	lost atomic.Bool
	// file is open for a moment after a read: frames come together, and to open it takes longer than to read a piece. mu is of it alone.
	file *os.File
	mu   sync.Mutex
}

// openTime is how long a file is open after it was opened for a read.
const openTime = 10 * time.Millisecond

// read returns a part of the text, nil if the file is not the one that it was.
func (t *text) read(at span) []byte {
	if t.data != nil {
		return at.of(t.data)
	}
	part := make([]byte, at.end-at.at)
	if !t.readInto(part, at.at) {
		return nil
	}
	return part
}

// readWith is read for a caller that has space for the part.
func (t *text) readWith(space *[]byte, at span) []byte {
	if t.data != nil {
		return at.of(t.data)
	}
	part := slices.Grow((*space)[:0], at.end-at.at)[:at.end-at.at]
	*space = part
	if !t.readInto(part, at.at) {
		return nil
	}
	return part
}

// readInto reads the text of a file from an offset on. It returns false if the file is not the one that it was.
func (t *text) readInto(part []byte, at int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		f, err := os.Open(t.path)
		if err != nil {
			return false
		}
		t.file = f
		time.AfterFunc(openTime, t.close)
	}
	_, err := t.file.ReadAt(part, int64(at))
	return err == nil && !t.changed(t.file)
}

// close closes the file.
func (t *text) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.file.Close()
	t.file = nil
}

// pieces are a part of a file of which only the blocks that are asked for are read: three frames need little of a large script and its map.
// They may be used by several goroutines at once.
type pieces struct {
	of   *text
	at   int    // where the part begins in the file
	data []byte // the part, with zeros for what was not read
	mu   sync.Mutex
	have []atomic.Bool // which blocks were read
	// reads is how often some were. The more it is, the more is read at once: all will be wanted.
	reads int
	// exact is set if no more is read than what is wanted, and none of it remembered as read.
	exact bool
}

// blockSize is how much is read at once.
const blockSize = 32 << 10

// piecesOf returns a part of the text of a file. Nothing is read yet.
func (t *text) piecesOf(at span) *pieces {
	n := at.end - at.at
	return &pieces{of: t, at: at.at, data: pages.Make(n), have: make([]atomic.Bool, (n+blockSize-1)/blockSize)}
}

// exactly returns the same part, of which no more is read than what is wanted. Nothing else must use it at that time.
func (p *pieces) exactly() *pieces { return &pieces{of: p.of, at: p.at, data: p.data, exact: true} }

// want reads data[from:to] if that is not there. If the file is not the one that it was, nothing in the data is of use, and the text is lost.
func (p *pieces) want(from, to int) {
	if p == nil || from >= to {
		return
	}
	if p.exact {
		if !p.of.readInto(p.data[from:to], p.at+from) {
			p.of.lost.Store(true)
		}
		return
	}
	last := (to - 1) / blockSize
	if from/blockSize == last && p.have[last].Load() {
		return // without waiting for who reads another one
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := from / blockSize; i <= last && !p.of.lost.Load(); i++ {
		if p.have[i].Load() {
			continue
		}
		end := i + 1
		for most := max(last+1, min(end+p.reads/4, len(p.have))); end < most && !p.have[end].Load(); {
			end++
		}
		p.reads++
		begin, stop := i*blockSize, min(end*blockSize, len(p.data))
		if !p.of.readInto(p.data[begin:stop], p.at+begin) {
			p.of.lost.Store(true)
			return
		}
		for ; i < end; i++ {
			p.have[i].Store(true)
		}
	}
}

// changed reports whether a file is not the one that it was.
func (t *text) changed(f *os.File) bool {
	now, err := f.Stat()
	return err != nil || !t.is(now)
}

// is reports whether a file is the one that it was.
func (t *text) is(now os.FileInfo) bool {
	return os.SameFile(now, t.info) && now.Size() == t.info.Size() && now.ModTime().Equal(t.info.ModTime())
}

// Bounds of a map: its bytes, and those of one whose index is kept. A smaller one is as fast to read.
const (
	maxMap    = 1 << 28
	worthKept = 256 << 10
)

var (
	errLarge   = errors.New("too large for a source map")
	errChanged = errors.New("it has changed while it was read")
)

// openMap opens the map in a file. What it needs often is in memory then. An index of a large one is kept.
func openMap(path string, kept *diskcache.Kept) (m *Map, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxMap {
		return nil, errLarge
	}
	of := &text{path: path, info: info}
	if info.Size() < worthKept {
		data := make([]byte, info.Size())
		if _, err := io.ReadFull(f, data); err != nil {
			return nil, err
		}
		of.data = data
		return parseAll(data, of)
	}
	if index, ok := kept.Load(path); ok {
		if m, ok := of.decode(index); ok && !of.changed(f) {
			m.readMappings()
			return m, nil
		}
	}
	if err = of.whole(f, func(data []byte) error {
		m, err = parseAll(data, of)
		return err
	}); err != nil {
		return nil, fmt.Errorf("not a source map: %w", err)
	}
	if of.changed(f) {
		return nil, errChanged
	}
	m.readMappings()
	if index, ok := m.encode(); ok {
		kept.Store(path, index)
	}
	return m, nil
}

// whole calls f with all of the text of a file. That is not to be used afterwards: a bundle may be built again, and no page of an old file may
// be wanted then.
func (t *text) whole(file *os.File, f func(data []byte) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = errChanged // it was cut short
		}
	}()
	data, end, err := mapped.Whole(file, t.info)
	if err != nil {
		return err
	}
	defer func() { _ = end() }()
	return f(data)
}

// each calls f for the map, or for those of its sections, and for those of its segments.
func (m *Map) each(f func(*Map)) {
	for _, of := range m.segments {
		of.each(f)
	}
	if m.sections == nil {
		f(m)
	}
	for i := range m.sections {
		m.sections[i].of.each(f)
	}
}

// readMappings has the mappings that are used as they are in the file read from there as they are wanted.
func (m *Map) readMappings() {
	m.each(func(m *Map) {
		if m.sorted == nil && m.mapped != (span{}) {
			m.pieces = m.text.piecesOf(m.mapped)
			m.mappings = m.pieces.data
		}
	})
}
