package locate

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/macho"
	"qss-filter/symsrc/unpack"
)

// Bounds on what is read of the members of one archive, including unpacked bytes, and on the beginning of a deflated member that is
// unpacked: the notes are near the start of a file.
const (
	maxArchiveRead   = 256 << 20
	leastArchiveRead = 16 << 20
	readPerByte      = 8
	maxBeginning     = 1 << 20
)

// archiveRead returns how many bytes are read of the members of an archive of that size.
func archiveRead(size int64) int64 {
	return min(maxArchiveRead, max(leastArchiveRead, readPerByte*size))
}

var errBudget = errors.New("the members of the archive are too large to read")

// budgetReader reads and unpacks a limited number of bytes.
type budgetReader struct {
	io.ReaderAt
	left int64
}

func (r *budgetReader) ReadAt(b []byte, off int64) (int, error) {
	if r.left -= int64(len(b)); r.left < 0 {
		return 0, errBudget
	}
	return r.ReaderAt.ReadAt(b, off)
}

// archiveContents returns the ELF files in the zip archive in r. Only the beginning of deflated ones is read, so their rank is
// guessed from the name.
func archiveContents(r io.ReaderAt, size int64) []content {
	list, err := zipMembers(r, size)
	if err != nil {
		return nil
	}
	in := &budgetReader{r, archiveRead(size)}
	var found []content
	for i := range list {
		m := &list[i]
		var id *ident
		if m.packing != stored {
			id, err = identifyBeginning(in, m)
		} else {
			id, err = identify(io.NewSectionReader(in, m.data, m.size), m.size)
		}
		if err == nil {
			found = append(found, content{id: id.id, rank: id.rank, arch: id.arch, member: m})
		} else if classify(err).isFat() {
			found = append(found, fatMembers(in, m)...)
		}
	}
	return found
}

// identifyBeginning reads the build ID of a packed member, "" if it is not near the start.
func identifyBeginning(r *budgetReader, m *member) (*ident, error) {
	unpacked, close, err := m.unpacked(r.ReaderAt)
	if err != nil {
		return nil, readError(err)
	}
	defer close()
	in := &unpackingReader{in: unpacked, budget: &r.left, limit: min(m.size, maxBeginning)}
	if m.packing == whole { // its size is not known
		if n, err := in.begin(); err != nil {
			return nil, readError(err)
		} else if n < firstRead {
			in.limit = n
		}
	}
	f := elfFile{r: in, size: uint64(in.limit)}
	f.first = make([]byte, min(f.size, firstRead))
	if n, err := in.ReadAt(f.first, 0); n < len(f.first) {
		return nil, readError(err)
	}
	if macho.IsMagic(f.first) {
		err := f.machO()
		return &f.ident, err
	}
	if err := f.magic(); err != nil {
		return nil, err
	}
	if f.header() == nil && f.segments() != nil {
		f.id = ""
	}
	if f.id == "" && f.phnum == 0 {
		f.id = noteIn(f.first, f.order)
	}
	f.rank = symbols
	switch path.Ext(m.name) {
	case ".dbg", ".debug":
		f.rank = debugInfo
	}
	return &f.ident, nil
}

// noteIn returns the build ID in the beginning of an object that is relocated, as the kernel's modules are: it has no segments, and the
// section with its notes is one of the first. Who unpacks it verifies that.
func noteIn(b []byte, order binary.ByteOrder) symsrc.BuildID {
	name := []byte("GNU\x00")
	for from := 0; ; {
		i := bytes.Index(b[from:], name)
		if i < 0 {
			return ""
		}
		at := from + i
		from = at + len(name)
		if at < 12 || order.Uint32(b[at-12:]) != 4 || order.Uint32(b[at-4:]) != ntGNUBuildID {
			continue
		}
		if n := order.Uint32(b[at-8:]); n > 0 && n <= maxIDBytes && int(n) <= len(b)-from {
			return symsrc.BuildID(b[from : from+int(n)])
		}
	}
}

// maxIDBytes bounds a build ID.
const maxIDBytes = 64

// isPackedName reports whether the name of a file says that it is compressed. One without a suffix is not what its name says: nothing could
// have loaded it.
func isPackedName(path string) bool { return compressed(path, 0).name != filepath.Base(path) }

// guessed returns what a file has in it that is not unpacked to see it: the beginning of one of xz takes a hundred times as long as that of
// others, and a tree may have the thousands of modules of a kernel. Its build ID is not known then, and it is found by its name.
func guessed(m *member) []content {
	base := m.base()
	if strings.HasPrefix(base, "vmlinuz") || strings.HasPrefix(base, "bzImage") {
		kernel := *m
		kernel.name, kernel.header = kernelName, kernelHeader
		return []content{{rank: bare, member: &kernel}}
	}
	has := symbols
	switch path.Ext(base) {
	case ".debug", ".dbg":
		has = debugInfo
	case ".ko", ".so":
	default:
		if !strings.Contains(base, ".so.") {
			return nil
		}
	}
	return []content{{rank: has, member: m}}
}

// compressed returns what a compressed file has in it, which is nothing if the file is empty.
func compressed(path string, size int64) member {
	name := filepath.Base(path)
	for _, suffix := range [...]string{".gz", ".xz", ".zst", ".lz4", ".bz2"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && base != "" {
			name = base
			break
		}
	}
	return member{name: name, packing: whole, header: -1, packed: size, size: min(maxMemberSize, budget.Bytes(size))}
}

// unpacked returns a reader of the content of a packed member, and what frees it.
func (m *member) unpacked(r io.ReaderAt) (in io.Reader, close func(), err error) {
	packed := io.NewSectionReader(r, m.data, m.packed)
	if m.packing == deflated {
		return flate.NewReader(packed), func() {}, nil
	}
	in, close, err = unpack.Reader(bufio.NewReader(packed))
	if close == nil {
		close = func() {}
	}
	if err != nil || !m.isKernel() {
		return in, close, err
	}
	inner, closeInner, err := unpackKernel(in)
	if closeInner == nil {
		return inner, close, err
	}
	outer := close
	return inner, func() {
		closeInner()
		outer()
	}, err
}

// unpackingReader reads the beginning of an unpacked stream. It keeps what it has read.
type unpackingReader struct {
	in     io.Reader
	b      []byte
	limit  int64
	budget *int64
}

// begin reads what a file begins with, and returns how much that is: up to firstRead.
func (r *unpackingReader) begin() (n int64, err error) {
	_, err = r.ReadAt(make([]byte, min(r.limit, firstRead)), 0)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return int64(len(r.b)), err
}

// ReadAt implements io.ReaderAt.
func (r *unpackingReader) ReadAt(b []byte, off int64) (int, error) {
	end := off + int64(len(b))
	if end > r.limit {
		return 0, io.EOF
	}
	if have := int64(len(r.b)); end > have {
		if *r.budget -= end - have; *r.budget < 0 {
			return 0, errBudget
		}
		r.b = append(r.b, make([]byte, end-have)...)
		n, err := io.ReadFull(r.in, r.b[have:])
		r.b = r.b[:have+int64(n)]
		if err != nil {
			return 0, err
		}
	}
	return copy(b, r.b[off:]), nil
}

// read returns the ELF files that a file is or contains, or the symbol file that it is; none if it is something else. It returns an
// error if the file cannot be read. Trees may have any files, and none of them may end the program.
// named is set for a file that the user has named: then it may take longer.
func read(path string, link, named bool) (_ diskcache.Stamp, _ []content, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = corrupted("read %s: internal error: %v", path, cause)
		}
	}()
	var f *regularFile
	if link {
		f, err = openRegular(path, true)
	} else {
		f, err = openListed(path)
	}
	if err != nil {
		return diskcache.Stamp{}, nil, err
	}
	defer f.close()
	list, err := contentsOf(f, path, named)
	if err == nil && list == nil {
		if s, ok := identifySymbols(f, f.Size, path); ok {
			list = []content{{id: s.ID, kind: s.Kind, cut: s.Cut}}
		}
	}
	return f.Stamp, list, err
}

// contentsOf returns the ELF files that an open file is or contains. It returns an error if the file cannot be read.
func contentsOf(f *regularFile, path string, named bool) ([]content, error) {
	id, err := identify(f, f.Size)
	if err == nil {
		return []content{{id: id.id, rank: id.rank, arch: id.arch}}, nil
	}
	switch fe := classify(err); {
	case fe.isZip():
		return archiveContents(f, f.Size), nil
	case fe.isFat():
		return fatContents(f, fatMember(path, f.Size)), nil
	case fe.isBoot():
		return []content{{rank: bare, member: kernelIn(path, f.Size)}}, nil
	case fe.isPacked() && isPackedName(path):
		m := compressed(path, f.Size)
		if fe.note == "xz" && !named {
			return guessed(&m), nil
		}
		if id, err := identifyBeginning(&budgetReader{f, maxBeginning}, &m); err == nil {
			return []content{{id: id.id, rank: id.rank, arch: id.arch, member: &m}}, nil
		} else if classify(err).isFat() {
			return fatMembers(&budgetReader{f, maxArchiveRead}, &m), nil
		} else if classify(err).isBoot() {
			return []content{{rank: bare, member: kernelIn(path, f.Size)}}, nil
		}
	case fe.status == symsrc.ReadError:
		return nil, err
	}
	return nil, nil
}
