package object

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"qss-filter/symsrc"
)

// query is a query to a File.
type query struct {
	addr uint64
	kind int
}

// answer returns f's answer to the query.
func (q query) answer(f *File) any {
	switch q.kind {
	case 0:
		return f.ShortCode(q.addr)
	case 1:
		frame, _ := f.Data(q.addr)
		return frame
	case 2:
		return f.Probe(q.addr, symsrc.Linked)
	}
	return f.Code(q.addr)
}

// decisive are the sections that determine the answers.
var decisive = []string{".debug_info", ".debug_abbrev", ".debug_line", ".debug_aranges", ".debug_ranges", ".debug_rnglists",
	".debug_addr", ".debug_str_offsets", ".debug_info.dwo", ".debug_abbrev.dwo", ".debug_rnglists.dwo", ".debug_cu_index", ".symtab"}

// TestHistory sends queries to the files of testdata, and to damaged ones, repeatedly, in several orders, and from several goroutines.
// An answer must not depend on earlier queries: it is the same as that of a file that was just opened.
func TestHistory(t *testing.T) {
	places := sectionPlaces(t, decisive...)
	for _, b := range seeds {
		t.Run(b.name, func(t *testing.T) {
			var of []*sectionPlace
			for i := range places {
				if places[i].name == b.name {
					of = append(of, &places[i])
				}
			}
			addrs := codeAddresses(t, filepath.Join("testdata", b.name+".elf"), 1)
			r := rand.New(rand.NewPCG(uint64(len(addrs)), 3))
			for n := range *mutations / 10 {
				p := of[r.IntN(len(of))]
				file, beside := p.file, p.beside
				switch {
				case n == 0:
				case r.IntN(8) == 0: // such as .debug_aranges
					file, beside = p.with(nil)
				case r.IntN(4) == 0:
					file = damage(r, file)
				default:
					file, beside = p.with(damage(r, p.contents))
				}
				if err := history(r, file, beside, queries(r, addrs, 24)); err != nil {
					failKeeping(t, err, file, beside)
				}
			}
		})
	}
}

// TestHistoryOfObjects is TestHistory for the files of -objects.
func TestHistoryOfObjects(t *testing.T) {
	eachObject(t, func(t *testing.T, good []byte, addrs []uint64) {
		r := rand.New(rand.NewPCG(uint64(len(good)), 4))
		file := good
		for range 1 + *mutations/100 {
			if err := history(r, file, nil, queries(r, addrs, 100)); err != nil {
				failKeeping(t, err, file, nil)
			}
			file = damage(r, good)
		}
	})
}

// byName is a finder of files by the name of the module. It is safe for concurrent use.
type byName map[string]*symsrc.Files

func (f byName) Find(_ context.Context, m symsrc.Module) *symsrc.Files { return f[m.Name] }

// TestHistoryOfSources sends queries about all files of testdata in random order from several goroutines, and compares each answer with
// that of a Source without other queries.
func TestHistoryOfSources(t *testing.T) {
	files := make(byName)
	r := rand.New(rand.NewPCG(13, 14))
	var all []symsrc.Addr
	for _, b := range seeds {
		path := filepath.Join("testdata", b.name+".elf")
		files[b.name] = &symsrc.Files{Elf: path}
		for _, q := range queries(r, codeAddresses(t, path, 1), 40) {
			kind := [...]symsrc.Kind{symsrc.ShortCode, symsrc.Data, symsrc.Code}[min(q.kind, 2)]
			all = append(all, symsrc.Addr{Module: symsrc.Module{Name: b.name}, Offset: q.addr, Kind: kind})
		}
	}
	want := make([][]symsrc.Frame, len(all))
	for i, q := range all {
		want[i] = NewSource(files).Frames(context.Background(), q).Frames
	}
	s := NewSource(files)
	var asking sync.WaitGroup
	for range 3 {
		order := append(r.Perm(len(all)), r.Perm(len(all))...)
		asking.Go(func() {
			for _, i := range order {
				if got := s.Frames(context.Background(), all[i]).Frames; !reflect.DeepEqual(got, want[i]) {
					t.Errorf("%+v: alone %+v, then %+v", all[i], want[i], got)
				}
			}
		})
	}
	asking.Wait()
}

// TestGivenUp exceeds the budget while a package of split units is read: the file that refers to it, which shares the budget, has no
// more answers, because they would be based on only a part of the data.
func TestGivenUp(t *testing.T) {
	for name, spend := range map[string]func(*File){
		"steps": func(f *File) { f.elf.Budget.Spend(math.MaxInt / 2) },
		"bytes": func(f *File) { f.elf.Budget.Hold(math.MaxInt / 2) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "split5.elf")
			f := open(t, path)
			addrs := codeAddresses(t, path, 1)
			f.Code(addrs[0])
			if len(f.deps.opened) != 1 {
				t.Fatalf("%d packages", len(f.deps.opened))
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the budget is not exceeded")
					}
				}()
				spend(f.deps.opened[0])
			}()
			for _, a := range addrs {
				if frames := f.Code(a); f.fault.Load() != nil && frames != nil {
					t.Errorf("%#x: %+v from a file that has exceeded its budget", a, frames)
				}
			}
			if gone, err := givenUp(f); !gone || err != nil {
				t.Errorf("given up: %v, %v", gone, err)
			}
		})
	}
}

// queries returns n random queries, most of them about code.
func queries(r *rand.Rand, addrs []uint64, n int) []query {
	all := make([]query, n)
	for i := range all {
		all[i] = query{addrs[r.IntN(len(addrs))], r.IntN(8)}
	}
	return all
}

// history compares the answer to each query from a file that was just opened with those after other queries. It ends without an
// error if a file exceeds its budget.
func history(r *rand.Rand, data, beside []byte, all []query) error {
	if _, err := newFileBeside(data, beside); err != nil {
		return nil
	}
	fresh := func() *File {
		f, _ := newFileBeside(data, beside)
		return f
	}
	want := make([]any, len(all))
	for i, q := range all {
		f := fresh()
		want[i] = q.answer(f)
		if gone, err := givenUp(f); gone {
			return err
		}
	}
	ask := func(f *File, order []int, when string) error {
		for _, i := range order {
			got := all[i].answer(f)
			if gone, err := givenUp(f); gone {
				return err
			}
			if !reflect.DeepEqual(got, want[i]) {
				return fmt.Errorf("%+v: first %+v, then, %s, %+v", all[i], want[i], when, got)
			}
		}
		return nil
	}
	for range 2 {
		f := fresh()
		for _, when := range [...]string{"in another order", "again", "a third time"} {
			if err := ask(f, r.Perm(len(all)), when); err != nil {
				return err
			}
		}
	}
	f := fresh()
	var asking sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		order := r.Perm(len(all))
		asking.Go(func() { errs[i] = ask(f, order, "concurrently") })
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
