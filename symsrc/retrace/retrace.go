// Package retrace reads the maps in which R8 and ProGuard keep the names of Java and Kotlin that they have replaced, and restores
// these names. The format is that of R8's doc/retrace.md (versions 1.0 to 2.2; without a version, the first one), and of ProGuard's manual.
//
//	retrace.go  Map
//	index.go    where the classes of a map are
//	format.go   versions of the format
//	class.go    a class of a map, whose methods are parsed when they are first asked for
//	frame.go    what a frame was
package retrace

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"qss-filter/symsrc/mapped"
)

// Header is what the comments at the begin of a map say.
type Header struct {
	// ID is the map's pg_map_id, which R8 writes into frames, and Hash its pg_map_hash. Both are "" if the map has none.
	ID, Hash string
	// Compiler and CompilerVersion name what has written the map.
	Compiler, CompilerVersion string
	// Version is that of the format, "" for none.
	Version string
}

const (
	// maxHeader bounds the comments that are read as the header, in bytes.
	maxHeader = 64 << 10
	// maxMap is the largest map that is read, in bytes, also unpacked.
	maxMap = 1<<31 - 1
	// maxClass bounds the text of a class, in bytes: the rest of a longer one does not count.
	maxClass = 64 << 20
	// keptBytes bounds the memory of what is kept of classes. It has several of the largest.
	keptBytes = 16 << 20
	// maxName bounds the names of classes that are remembered, in bytes, and nameWeight is about how many bytes of memory each takes besides.
	maxName, nameWeight = 1 << 8, 64
)

var (
	// ErrNoMap is the error for a file that has no class.
	ErrNoMap = errors.New("not a map of R8 or ProGuard: it has no class")

	errUTF16 = errors.New("a map is UTF-8, but this text is UTF-16")
)

// byteOrderMark may stand before a text in UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Cache keeps what was found out of files for the next run.
type Cache interface {
	// Load returns what was kept of the file at path, as it is now, and Store keeps it.
	Load(path string) (content []byte, ok bool)
	Store(path string, content []byte)
}

// Map is a map of names. It may be used by several goroutines at once.
type Map struct {
	data   []byte
	close  func() error
	header Header
	index  index
	// cut is why not all of the file was unpacked, nil if it was.
	cut error

	mu     sync.Mutex
	parsed map[uint32]*class
	// classes are those that were asked for by their names in the log, nil for one that is not in the map, and files the source files of classes
	// by their own names.
	classes map[string]*class
	files   map[string]string
	kept    int
}

// Open opens the map in a file, which may be compressed with gzip. The file must not be cut short while it is open.
func Open(ctx context.Context, path string, cache Cache) (*Map, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: cause(err)}
	}
	if info.Size() == 0 || info.Size() > maxMap {
		return nil, fmt.Errorf("%d bytes: %w", info.Size(), ErrNoMap)
	}
	data, _, end, err := mapped.OpenPart(path, 0, info.Size())
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		defer func() { _ = end() }()
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		text, cut := io.ReadAll(io.LimitReader(z, maxMap))
		if cut != nil && len(text) == 0 {
			return nil, cut
		}
		m, err := Read(path, text)
		if err == nil {
			m.cut = cut
		}
		return m, err
	}
	m, err := opened(path, data, cache)
	if err != nil {
		_ = end()
		return nil, err
	}
	m.close = end
	return m, ctx.Err()
}

// opened returns the map in a file, with the index that the cache has, or a new one, which the cache keeps.
func opened(path string, data []byte, cache Cache) (*Map, error) {
	m := newMap(data)
	if cache != nil {
		if kept, ok := cache.Load(path); ok && m.index.decode(kept, len(data)) {
			return m, nil
		}
	}
	in, err := os.Open(path) // what is read this way takes no memory of the process, as what is mapped would
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := m.read(in); err != nil {
		return nil, err
	}
	if cache != nil {
		cache.Store(path, m.index.encode())
	}
	return m, nil
}

// newMap returns a map without its index.
func newMap(data []byte) *Map {
	m := &Map{data: data, parsed: map[uint32]*class{}, classes: map[string]*class{}, files: map[string]string{}}
	m.readHeader()
	return m
}

// cause returns the system's error of a failed operation on a path.
func cause(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return failed.Err
	}
	return err
}

// Read reads a map, which must not change afterwards. name is for messages.
func Read(name string, data []byte) (*Map, error) {
	if len(data) > maxMap {
		return nil, fmt.Errorf("%s: %d bytes are too many", name, len(data))
	}
	m := newMap(data)
	if err := m.read(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	return m, nil
}

// read makes the index of a map, from its text.
func (m *Map) read(in io.Reader) (err error) {
	m.index, err = newIndex(in)
	if errors.Is(err, ErrNoMap) && (bytes.HasPrefix(m.data, []byte("\xff\xfe")) || bytes.HasPrefix(m.data, []byte("\xfe\xff"))) {
		return errUTF16
	}
	return err
}

// Damage returns why a map may not be what its compiler has written, nil if nothing says so.
func (m *Map) Damage() error {
	switch sum := m.index.sum; {
	case m.cut != nil:
		return fmt.Errorf("it is cut short: %w", m.cut)
	case sum != nil && !strings.EqualFold(m.header.Hash, sumWord+hex.EncodeToString(sum)):
		return errors.New("it is cut short, or was changed: it does not have the SHA-256 that it says")
	}
	return nil
}

// classLine reads `com.example.Class -> a.b:`.
func classLine(line []byte) (original, name []byte, ok bool) {
	line = bytes.TrimPrefix(bytes.TrimRight(line, " \t\r"), byteOrderMark)
	original, name, ok = bytes.Cut(line, []byte(" -> "))
	if !ok || len(original) == 0 || !bytes.HasSuffix(name, []byte(":")) {
		return nil, nil, false
	}
	name = name[:len(name)-1]
	return original, name, len(name) > 0 && bytes.IndexByte(original, ' ') < 0 && bytes.IndexByte(name, ' ') < 0
}

// readHeader reads the comments before the first class.
func (m *Map) readHeader() {
	for line := range bytes.Lines(m.data[:min(len(m.data), maxHeader)]) {
		text, is := bytes.CutPrefix(bytes.TrimSpace(bytes.TrimPrefix(line, byteOrderMark)), []byte("#"))
		if !is {
			if len(bytes.TrimSpace(line)) > 0 {
				return
			}
			continue
		}
		text = bytes.TrimSpace(text)
		key, value, found := strings.Cut(string(text), ":")
		value = strings.TrimSpace(value)
		switch {
		case bytes.HasPrefix(text, []byte("{")):
			if version, ok := formatIn(line); ok {
				m.header.Version = version
			}
		case !found:
		case key == "pg_map_id":
			m.header.ID = value
		case key == "pg_map_hash":
			m.header.Hash = value
		case key == "compiler":
			m.header.Compiler = value
		case key == "compiler_version":
			m.header.CompilerVersion = value
		}
	}
}

// Header returns what the map says of itself.
func (m *Map) Header() Header { return m.header }

// Close ends the use of the file.
func (m *Map) Close() error {
	if m.close == nil {
		return nil
	}
	return m.close()
}

// Class returns the name that a class had before it was obfuscated.
func (m *Map) Class(obfuscated string) (original string, ok bool) {
	m.mu.Lock()
	c := m.classes[obfuscated]
	m.mu.Unlock()
	if c != nil {
		return c.original, true
	}
	at, ok := m.find(obfuscated)
	if !ok {
		return "", false
	}
	before, _, _ := classLine(m.line(at))
	return string(before), true
}

// Throws reports whether frames right below an exception of that name may not be shown.
func (m *Map) Throws(name string) bool {
	for range m.index.thrown.all(name) {
		return true
	}
	return false
}

// Rewrites reports whether frames right below an exception of that own name may be others than elsewhere.
func (m *Map) Rewrites(original string) bool {
	for range m.index.thrown.all("") {
		return true
	}
	return m.Throws(original)
}

// line returns the line at an offset.
func (m *Map) line(at uint32) []byte {
	line, _, _ := bytes.Cut(m.data[at:], []byte("\n"))
	return line
}

// find returns where a class stands, by its name in the log.
func (m *Map) find(obfuscated string) (at uint32, ok bool) {
	for at := range m.index.named.all(obfuscated) {
		if _, name, _ := classLine(m.line(at)); string(name) == obfuscated {
			return at, true // the first one counts
		}
	}
	return 0, false
}

// class returns the class of that name in the log, nil if there is none.
func (m *Map) class(obfuscated string) *class {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, asked := m.classes[obfuscated]
	if asked {
		return c
	}
	if at, ok := m.find(obfuscated); ok {
		c = m.at(at)
	}
	if len(obfuscated) <= maxName {
		m.keep(nameWeight + len(obfuscated))
		m.classes[obfuscated] = c
	}
	return c
}

// at returns the class at an offset.
func (m *Map) at(at uint32) *class {
	if c := m.parsed[at]; c != nil {
		return c
	}
	c := parseClass(m.data[at:], m.index.formatAt(at))
	m.keep(classWeight + lineWeight*len(c.lines))
	m.parsed[at] = c
	return c
}

// method returns the entries of the methods of a class that have that name in the log.
func (m *Map) method(c *class, name string) []entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	of, known := c.methods[name]
	if !known {
		of = c.method(name)
		m.keep(entryWeight * len(of))
	}
	return of
}

// keep notes that more bytes are kept of the classes, and drops all before if these are too many.
func (m *Map) keep(bytes int) {
	if m.kept += bytes; m.kept > keptBytes {
		clear(m.parsed)
		clear(m.classes)
		clear(m.files)
		m.kept = bytes
	}
}

// fileOf returns the source file that the map names for the class that had that name, "" for none.
func (m *Map) fileOf(original string) (file string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	file, asked := m.files[original]
	if asked {
		return file
	}
	for at := range m.index.original.all(original) {
		if name, _, _ := classLine(m.line(at)); string(name) == original {
			file = m.at(at).file
			break
		}
	}
	if len(original) <= maxName {
		m.keep(nameWeight + len(original))
		m.files[original] = file
	}
	return file
}
