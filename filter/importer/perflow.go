package importer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// perFlowKind is a kind of file of PerFlow, or one that its stacks come with.
type perFlowKind uint8

const (
	notPerFlow   perFlowKind = iota
	libmapBinary             // a library map
	libmapText
	mapsText     // a copy of /proc/PID/maps
	stacksText   // stacks without a snapshot's number: the text export
	stacksBinary // .pflw
	stacksLog    // a log with maps and stacks in it
	stacksByID   // stacks with the numbers of their snapshots
)

var (
	pflwMagic   = []byte("WLFP") // 0x50464c57, little endian
	libmapMagic = []byte("PMLP") // 0x504c4d50
)

// perFlowFile tells what a file is by its first bytes.
func perFlowFile(head []byte) perFlowKind {
	switch {
	case bytes.HasPrefix(head, pflwMagic):
		return stacksBinary
	case bytes.HasPrefix(head, libmapMagic):
		return libmapBinary
	case bytes.IndexByte(head, 0) >= 0:
		return notPerFlow
	}
	return perFlowText(head)
}

// perFlowText tells what a text is by its lines.
func perFlowText(head []byte) perFlowKind {
	var maps, libraries, stacks, ids, addresses int
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		if _, ok := parseMapping(line); ok {
			maps++
		} else if _, ok := parseLibrary(line); ok {
			libraries++
		} else if h, ok := parseHeader(line); ok {
			stacks++
			if h.byID {
				ids++
			}
		} else if _, ok := bareAddress(line); ok {
			addresses++
		}
	}
	switch {
	case ids > 0 && maps == 0:
		return stacksByID
	case maps > 0 && stacks+addresses > 0:
		return stacksLog
	case stacks > 0:
		return stacksText
	case maps > 0:
		return mapsText
	case libraries > 0:
		return libmapText
	}
	return notPerFlow
}

// perFlow reads stacks and the maps that they belong to.
type perFlow struct {
	stacks []perFlowInput
	maps   []perFlowInput
}

type perFlowInput struct {
	path string
	kind perFlowKind
}

// newPerFlow takes one file, with the maps that lie beside it, or the files of a directory. Of several files with stacks
// there those count that say most; they may be the same stacks in several forms.
func newPerFlow(path string) (reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir := path
	if !info.IsDir() {
		dir = filepath.Dir(path)
	}
	p := &perFlow{}
	if err := p.collect(dir); err != nil {
		return nil, err
	}
	if info.IsDir() {
		best := notPerFlow
		for _, in := range p.stacks {
			best = max(best, in.kind)
		}
		p.stacks = slices.DeleteFunc(p.stacks, func(in perFlowInput) bool { return in.kind != best })
		if len(p.stacks)+len(p.maps) == 0 {
			return nil, fmt.Errorf("%s: no file of PerFlow in it", path)
		}
		return p, nil
	}
	head, err := readHead(path)
	if err != nil {
		return nil, err
	}
	switch kind := perFlowFile(head); {
	case kind == notPerFlow:
		return nil, &DamageError{path, 0, "neither a stack nor a library map of PerFlow"}
	case kind < stacksText:
		p.stacks, p.maps = nil, []perFlowInput{{path, kind}}
	case kind == stacksLog: // it has its own
		p.stacks, p.maps = []perFlowInput{{path, kind}}, nil
	default:
		p.stacks = []perFlowInput{{path, kind}}
	}
	return p, nil
}

// collect finds PerFlow's files in a directory. What is no file of its is passed over.
func (p *perFlow) collect(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() {
			continue
		}
		head, err := readHead(path)
		if err != nil {
			continue
		}
		switch kind := perFlowFile(head); {
		case kind >= stacksText:
			p.stacks = append(p.stacks, perFlowInput{path, kind})
		case kind != notPerFlow:
			p.maps = append(p.maps, perFlowInput{path, kind})
		}
	}
	return nil
}

// snapshotID is the number in the name of a maps file, as in `maps.1.libmap`; 0 where there is none.
func snapshotID(path string) uint64 {
	for part := range strings.SplitSeq(filepath.Base(path), ".") {
		if id, err := strconv.ParseUint(part, 10, 32); err == nil {
			return id
		}
	}
	return 0
}

// read writes the stacks, or the library maps where there are none.
func (p *perFlow) read(ctx context.Context, out *output) error {
	r := &stackReader{out: out, spaces: map[uint64]*space{}}
	r.profile = out.wants(ValueKind{"samples", "count"})
	// Where there are several forms of one snapshot, maps tell most: they come last, and count.
	slices.SortStableFunc(p.maps, func(a, b perFlowInput) int { return cmp.Compare(rank(a.kind), rank(b.kind)) })
	var problems []error
	for _, in := range p.maps {
		all, k, err := readMaps(in)
		problems = append(problems, err)
		if len(all) > 0 {
			s := newSpace(all, k)
			r.spaces[snapshotID(in.path)] = s
			if len(p.stacks) == 0 {
				r.libraries(ctx, s)
			}
		}
	}
	for _, in := range p.stacks {
		r.merge()
		var err error
		if in.kind == stacksBinary {
			err = r.binary(ctx, in.path)
		} else {
			err = r.text(ctx, in)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func rank(k perFlowKind) int {
	return slices.Index([]perFlowKind{libmapText, libmapBinary, mapsText}, k)
}

// libraries prints a snapshot as PerFlow's own text export does.
func (r *stackReader) libraries(_ context.Context, s *space) {
	for i := range s.mappings {
		m := &s.mappings[i]
		r.out.printf("[0x%016x - 0x%016x] (0x%x bytes) [x] %s\n", m.start, m.end, m.end-m.start, plain(m.path))
	}
}
