package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// perFlowKind is a kind of file of PerFlow.
type perFlowKind uint8

const (
	notPerFlow   perFlowKind = iota
	libmapBinary             // a library map
	libmapText
	mapsText     // a copy of /proc/PID/maps
	stacksText   // stacks without the number of a snapshot: the text export
	stacksBinary // .pflw
	stacksLog    // a log with maps and stacks in it
	stacksByID   // stacks with the numbers of their snapshots
)

var (
	pflwMagic   = []byte("WLFP") // 0x50464c57, little endian
	libmapMagic = []byte("PMLP") // 0x504c4d50
)

// perFlowFile returns the kind of a file by its first bytes. A long map may be the beginning of a log, so it is
// read until there is a stack. So is any text if asked is set, since the user has said that it is a file of PerFlow.
func perFlowFile(path string, asked bool) (perFlowKind, error) {
	f, err := openRegular(path)
	if err != nil {
		return notPerFlow, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, headSize)
	head, err := in.Peek(headSize)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return notPerFlow, fmt.Errorf("read %s: %w", path, err)
	case bytes.HasPrefix(head, pflwMagic):
		return stacksBinary, nil
	case bytes.HasPrefix(head, libmapMagic):
		return libmapBinary, nil
	case bytes.IndexByte(head, 0) >= 0 && !asked:
		return notPerFlow, nil
	}
	var s textSigns
	read := 0
	err = eachLine(in, func(line []byte, torn bool) error {
		if read += len(line); !torn {
			s.line(bytes.TrimRight(line, "\r\n"))
		}
		if read >= headSize && !s.undecided(asked) {
			return errDecided
		}
		return nil
	})
	if err != nil && !errors.Is(err, errDecided) {
		return notPerFlow, fmt.Errorf("read %s: %w", path, err)
	}
	return s.kind(asked), nil
}

// errDecided ends the reading of a text whose kind is known.
var errDecided = errors.New("decided")

// eachLine visits the lines of a text, each with its end. A line that is longer than the reader's buffer comes in pieces; torn is
// set for all but the first.
func eachLine(in *bufio.Reader, visit func(line []byte, torn bool) error) error {
	for torn := false; ; {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			if err := visit(line, torn); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
			torn = false
		case errors.Is(err, bufio.ErrBufferFull):
			torn = true
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// textSigns counts the lines of a text that show its kind.
type textSigns struct{ maps, libraries, stacks, ids, addresses int }

func (s *textSigns) line(line []byte) {
	if _, ok := parseMapping(line); ok {
		s.maps++
	} else if _, ok := parseLibrary(line); ok {
		s.libraries++
	} else if h, ok := parseHeader(line); ok {
		s.stacks++
		if h.byID {
			s.ids++
		}
	} else if _, ok := bareAddress(line); ok {
		s.addresses++
	}
}

// undecided reports whether a later stack would change the kind.
func (s *textSigns) undecided(asked bool) bool {
	return s.stacks+s.addresses == 0 && (asked || s.maps+s.libraries > 0)
}

func (s *textSigns) kind(asked bool) perFlowKind {
	switch {
	case s.ids > 0 && s.maps == 0:
		return stacksByID
	case s.maps > 0 && s.stacks+s.addresses > 0:
		return stacksLog
	case s.stacks > 0, asked && s.addresses > 0:
		return stacksText
	case s.maps > 0:
		return mapsText
	case s.libraries > 0:
		return libmapText
	}
	return notPerFlow
}

// perFlow reads stacks with their maps.
type perFlow struct {
	stacks []perFlowInput
	maps   []perFlowInput
}

type perFlowInput struct {
	path string
	kind perFlowKind
}

// newPerFlow reads one file with the maps in its directory, or the files of a directory. If several files have stacks,
// those of the most detailed kind count; they may have the same stacks in several formats.
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
	kind, err := perFlowFile(path, true)
	if err != nil {
		return nil, err
	}
	switch {
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

// collect finds PerFlow's files in a directory and ignores others.
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
		kind, err := perFlowFile(path, false)
		switch {
		case err != nil:
		case kind >= stacksText:
			p.stacks = append(p.stacks, perFlowInput{path, kind})
		case kind != notPerFlow:
			p.maps = append(p.maps, perFlowInput{path, kind})
		}
	}
	return nil
}

// snapshotID returns the number in the name of a maps file, as in `maps.1.libmap`, or 0.
func snapshotID(path string) uint64 {
	for part := range strings.SplitSeq(filepath.Base(path), ".") {
		if id, err := strconv.ParseUint(part, 10, 32); err == nil {
			return id
		}
	}
	return 0
}

// read writes the stacks, or the library maps if there are none.
func (p *perFlow) read(ctx context.Context, out *output) error {
	r := newStackReader(out)
	r.profile = out.wants(ValueKind{"samples", "count"})
	// If a snapshot has several formats, maps have the most detail: they come last, and count.
	slices.SortStableFunc(p.maps, func(a, b perFlowInput) int { return cmp.Compare(rank(a.kind), rank(b.kind)) })
	for _, in := range slices.Concat(p.maps, p.stacks) {
		if info, err := os.Stat(in.path); err == nil {
			out.expect(info.Size())
		}
	}
	var problems []error
	for _, in := range p.maps {
		all, k, err := readMaps(in, out)
		problems = append(problems, err)
		if len(all) > 0 {
			s := newSpace(all, k)
			r.keep(snapshotID(in.path), s)
			if len(p.stacks) == 0 {
				r.libraries(s)
			}
		}
		if err := out.failed(ctx); err != nil {
			return err
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
func (r *stackReader) libraries(s *space) {
	for i := range s.mappings {
		m := &s.mappings[i]
		r.out.printf("[0x%016x - 0x%016x] (0x%x bytes) [x] %s\n", m.start, m.end, m.end-m.start, plain(m.path))
	}
}

// text reads stacks from text. Maps in it become the snapshot of the stacks after them; other lines are not changed.
func (r *stackReader) text(ctx context.Context, in perFlowInput) error {
	f, err := r.out.open(in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	t := textStacks{stackReader: r, dump: mappingList{out: r.out}}
	n := 0
	err = eachLine(bufio.NewReaderSize(f, 1<<16), func(line []byte, torn bool) error {
		t.torn = torn
		t.line(ctx, line)
		if n++; n%(1<<10) == 0 {
			return r.out.failed(ctx)
		}
		return nil
	})
	t.close(ctx)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("read %s: %w", in.path, err)
	}
	return err
}

// textStacks is the state between the lines of a text.
type textStacks struct {
	*stackReader
	torn   bool // the rest of a line follows
	export bool // the numbers in brackets are counts, not times
	open   bool // a stack is being read
	dump   mappingList
}

func (t *textStacks) line(ctx context.Context, line []byte) {
	body := bytes.TrimRight(line, "\r\n")
	if t.torn {
		t.other(ctx, line, body)
		return
	}
	if m, ok := parseMapping(body); ok {
		t.close(ctx)
		t.dump.add(m)
		return
	}
	t.dumped()
	if h, ok := parseHeader(body); ok {
		t.close(ctx)
		t.open = true
		t.choose(h)
		count := int64(1)
		if t.export {
			count = t.out.signed(h.count)
		}
		t.begin(string(line), count)
		return
	}
	if addr, ok := bareAddress(body); ok {
		if !t.open {
			t.begin("", 1)
			t.open = true
		}
		t.frame(ctx, addr)
		return
	}
	t.other(ctx, line, body)
}

// other writes a line that is not PerFlow's.
func (t *textStacks) other(ctx context.Context, line, body []byte) {
	t.close(ctx)
	if bytes.HasPrefix(body, exportHead) {
		t.export = true
	}
	if id, ok := numberAfter(body, mapIDWord); ok {
		t.mapID = id
	}
	t.out.printf("%s", line)
}

// dumped makes the maps that were read the current snapshot.
func (t *textStacks) dumped() {
	if len(t.dump.all) == 0 {
		return
	}
	t.now = newSpace(t.dump.all, wholeMaps)
	t.keep(t.mapID, t.now)
	t.dump.all = nil
}

// choose selects the snapshot that a stack names. If there is no such snapshot, nothing is mapped.
func (t *textStacks) choose(h header) {
	if h.byID {
		t.now = t.spaces[h.mapID]
		if t.now == nil {
			t.now = &space{}
		}
	}
}

// close ends the current stack.
func (t *textStacks) close(ctx context.Context) {
	if t.open {
		t.end(ctx)
		t.open = false
	}
}
