package sourcemap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/mapped"
)

// text is the text of a map. Most of it are the contents of sources, which stay in the file.
type text struct {
	data []byte // nil if it is in a file
	path string
	info os.FileInfo // of the file as it was
}

// read returns a part of the text, nil if the file is not the one that it was.
func (t *text) read(at span) []byte {
	if t.data != nil {
		return at.of(t.data)
	}
	f, err := os.Open(t.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	part := make([]byte, at.end-at.at)
	if _, err := f.ReadAt(part, int64(at.at)); err != nil || t.changed(f) {
		return nil
	}
	return part
}

// changed reports whether a file is not the one that it was.
func (t *text) changed(f *os.File) bool {
	now, err := f.Stat()
	return err != nil || !os.SameFile(now, t.info) || now.Size() != t.info.Size() || !now.ModTime().Equal(t.info.ModTime())
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
		if m, ok := of.decode(index); ok && m.readMappings(f) == nil && !of.changed(f) {
			return m, nil
		}
	}
	if m, err = of.parseFile(f); err != nil {
		return nil, fmt.Errorf("not a source map: %w", err)
	}
	if of.changed(f) {
		return nil, errChanged
	}
	if index, ok := m.encode(); ok {
		kept.Store(path, index)
	}
	return m, nil
}

// parseFile parses the map in a file, and copies the mappings: a bundle may be built again, and no page of an old file may be wanted then.
func (t *text) parseFile(f *os.File) (m *Map, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			m, err = nil, errChanged // it was cut short
		}
	}()
	data, end, err := mapped.Whole(f, t.info)
	if err != nil {
		return nil, err
	}
	defer func() { _ = end() }()
	if m, err = parseAll(data, t); err == nil {
		m.each(func(m *Map) {
			if m.mapped != (span{}) {
				m.mappings = bytes.Clone(m.mappings)
			}
		})
	}
	return m, err
}

// each calls f for the map, or for those of its sections.
func (m *Map) each(f func(*Map)) {
	if m.sections == nil {
		f(m)
	}
	for i := range m.sections {
		m.sections[i].of.each(f)
	}
}

// readMappings reads the mappings that an index lacks.
func (m *Map) readMappings(f *os.File) (err error) {
	m.each(func(m *Map) {
		if err == nil {
			m.mappings = make([]byte, m.mapped.end-m.mapped.at)
			_, err = f.ReadAt(m.mappings, int64(m.mapped.at))
		}
	})
	return err
}
