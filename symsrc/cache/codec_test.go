package cache

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"qss-filter/symsrc"
)

// valid changes random frames to valid ones.
func valid(frames []symsrc.Frame) []symsrc.Frame {
	out := []symsrc.Frame{}
	for i, f := range frames {
		f.Origin %= symsrc.SymbolOnly + 1
		f.Entry, f.LineNow, f.Unverified = symsrc.NoEntry, false, false // answers in the style of llvm are not kept, nor what a log says of lines
		f.Foreign = false                                               // only places in scripts are, which are not kept
		f.Line, f.Column = f.Line&0x7fffffff, f.Column&0x7fffffff
		f.CompDir, f.Size = len(f.File)/2, 0 // answers with sizes are not kept
		if i%2 == 1 {                        // names are repeated
			f.Func, f.File, f.CompDir = frames[i-1].Linkage, frames[i-1].File, 0
		}
		out = append(out, f)
	}
	return out
}

// pageOf is a page of some entries.
func pageOf(key []byte, entries ...entry) []byte {
	var w pageWriter
	w.reset()
	for i := range entries {
		w.add(&entries[i])
	}
	return w.appendTo(nil, key)
}

// entriesOf returns the entries of a page, or an error if it is none.
func entriesOf(key, value []byte) (all []entry, err error) {
	p, err := openPage(key, value)
	if err != nil {
		return nil, err
	}
	for _, at := range p.spots {
		e, err := p.read(at, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// TestPages encodes and decodes random answers and probes. It fails for a new field of symsrc.Frame or symsrc.Probe that the codec does
// not know.
func TestPages(t *testing.T) {
	key := []byte("a key")
	type random struct {
		At     uint64
		Tag    uint8
		Since  int64
		Files  randomFiles
		Frames []symsrc.Frame
		Shows  symsrc.Probe
	}
	same := func(all []random) bool {
		entries := []entry{}
		for _, r := range all {
			e := entry{at: r.At, tag: r.Tag}
			if isProbe(e.tag) {
				e.shows = r.Shows
			} else if e.frames = valid(r.Frames); len(e.frames) == 0 {
				continue
			} else if r.Since%8 != 0 {
				e.source.made = time.Unix(0, r.Since)
				e.source.files = keptFiles(r.Files)
			}
			entries = append(entries, e)
		}
		value := pageOf(key, entries...)
		got, err := entriesOf(key, value)
		return err == nil && pageEntries(value) == int64(len(entries)) && (len(entries) == 0 || reflect.DeepEqual(got, entries))
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
	value := pageOf(key, entry{at: 7, frames: []symsrc.Frame{{Func: "f"}}}, entry{at: 9, tag: probeKind, shows: symsrc.Probe{Known: true}})
	if _, err := openPage([]byte("another"), value); err == nil {
		t.Error("one key's page is taken for another one's")
	}
	for i := range value {
		if _, err := openPage(key, value[:i]); err == nil {
			t.Errorf("%d of %d bytes are a page", i, len(value))
		}
		for bit := range 8 {
			value[i] ^= 1 << bit
			if _, err := openPage(key, value); err == nil {
				t.Errorf("with bit %d of byte %d changed it is a page", bit, i)
			}
			value[i] ^= 1 << bit
		}
	}
	name := strings.Repeat("name", 100)
	e := entry{frames: []symsrc.Frame{{Func: name}}}
	once := len(pageOf(key, e))
	again := entry{at: 1, frames: []symsrc.Frame{{Func: name, Linkage: name}, {Func: name}}}
	if n := len(pageOf(key, e, again)); n > once+30 {
		t.Errorf("a name that comes again takes %d bytes instead of %d", n, once)
	}
}

// randomFiles has the fields of symsrc.Files that are stored.
type randomFiles struct {
	Elf, Debug, Note, Detail string
	ElfRange, DebugRange     symsrc.Range
	ElfStatus, DebugStatus   symsrc.Status
	Symbols                  []string
}

// keptFiles returns the part of files that is stored.
func keptFiles(f randomFiles) *symsrc.Files {
	one := &symsrc.Files{Elf: "/" + f.Elf, Debug: f.Debug, ElfRange: f.ElfRange, DebugRange: f.DebugRange, ElfStatus: f.ElfStatus % (symsrc.UnknownError + 1),
		DebugStatus: f.DebugStatus % (symsrc.UnknownError + 1), Note: f.Note, Detail: f.Detail, Symbols: f.Symbols}
	for _, part := range []*symsrc.Range{&one.ElfRange, &one.DebugRange} {
		part.Offset, part.Size = part.Offset&math.MaxInt64, part.Size&math.MaxInt64
	}
	if len(one.Symbols) == 0 {
		one.Symbols = nil
	}
	return one
}

// TestFind finds each entry of a page, and none that is not there.
func TestFind(t *testing.T) {
	key := []byte("a key")
	var entries []entry
	for at := range uint64(100) {
		for tag := range uint8(3) {
			entries = append(entries, entry{at: 3 * at, tag: tag, frames: []symsrc.Frame{{Line: int(3*at) + int(tag)}}})
		}
	}
	p, err := openPage(key, pageOf(key, entries...))
	if err != nil {
		t.Fatal(err)
	}
	for at := range uint64(300) {
		for tag := range uint8(4) {
			where, ok := p.find(at, tag)
			if want := at%3 == 0 && tag < 3; ok != want {
				t.Errorf("%d %d: found is %v", at, tag, ok)
			} else if !ok {
				continue
			}
			if e, err := p.read(where, nil); err != nil || e.frames[0].Line != int(at)+int(tag) {
				t.Errorf("%d %d: got %+v, %v", at, tag, e, err)
			}
		}
	}
}

// FuzzPage reads any bytes as a page with a valid checksum.
func FuzzPage(f *testing.F) {
	key := []byte("key")
	f.Add(pageOf(key, entry{at: 5, source: answerSource{time.Unix(1, 0), &symsrc.Files{Elf: "/a"}}, frames: []symsrc.Frame{
		{Func: "f", Linkage: "_Z1fv", File: "/src/f.cc", CompDir: 4, Line: 3}, {Func: "f", Offset: 9}}},
		entry{at: 4, tag: probeKind, shows: symsrc.Probe{Known: true, Linked: 5}})[4:])
	f.Add([]byte{1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, rest []byte) {
		value := seal(append([]byte{0, 0, 0, 0}, rest...), 0, key)
		p, err := openPage(key, value)
		if err != nil {
			return
		}
		if p.footprint() > 24*len(value)+200 {
			t.Fatalf("%d bytes of memory for %d", p.footprint(), len(value))
		}
		if entries, err := entriesOf(key, value); err == nil {
			again, err := entriesOf(key, pageOf(key, entries...))
			if err != nil || !reflect.DeepEqual(again, entries) {
				t.Errorf("%x: %v is kept as %v, %v", rest, entries, again, err)
			}
		}
	})
}

func FuzzBlobs(f *testing.F) {
	f.Add(appendBlob(appendBlob(nil, []byte("a")), nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		for ok := true; ok && len(b) > 0; {
			var blob, rest []byte
			if blob, rest, ok = cutBlob(b); ok && len(blob)+len(rest) >= len(b) {
				t.Fatalf("%x is cut into %x and %x", b, blob, rest)
			}
			b = rest
		}
	})
}

// BenchmarkRecall reads one answer of a page in memory.
func BenchmarkRecall(b *testing.B) {
	key := []byte("a key of the usual length, more or less")
	value := pageOf(key, entry{at: 1, source: answerSource{time.Unix(1, 0), &symsrc.Files{Elf: "/a"}}, frames: []symsrc.Frame{
		{Func: "std::vector<int>::push_back(int const&)", Linkage: "_ZNSt6vectorIiE9push_backERKi", File: "/usr/include/c++/12/vector", Line: 10},
		{Func: "main", Linkage: "main", File: "/src/main.cc", CompDir: 5, Line: 20, Column: 3, Origin: symsrc.SymbolAndDebug},
	}})
	p, err := openPage(key, value)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		at, _ := p.find(1, 0)
		if _, err := p.read(at, nil); err != nil {
			b.Fatal(err)
		}
	}
}
