package locate

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qss-filter/symsrc"
)

// maxPrefixed bounds how many build IDs are collected for one prefix.
const maxPrefixed = 64

// WithPrefix returns the build IDs of files here whose hexadecimal digits begin with a prefix of four digits or more, sorted. It knows
// those of named files, of directories of symbols, of named file systems, of lists, and of build-ID trees.
func (l *Locator) WithPrefix(ctx context.Context, digits string) []symsrc.BuildID {
	if len(digits) < 4 {
		return nil
	}
	p := &prefixed{digits: strings.ToLower(digits), found: map[symsrc.BuildID]bool{}}
	indexes := []*index{l.objects}
	for _, t := range []*lazyIndex{l.symbols, l.nearby, l.rootTree} {
		if x := t.get(ctx); x != nil {
			indexes = append(indexes, x)
		}
	}
	for _, x := range indexes {
		for id := range x.byID {
			p.add(id)
		}
	}
	for _, dir := range l.opt.BuildIDDirs {
		p.tree(dir)
		p.tree(filepath.Join(dir, ".build-id"))
	}
	for _, dir := range l.opt.DebugRoots {
		p.tree(filepath.Join(dir, ".build-id"))
	}
	for _, root := range l.roots {
		p.tree(filepath.Join(root, "usr/lib/debug/.build-id"))
		p.tree(filepath.Join(root, "usr/lib/.build-id"))
	}
	l.loadLists()
	for _, id := range l.idMap.withPrefix(p.digits) {
		p.add(id)
	}
	for _, dir := range l.idMap.dirs {
		p.tree(dir)
		p.tree(filepath.Join(dir, ".build-id"))
	}
	list := make([]symsrc.BuildID, 0, len(p.found))
	for id := range p.found {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// prefixed collects the build IDs that begin with some digits.
type prefixed struct {
	digits string
	found  map[symsrc.BuildID]bool
}

// add adds a build ID that begins so.
func (p *prefixed) add(id symsrc.BuildID) {
	if len(p.found) < maxPrefixed && strings.HasPrefix(id.String(), p.digits) {
		p.found[id] = true
	}
}

// tree adds those of a directory of xx/yyyy and xx/yyyy.debug.
func (p *prefixed) tree(dir string) {
	list, err := os.ReadDir(filepath.Join(dir, p.digits[:2]))
	if err != nil {
		return
	}
	for _, e := range list {
		if id, ok := symsrc.ParseBuildID(p.digits[:2] + strings.TrimSuffix(e.Name(), ".debug")); ok {
			p.add(id)
		}
	}
}

// withPrefix returns the build IDs of the lines that begin so, whose number is limited.
func (x *idMap) withPrefix(digits string) (ids []symsrc.BuildID) {
	least, _ := symsrc.ParseBuildID((digits + "0000000000000000")[:16])
	most, _ := symsrc.ParseBuildID((digits + "ffffffffffffffff")[:16])
	first, last := beginning(least), beginning(most)
	from, _ := slices.BinarySearchFunc(x.lines, first, func(l idLine, key uint64) int {
		if l.id < key {
			return -1
		}
		return 1
	})
	line := make([]byte, maxIDLine)
	for _, l := range x.lines[from:min(len(x.lines), from+maxAlike)] {
		if l.id > last {
			break
		}
		text := x.textOf(l)
		file, err := openRegular(text.path, true)
		if err != nil { // removed
			continue
		}
		n, _ := file.ReadAt(line, int64(l.at)-text.at)
		file.close()
		one, _, _ := bytes.Cut(line[:n], []byte("\n"))
		if id, _, ok := readIDLine(one); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// FileID returns the build ID of an ELF file, or "" if it has none or cannot be read.
func FileID(path string) symsrc.BuildID {
	info, err := os.Stat(path) // before it is opened: it may be a FIFO
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head, err := ReadHead(f, info.Size())
	if err != nil {
		return ""
	}
	return head.ID
}
