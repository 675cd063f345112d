//go:build linux || darwin

package cache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"qss-filter/symsrc"
)

// fields calls visit for each field of a query, including those of nested structs, with a query that has another value there.
func fields(t *testing.T, q symsrc.Addr, visit func(name string, other symsrc.Addr)) {
	t.Helper()
	var walk func(v reflect.Value, name string, other *symsrc.Addr)
	walk = func(v reflect.Value, name string, other *symsrc.Addr) {
		for i := range v.NumField() {
			name, f, before := name+v.Type().Field(i).Name, v.Field(i), reflect.New(v.Field(i).Type()).Elem()
			before.Set(f)
			switch {
			case f.Kind() == reflect.Struct:
				walk(f, name+".", other)
				continue
			case f.Kind() == reflect.String:
				f.SetString(f.String() + "x")
			case f.CanUint():
				f.SetUint(f.Uint() + 1)
			case f.CanInt():
				f.SetInt(f.Int() + 1)
			case f.Kind() == reflect.Bool:
				f.SetBool(!f.Bool())
			default:
				t.Fatalf("a query has the field %s, of the kind %s: say here how that differs, and have inquire tell it apart", name, f.Kind())
			}
			visit(name, *other)
			f.Set(before)
		}
	}
	walk(reflect.ValueOf(&q).Elem(), "", &q)
}

// TestKeyHasAll checks that the cache distinguishes queries whose answers may differ, with and without a symbol that the address counts
// from. It fails for a new field of a query until the key contains the field, or the field is listed here with the reason.
func TestKeyHasAll(t *testing.T) {
	for _, q := range []symsrc.Addr{
		{Module: symsrc.Module{Name: "n", BuildID: "id"}, Offset: 0x10},
		{Module: symsrc.Module{Name: "n", BuildID: "id"}, Offset: 0x10, Symbol: "abort", Size: 7},
	} {
		for _, probing := range []bool{false, true} {
			// A build ID identifies a binary regardless of its name and path, and a UUID is that of one architecture of a file.
			identified := map[string]bool{"Module.Name": true, "Module.Member": true, "Module.InArchive": true, "Module.Arch": true}
			key := func(q symsrc.Addr) string {
				kind := uint8(q.Kind)
				if probing {
					kind = probeKind
				}
				w := (&Source{}).lookAt(context.Background(), q.Module).inquire(kind, &q)
				if len(w.key) > keySize {
					t.Errorf("the key of %+v is longer than it may be", q)
				}
				return fmt.Sprint(w)
			}
			fields(t, q, func(name string, other symsrc.Addr) {
				same := identified[name] || probing && name == "Kind" // the machine code is the same
				if (key(other) == key(q)) != same {
					t.Errorf("%+v and %+v, probing %v: one key is %v", q, other, probing, !same)
				}
			})
		}
	}
}

// finders finds a file of its own for each module, in a directory.
type finders struct{ dir string }

func (f finders) Find(_ context.Context, m symsrc.Module) *symsrc.Files {
	path := filepath.Join(f.dir, fmt.Sprintf("%s %s %s %x", m.Name, m.BuildID, m.Member, m.InArchive))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		panic(err)
	}
	return &symsrc.Files{Elf: path, Unverified: true}
}

// TestIdentityHasAll checks that everything that identifies a module without a build ID is in its key.
func TestIdentityHasAll(t *testing.T) {
	s := &Source{opt: Options{Finder: finders{t.TempDir()}}, modules: make(map[symsrc.Module]*module)}
	id := func(q symsrc.Addr) string { return s.module(context.Background(), q.Module).prefix }
	q := symsrc.Addr{Module: symsrc.Module{Name: "n"}}
	if id(q) == "" {
		t.Fatal("it has no identity")
	}
	ofAddr := map[string]bool{"Offset": true, "Kind": true, "Space": true, "Symbol": true, "Size": true}
	fields(t, q, func(name string, other symsrc.Addr) {
		if (id(other) == id(q)) != ofAddr[name] {
			t.Errorf("%+v and %+v: one identity is %v", q, other, !ofAddr[name])
		}
	})
}

// TestSymbolsDiffer asks for addresses that count from different functions, for which the engine has different answers.
func TestSymbolsDiffer(t *testing.T) {
	unhurried(t)
	dir := tempDir(t)
	var qs []symsrc.Addr
	for _, symbol := range []string{"", "abort", "qsort"} {
		for size := range uint64(3) {
			q := addr(3)
			q.Symbol, q.Size = symbol, size
			qs = append(qs, q)
		}
	}
	for round, prefetches := range []bool{false, false, true} {
		t.Cleanup(func() { stop(t, dir) })
		s := Wrap(counting{}, Options{Dir: dir, Program: program, Finder: counting{}})
		connect(t, s)
		if prefetches {
			expected := make([]symsrc.Expected, len(qs))
			for i, q := range qs {
				expected[i] = symsrc.Expected{Addr: q, Back: func(symsrc.Probe) uint64 { return 0 }}
			}
			s.Prefetch(context.Background(), expected)
		}
		for range 2 {
			for _, q := range qs {
				if got, want := text(s.Frames(context.Background(), q)), text(counting{}.Frames(context.Background(), q)); got != want {
					t.Errorf("round %d: %+v is answered %s instead of %s", round, q, got, want)
				}
				if got, want := s.Probe(context.Background(), q), (counting{}).Probe(context.Background(), q); got != want {
					t.Errorf("round %d: of %+v the code shows %+v instead of %+v", round, q, got, want)
				}
			}
		}
		s.Close()
	}
}

// counting is a source whose answers contain everything that the address of a query counts from.
type counting struct{}

func (counting) Find(context.Context, symsrc.Module) *symsrc.Files { return &symsrc.Files{Elf: "/x"} }

func (counting) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	name := fmt.Sprintf("%s/%d", q.Symbol, q.Size)
	return symsrc.Answer{Files: &symsrc.Files{Elf: "/x"}, Frames: []symsrc.Frame{{Func: name, Linkage: name, Origin: symsrc.SymbolAndDebug}}}
}

func (counting) Probe(_ context.Context, q symsrc.Addr) symsrc.Probe {
	return symsrc.Probe{Known: true, Linked: uint64(len(q.Symbol))<<8 | q.Size}
}
