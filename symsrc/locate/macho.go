package locate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/macho"
)

// inDSYM is in the path of each file with debug information in a dSYM, which is a directory.
const inDSYM = ".dSYM/Contents/Resources/DWARF/"

// fatNote marks the error of a file of several architectures.
const fatNote = "fat"

// isFat reports whether the file is one of several architectures, each of which is a file in it.
func (e *fileError) isFat() bool {
	return e.status == symsrc.UnsupportedCompressed && e.note == fatNote
}

// machO reads the headers of a Mach-O file.
func (f *elfFile) machO() error {
	h, err := macho.ReadHead(f.r, int64(f.size))
	switch {
	case err == nil:
	case errors.Is(err, macho.ErrNotMachO): // IsMagic says that it is one of several
		return &fileError{status: symsrc.UnsupportedCompressed, note: fatNote}
	case errors.Is(err, macho.ErrCut):
		return beyond("%v", err)
	default:
		return corrupted("%w", err)
	}
	f.id, f.arch, f.debugOnly, f.end = h.ID, h.Arch, h.DebugOnly, h.End
	switch {
	case h.HasInfo:
		f.rank = debugInfo
	case h.HasSymbols, h.HasGoTable:
		f.rank = symbols
	}
	return nil
}

// fatMember returns the file at path as the archive of its architectures.
func fatMember(path string, size int64) *member {
	return &member{name: filepath.Base(path), header: -1, packed: size, size: size}
}

// fatContents returns the files of the architectures in a file, which is stored.
func fatContents(r io.ReaderAt, m *member) (list []content) {
	in := io.NewSectionReader(r, m.data, m.size)
	for _, s := range macho.Slices(in, m.size) {
		id, err := identify(io.NewSectionReader(in, s.Offset, s.Size), s.Size)
		if err != nil {
			continue
		}
		one := *m
		one.slice = s
		list = append(list, content{id: id.id, rank: id.rank, arch: id.arch, member: &one})
	}
	return list
}

// fatMembers returns the files of the architectures in a member of an archive. Of a packed one all is unpacked up to the head of the last.
func fatMembers(r *budgetReader, m *member) (list []content) {
	if m.packing == stored {
		return fatContents(r, m)
	}
	unpacked, close, err := m.unpacked(r.ReaderAt)
	if err != nil {
		return nil
	}
	defer close()
	first := make([]byte, min(m.size, firstRead))
	n, _ := io.ReadFull(unpacked, first)
	all := macho.Slices(bytes.NewReader(first[:n]), m.size)
	slices.SortFunc(all, func(a, b macho.Slice) int { return int(min(1, max(-1, a.Offset-b.Offset))) })
	in, at := io.MultiReader(bytes.NewReader(first[:n]), unpacked), int64(0)
	for _, s := range all {
		if r.left -= s.Offset - at + maxBeginning; r.left < 0 {
			return list
		}
		if _, err := io.CopyN(io.Discard, in, s.Offset-at); err != nil {
			return list
		}
		head := make([]byte, min(s.Size, maxBeginning))
		n, _ := io.ReadFull(in, head)
		at = s.Offset + int64(n)
		f := elfFile{r: bytes.NewReader(head[:n]), size: uint64(n)}
		if f.all() != nil {
			continue
		}
		one := *m
		one.slice = s
		list = append(list, content{id: f.id, rank: f.rank, arch: f.arch, member: &one})
	}
	return list
}

// probeFat opens the file at p, and identifies the one of its architectures that is wanted: by the build ID, by the architecture, or the
// only one.
func (s *search) probeFat(p place) (*found, error) {
	f, file, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.close()
	list := fatContents(file, fatMember(f.path, file.Size))
	var names []string
	for i := range list {
		names = append(names, list[i].arch)
	}
	list = slices.DeleteFunc(list, func(c content) bool {
		return s.want != "" && !s.want.Fits(c.id) || s.want == "" && !s.isArch(c.arch)
	})
	switch {
	case len(list) == 0:
		return nil, &fileError{symsrc.MismatchBuildID, "other architectures",
			fmt.Errorf("%s: it has %s, not what is wanted", p, strings.Join(names, ", "))}
	case len(list) > 1:
		return nil, &fileError{symsrc.UnknownError, "several architectures",
			fmt.Errorf("%s: it has several architectures: %s; name one of them, as in FILE:%s", p, strings.Join(names, ", "), names[0])}
	}
	m := list[0].member
	f.part = symsrc.Range{Offset: m.slice.Offset, Size: m.slice.Size, Member: m.slice.Arch}
	id, err := identify(io.NewSectionReader(file, m.slice.Offset, m.slice.Size), m.slice.Size)
	if err != nil {
		return nil, err
	}
	f.ident = *id
	return f, nil
}

// noMachO says why a module of Darwin is not found.
const noMachO = "no Mach-O file has the name, and the log has no UUID"

// isArch reports whether a file of an architecture, which is "" for an ELF file, may be the module.
func (s *search) isArch(arch string) bool {
	switch s.arch {
	case "":
		return true
	case symsrc.AnyArch:
		return arch != ""
	}
	return arch == s.arch
}

// isFormat reports whether a file in an index may be the module, where the log has no build ID: a Mach-O file only if the log says that
// the module is one, or names that file by its path.
func (s *search) isFormat(e *entry) bool {
	if s.arch == "" && e.arch != "" {
		return s.where.path == e.path
	}
	return s.isArch(e.arch)
}

// bundles are the extensions of the directories that programs and libraries of Apple are in.
var bundles = [...]string{".app", ".framework", ".appex", ".bundle", ".xctest", ".xpc"}

// dsyms looks for the dSYM of a file next to it, and next to the bundle that it is in, as Xcode and dsymutil write it.
func (s *search) dsyms(e *found) {
	at, base := e.place.path, path.Base(filepath.ToSlash(e.place.path))
	if e.place.member != nil {
		return
	}
	list := []string{at + ".dSYM"}
	for dir, up := path.Dir(at), 0; up < maxBundleDepth && dir != "." && dir != "/"; dir, up = path.Dir(dir), up+1 {
		if slices.Contains(bundles[:], path.Ext(dir)) {
			list = append(list, dir+".dSYM", path.Join(path.Dir(dir), base+".dSYM"))
		}
	}
	for _, dir := range list {
		if s.complete() {
			return
		}
		s.look(place{root: e.place.root, path: path.Join(dir, "Contents/Resources/DWARF", base)}, asDebug, nil)
	}
}

// maxBundleDepth is how far below its bundle a file is: Foo.framework/Versions/A/Foo.
const maxBundleDepth = 4
