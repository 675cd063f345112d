package locate

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
)

// Trees finds debug files as llvm does, in build-ID trees only: DIR/.build-id/xx/yyyy.debug, in the first directory that
// has it. It accepts that file even if it is damaged or has another build ID. If the tree has a file for the build ID
// inside that file, or if that file has a .gnu_debuglink, the debug information comes from there.
type Trees struct {
	Dirs []string
	// Other, if not nil, is asked if the trees do not have a file.
	Other *Locator
	// Fetch, if not nil, downloads the debug file of a build ID that was not found here, and returns its path, "" for none.
	// retry, if not nil, reports whether another call may return another result by now.
	Fetch func(ctx context.Context, id symsrc.BuildID) (path string, retry func() bool)
}

// NewTrees returns Trees of the directories of Options.BuildIDDirs, or of llvm's defaults if there are none. Symbols and Rootfs are
// searched if they are given; Objects have no effect, as in llvm.
func NewTrees(o Options) (t *Trees, err error) {
	t = &Trees{Dirs: o.BuildIDDirs}
	if len(t.Dirs) == 0 {
		t.Dirs = []string{"/usr/lib/debug"}
	}
	if len(o.Symbols)+len(o.Rootfs) > 0 {
		o.Objects, o.BuildIDDirs = nil, nil
		t.Other, err = New(o)
	}
	return t, err
}

// Find looks for the file of m. The context is only for Other and Fetch.
func (t *Trees) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	if files := m.BuildID.Unreadable(); files != nil {
		return files
	}
	if path := t.path(m.BuildID); path != "" {
		return t.read(ctx, path)
	}
	files := &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: symsrc.NothingFound}
	if t.Other != nil {
		files = t.Other.Find(ctx, m)
	}
	if t.Fetch == nil || m.BuildID == "" || files.DebugStatus == symsrc.OK && files.Usable() {
		return files
	}
	path, retry := t.Fetch(ctx, m.BuildID)
	if path != "" {
		return t.read(ctx, path)
	}
	later := *files
	later.Retry = retry
	return &later
}

// read returns the file that was found for a module, with its debug file.
func (t *Trees) read(ctx context.Context, path string) *symsrc.Files {
	files := &symsrc.Files{Elf: path, DebugStatus: symsrc.Incomplete, Unverified: true, Tried: []string{path}}
	f, err := probe(place{path: path})
	if err != nil {
		fe := classify(err)
		files.ElfStatus, files.Note = fe.status, fe.note
		switch fe.status {
		case symsrc.Corrupted:
			files.Detail = damage(path)
		case symsrc.NotELF:
			files.Detail = otherKind(path)
		}
		if fe.status == symsrc.NotFound { // the tree has an entry for it
			files.ElfStatus = symsrc.ReadError
		}
		return files
	}
	debug, retry := t.debugOf(ctx, f)
	if debug != "" {
		files.Debug, files.DebugStatus = debug, symsrc.OK
	}
	files.Retry = retry
	return files
}

// otherKind returns llvm's message about a known file format that cannot be used, "" for other files.
func otherKind(path string) string {
	f, err := openRegular(path, true)
	if err != nil {
		return ""
	}
	defer f.close()
	var magic [8]byte
	f.ReadAt(magic[:], 0)
	if s := string(magic[:]); s == "!<arch>\n" || s == "!<thin>\n" { // of object files (ar(5))
		return "No object file for requested architecture"
	}
	return ""
}

// damage returns llvm's message about damaged headers of an ELF file: that the file is truncated or overwritten. It is "" for other
// damage.
func damage(path string) string {
	f, err := openRegular(path, true)
	if err != nil {
		return ""
	}
	defer f.close()
	var b [64]byte
	n, _ := f.ReadAt(b[:], 0)
	if n < elf.EI_NIDENT {
		return ""
	}
	headerSize, sectionSize, at := 64, uint64(64), 40 // at: where e_shoff is
	order := binary.ByteOrder(binary.LittleEndian)
	switch elf.Class(b[elf.EI_CLASS]) {
	case elf.ELFCLASS32:
		headerSize, sectionSize, at = 52, 40, 32
	case elf.ELFCLASS64:
	default:
		return "Invalid ELF class"
	}
	switch elf.Data(b[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		order = binary.BigEndian
	default:
		return "Invalid ELF data"
	}
	if n < headerSize {
		return fmt.Sprintf("invalid buffer: the size (%d) is smaller than an ELF header (%d)", n, headerSize)
	}
	shoff := uint64(order.Uint32(b[at:]))
	if headerSize == 64 {
		shoff = order.Uint64(b[at:])
	}
	if size := uint64(f.Size); shoff > size || size-shoff < sectionSize {
		return fmt.Sprintf("section header table goes past the end of the file: e_shoff = %#x", shoff)
	}
	return ""
}

// path returns the path of the build ID in the first tree that has it, otherwise "".
func (t *Trees) path(id symsrc.BuildID) string {
	digits := id.String()
	if digits == "" {
		return ""
	}
	for _, dir := range t.Dirs {
		path := filepath.Join(dir, ".build-id", digits[:2]) + "/" + digits[2:] + ".debug"
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// debugOf returns another file with the debug information of f, "" if there is none.
func (t *Trees) debugOf(ctx context.Context, f *found) (path string, retry func() bool) {
	if len(f.id) >= 2 {
		if path = t.path(f.id); path == "" && t.Fetch != nil {
			path, retry = t.Fetch(ctx, f.id)
		}
		if path == f.path {
			return "", nil
		}
		if path != "" {
			if _, err := probe(place{path: path}); err == nil {
				return path, nil
			}
		}
	}
	if f.link == "" || strings.ContainsAny(f.link, `/\`) || f.link == ".." {
		return "", retry
	}
	dir, err := filepath.Abs(filepath.Dir(f.path))
	if err != nil {
		return "", retry
	}
	for _, in := range [...]string{dir, filepath.Join(dir, ".debug"), filepath.Join("/usr/lib/debug", dir)} {
		path := filepath.Join(in, f.link)
		if sum, _, err := checksum(ctx, path, true); err == nil && sum == f.linkCRC {
			return path, nil
		}
	}
	return "", retry
}
