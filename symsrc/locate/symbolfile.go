package locate

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/unpack"
)

// symbolFile is a symbol file that is not an ELF file.
type symbolFile struct {
	symsrc.SymbolFile
	path string
}

// identifySymbols reads the head of a symbol file, which may be compressed if its name says so.
func identifySymbols(r io.ReaderAt, size int64, name string) (f symsrc.SymbolFile, ok bool) {
	head := make([]byte, min(size, symsrc.SymbolFileHead))
	if n, _ := r.ReadAt(head, 0); n < len(head) {
		return f, false
	}
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) || bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")) {
		if !strings.Contains(filepath.Base(name), "sym") {
			return f, false
		}
		head = unpackHead(io.NewSectionReader(r, 0, size))
	}
	return symsrc.IdentifySymbols(head)
}

// unpackHead returns the unpacked beginning of a compressed file.
func unpackHead(in io.Reader) []byte {
	unpacked, close, err := unpack.Reader(bufio.NewReader(in))
	if err != nil {
		return nil
	}
	if close != nil {
		defer close()
	}
	head := make([]byte, symsrc.SymbolFileHead)
	n, _ := io.ReadFull(unpacked, head) // it may be shorter, or damaged after the head
	return head[:n]
}

// addSymbols adds a symbol file.
func (x *index) addSymbols(path string, c content) {
	if x.symbols == nil {
		x.symbols = make(map[symsrc.BuildID][]symbolFile)
	}
	key := c.id.Cut()
	x.symbols[key] = append(x.symbols[key], symbolFile{symsrc.SymbolFile{Kind: c.kind, ID: c.id, Cut: c.cut}, path})
}

// symbolFiles looks for the Breakpad and GSYM files of the wanted build ID: those named one by one, those in
// stores and trees, and those in the directory of the module. It records the searched places.
func (s *search) symbolFiles(files *symsrc.Files) {
	if s.want == "" || s.ctx.Err() != nil {
		return
	}
	s.indexedSymbols(s.l.objects, files)
	for _, dir := range s.l.opt.BreakpadDirs {
		s.store(dir, files)
	}
	if len(s.l.opt.Symbols) > 0 {
		if s.past {
			s.indexedSymbols(s.l.symbols.before(s.ctx), files)
		} else {
			s.indexedSymbols(s.l.symbols.get(s.ctx), files)
		}
	}
	var beside []place
	if e := s.verdict.elf; e != nil && e.place.member == nil {
		beside = append(beside, e.place)
	}
	for _, root := range s.l.roots {
		beside = append(beside, s.placeIn(root))
	}
	for _, p := range beside {
		if p.path != "" && s.in.archive.path == "" {
			for _, suffix := range [...]string{".gsym", ".sym"} {
				beside := place{root: p.root, path: p.path + suffix}
				if err := s.symbolsAt(beside, files); err != nil && err.status != symsrc.NotFound {
					try(files, beside.String(), err)
				}
			}
		}
	}
}

// indexedSymbols adds those of an index.
func (s *search) indexedSymbols(x *index, files *symsrc.Files) {
	if x == nil {
		return
	}
	for _, f := range x.symbols[s.want.Cut()] {
		switch {
		case !f.Of(s.want) || len(files.Symbols) >= maxSame:
		case s.past:
			_ = s.symbolsAt(place{path: f.path}, files) // if it is still that file
		default:
			files.Symbols = append(files.Symbols, f.path)
		}
	}
}

// maxStore bounds the names of a store that are tried for a module without a name.
const maxStore = 1 << 16

// store searches a symbol store. There the module may have another name than in the log; then the directory of each name is
// searched.
func (s *search) store(dir string, files *symsrc.Files) {
	id := s.want.DebugID()
	names := []string{s.name.base}
	if e := s.verdict.elf; e != nil && path.Base(e.path) != s.name.base {
		names = append(names, path.Base(e.path))
	}
	before := len(files.Symbols)
	for _, name := range names {
		if err := s.inStore(dir, name, id, files); name != "" {
			try(files, filepath.Join(dir, name, id, name+".sym"), err)
		}
	}
	if len(files.Symbols) > before {
		return
	}
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	list, _ := d.Readdirnames(maxStore)
	slices.Sort(list)
	for _, name := range list {
		if !slices.Contains(names, name) && s.ctx.Err() == nil {
			s.inStore(dir, name, id, files)
		}
	}
}

// inStore tries the place of a name in a store. The file there has the name, or the name without a suffix, and may be compressed, so
// any symbol file counts. If there is none, it returns what the place lacks.
func (s *search) inStore(dir, name, id string, files *symsrc.Files) *fileError {
	lacking := &fileError{status: symsrc.NotFound, note: symsrc.NothingFound}
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return lacking
	}
	apple := strings.ToUpper(s.want.Cut().String()) + "0" // the UUID of a Mach-O file, whose bytes are not swapped
	for _, id := range [...]string{id, strings.ToLower(id), apple} {
		in := filepath.Join(dir, name, id)
		list, _ := os.ReadDir(in) // usually missing
		for _, e := range list {
			if !strings.Contains(e.Name(), ".sym") {
				continue
			}
			if err := s.symbolsAt(place{path: filepath.Join(in, e.Name())}, files); err == nil {
				lacking = nil
			} else if lacking != nil {
				lacking = err
			}
		}
	}
	return lacking
}

// try records a place that was tried after the search for ELF files, and what it lacked.
func try(files *symsrc.Files, place string, err *fileError) {
	lacked := ""
	if err != nil {
		lacked = err.lack()
	}
	files.Tried, files.Lacked = append(files.Tried, place), append(files.Lacked, lacked)
}

// symbolsAt adds the file at p if it is a symbol file of the wanted build ID; otherwise it returns what the place lacks.
func (s *search) symbolsAt(p place, files *symsrc.Files) *fileError {
	f, file, err := p.open()
	if err != nil {
		return classify(err)
	}
	defer file.close()
	found, ok := identifySymbols(file, file.Size, f.path)
	switch path := f.openPath(); {
	case !ok:
		return &fileError{status: symsrc.UnknownError, note: "no symbol file"}
	case !found.Of(s.want):
		return s.mismatch(path, found.ID)
	case len(files.Symbols) < maxSame && !slices.Contains(files.Symbols, path):
		files.Symbols = append(files.Symbols, path)
	}
	return nil
}
