package addr2line

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
)

// targets are the files that a program is given for a module, best first: the second one is asked where the first has no
// name.
type targets struct {
	files *symsrc.Files
	paths []string
}

// maxTargets bounds the modules remembered.
const maxTargets = 1 << 14

// target returns the files of a module. A search that may find more by now is done again, and so is one whose files have changed.
func (s *Source) target(ctx context.Context, m symsrc.Module) *targets {
	s.mu.Lock()
	t := s.targets[m]
	s.mu.Unlock()
	switch {
	case t == nil:
	case t.files.Watch.Look():
		s.drop(t.paths)
	case t.files.Retry == nil || !t.files.Retry():
		return t
	}
	files := s.finder.Find(ctx, m)
	if files == nil {
		files = &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
	}
	t = &targets{files: files}
	if files.Usable() {
		t.paths = s.choose(m, files)
	}
	if ctx.Err() == nil {
		s.mu.Lock()
		if len(s.targets) >= maxTargets {
			clear(s.targets)
		}
		s.targets[m] = t
		s.mu.Unlock()
	}
	return t
}

// choose lists the files to ask. The finder has checked their build IDs; those that GNU mode finds by itself are checked here.
func (s *Source) choose(m symsrc.Module, f *symsrc.Files) (paths []string) {
	add := func(path string, part symsrc.Range, status symsrc.Status) {
		if path != "" && part == (symsrc.Range{}) && (status == symsrc.OK || status == symsrc.Incomplete) {
			paths = append(paths, path)
		}
	}
	if s.opt.GNU {
		if own := s.gnuDebug(m, f); own != "" {
			paths = append(paths, own)
		}
	}
	if len(paths) == 0 {
		add(f.Debug, f.DebugRange, f.DebugStatus)
	}
	add(f.Elf, f.ElfRange, f.ElfStatus)
	return paths
}

// gnuDebug looks for the debug file in QSS's order for GNU's program: that of .gnu_debuglink beside the ELF file and in .debug
// beside it; by build ID, with .debug and without; the ELF file's own path below usr/lib/debug with .debug, as Yocto has it. ""
// stands for none.
func (s *Source) gnuDebug(m symsrc.Module, f *symsrc.Files) string {
	var id symsrc.BuildID
	var candidates []string
	if f.Elf != "" && f.ElfStatus == symsrc.OK && f.ElfRange == (symsrc.Range{}) {
		head := readHead(f.Elf)
		link := head.Link
		id = head.ID
		if link != "" && link != ".." && !strings.ContainsAny(link, `/\`) {
			dir := filepath.Dir(f.Elf)
			candidates = append(candidates, filepath.Join(dir, link), filepath.Join(dir, ".debug", link))
		}
	}
	if m.BuildID != "" {
		id = m.BuildID
	}
	if len(id) < 2 {
		return ""
	}
	digits := id.String()
	roots := append([]string(nil), s.opt.DebugRoots...)
	for _, root := range s.opt.Rootfs {
		roots = append(roots, filepath.Join(root, "usr/lib/debug"))
	}
	for _, root := range roots {
		for _, dir := range []string{root, filepath.Join(root, ".build-id")} {
			base := filepath.Join(dir, digits[:2], digits[2:])
			candidates = append(candidates, base+".debug", base)
		}
	}
	if filepath.IsAbs(m.Name) {
		for _, root := range roots {
			// Clean keeps the name of the log below the root.
			candidates = append(candidates, filepath.Join(root, filepath.Clean(m.Name)+".debug"))
		}
	}
	for _, path := range candidates {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if head := readHead(path); head.ID == id && head.Debug {
			return path
		}
	}
	return ""
}

// readHead reads the headers of an ELF file; what cannot be read has nothing.
func readHead(path string) (head locate.Head) {
	f, err := os.Open(path)
	if err != nil {
		return head
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		head, _ = locate.ReadHead(f, st.Size())
	}
	return head
}
