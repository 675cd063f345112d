package debuginfod

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/macho"
)

// TestStores asks stores of each layout. What is not there they say so in their way.
func TestStores(t *testing.T) {
	second := symsrc.BuildID("\xfe\xdc\xba\x98\x76\x54\x32\x10")
	for name, paths := range map[string][2]string{
		"debuginfod": {"/buildid/0123456789abcdef/debuginfo", "/buildid/fedcba9876543210/debuginfo"},
		"SSQP":       {"/_.debug/elf-buildid-sym-0123456789abcdef000000000000000000000000/_.debug", "/_.debug/elf-buildid-sym-fedcba9876543210000000000000000000000000/_.debug"},
		"a tree":     {"/.build-id/01/23456789abcdef.debug", "/.build-id/fe/dcba9876543210.debug"},
		"unified":    {"/01/23456789abcdef/debuginfo", "/fe/dcba9876543210/debuginfo"},
	} {
		for _, missing := range []http.HandlerFunc{status(http.StatusNotFound), status(http.StatusForbidden), content([]byte("<html>not here"))} {
			var asked []string
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path)
				switch {
				case r.Header.Get("Authorization") != "":
					t.Errorf("%s: the store was sent what is for debuginfod servers", name)
				case r.URL.Path == "/p"+paths[0]:
					w.Write(debugELF(testID))
				case r.URL.Path == "/p"+paths[1]:
					w.Write(debugELF(second))
				default:
					missing(w, r)
				}
			})
			headers := filepath.Join(t.TempDir(), "headers")
			if err := os.WriteFile(headers, []byte("Authorization: Bearer secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, Options{Stores: []string{s.URL + "/p/"}, Off: true, Retries: -1, HeadersFile: headers})
			for i, id := range []symsrc.BuildID{testID, second} {
				if r := w.Fetch(context.Background(), id, Debuginfo); r.Outcome != Found || !r.Debug {
					t.Fatalf("%s: %+v after %q", name, r, asked)
				}
				if i == 1 && asked[len(asked)-2] != "/p"+paths[0] {
					t.Errorf("%s: the layout is forgotten: %q", name, asked)
				}
			}
		}
	}
}

// TestStoreOfMachO asks a store for the file in a dSYM.
func TestStoreOfMachO(t *testing.T) {
	const id = "4c4c447d55553144a10b863c84e8f2c6"
	fat, err := os.ReadFile("../../testdata/apple/syms/demo.dSYM/Contents/Resources/DWARF/demo")
	if err != nil {
		t.Fatal(err)
	}
	archs := macho.Slices(bytes.NewReader(fat), int64(len(fat)))
	want, _ := symsrc.ParseBuildID(id)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/_.dwarf/mach-uuid-sym-"+id+"/_.dwarf" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Write(fat[archs[0].Offset : archs[0].Offset+archs[0].Size])
	})
	w := newWorld(t, Options{Stores: []string{s.URL}, Off: true, Retries: -1})
	if r := w.Fetch(context.Background(), want, Debuginfo); r.Outcome != Found || !r.Debug {
		t.Errorf("%+v", r)
	}
}

// TestStoreLacks holds that other programs, which share the cache, do not learn that a store lacks a file, and that a store is asked for one
// that debuginfod servers lack.
func TestStoreLacks(t *testing.T) {
	s := serve(t, status(http.StatusNotFound))
	w := newWorld(t, Options{Stores: []string{s.URL}, Retries: -1})
	if r := w.Fetch(context.Background(), testID, Debuginfo); r.Outcome != Missing || s.asked.Load() != int64(1+len(layouts)) {
		t.Errorf("%+v after %d requests", r, s.asked.Load())
	}
	if _, err := os.Stat(filepath.Join(w.cache, testID.String(), "debuginfo")); err == nil {
		t.Error("the cache says that no server has it")
	}
	write(t, filepath.Join(w.cache, testID.String(), "debuginfo"), nil, 0o644)
	tree := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.build-id/01/23456789abcdef.debug" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Write(debugELF(testID))
	})
	w = newWorld(t, Options{Stores: []string{tree.URL}, CacheDir: w.cache})
	if r := w.Fetch(context.Background(), testID, Debuginfo); r.Outcome != Found {
		t.Errorf("%+v", r)
	}
}

func TestStoresIn(t *testing.T) {
	for path, want := range map[string][]string{
		"": nil,
		`C:\Symbols;srv*C:\Cache*https://msdl.microsoft.com/download/symbols`: {"https://msdl.microsoft.com/download/symbols"},
		"SRV*https://a/x*https://b/y;cache*/c":                                {"https://a/x", "https://b/y"},
	} {
		if got := StoresIn(path); !slices.Equal(got, want) {
			t.Errorf("%q: %q", path, got)
		}
	}
}

// TestBuckets maps buckets to where anyone may read them.
func TestBuckets(t *testing.T) {
	for _, c := range []struct{ text, endpoint, region, want string }{
		{"s3://symbols/a/b", "", "", "https://symbols.s3.amazonaws.com/a/b"},
		{"s3://symbols", "", "eu-west-1", "https://symbols.s3.eu-west-1.amazonaws.com/"},
		{"s3://sym.example.org/a", "", "eu-west-1", "https://s3.eu-west-1.amazonaws.com/sym.example.org/a"},
		{"s3://symbols/a", "http://127.0.0.1:9000/", "x", "http://127.0.0.1:9000/symbols/a"},
		{"gs://symbols/a/b", "", "", "https://storage.googleapis.com/symbols/a/b"},
		{"https://a.org/x", "http://b.org", "y", "https://a.org/x"},
		{"s3:///x", "", "", "s3:///x"}, // which is refused
	} {
		if got := bucketURL(c.text, c.endpoint, c.region); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	if _, err := New(Options{Stores: []string{"s3:///x"}, Off: true}); err == nil {
		t.Error("a URL without a bucket is taken")
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/symbols/p/.build-id/01/23456789abcdef.debug" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Write(debugELF(testID))
	})
	environ := func(name string) string { return map[string]string{"AWS_ENDPOINT_URL_S3": s.URL}[name] }
	if r := newWorld(t, Options{Stores: []string{"s3://symbols/p"}, Off: true, Environ: environ}).Fetch(context.Background(), testID, Debuginfo); r.Outcome != Found {
		t.Errorf("%+v", r)
	}
}

// TestStoresOfSymbolFiles asks stores of each layout for the symbol file of a module, by its name, and takes none of another build.
func TestStoresOfSymbolFiles(t *testing.T) {
	const elf, dSYM = "0123456789abcdef0123456789abcdef01234567", "4c4c447d55553144a10b863c84e8f2c6"
	sym := func(debugID string) []byte {
		return []byte("MODULE Linux x86_64 " + debugID + " libfoo.so\nFUNC 1000 10 0 main\n")
	}
	const ofELF, ofMachO = "67452301AB89EFCD0123456789ABCDEF0", "4C4C447D55553144A10B863C84E8F2C60"
	for _, c := range []struct {
		name, module, id, path string
		body                   []byte
		found                  bool
	}{
		{"Breakpad", "/lib/libfoo.so", elf, "/libfoo.so/" + ofELF + "/libfoo.so.sym", sym(ofELF), true},
		{"packed", `C:\x\libfoo.so`, elf, "/libfoo.so/" + ofELF + "/libfoo.so.sym.gz", zipped(sym(ofELF)), true},
		{"two tiers", "libfoo.so", elf, "/li/libfoo.so/" + ofELF + "/libfoo.so.sym", sym(ofELF), true},
		{"unified", "libfoo.so", elf, "/01/23456789abcdef0123456789abcdef01234567/breakpad", sym(ofELF), true},
		{"Mach-O", "/x/A b", dSYM, "/A b/" + ofMachO + "/A b.sym", []byte("MODULE mac arm64 " + ofMachO + " A b\n"), true},
		{"another build", "libfoo.so", elf, "/libfoo.so/" + ofELF + "/libfoo.so.sym", sym("77452301AB89EFCD0123456789ABCDEF0"), false},
		{"another kind", "libfoo.so", elf, "/libfoo.so/" + ofELF + "/libfoo.so.sym", debugELF(testID), false},
		{"no name", "..", elf, "/../" + ofELF + "/...sym", sym(ofELF), false},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != c.path {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Write(c.body)
		})
		w := newWorld(t, Options{Stores: []string{s.URL}, URLs: []string{"http://127.0.0.1:1"}, Retries: -1})
		id, _ := symsrc.ParseBuildID([]byte(c.id))
		m := symsrc.Module{Name: c.module, BuildID: id}
		for range 2 {
			f := Wrap(nowhere{}, w.Client).Find(context.Background(), m)
			if (len(f.Symbols) == 1) != c.found || f.Usable() {
				t.Errorf("%s: %+v", c.name, f)
			}
			if c.found {
				if text, err := os.ReadFile(f.Symbols[0]); err != nil || !bytes.HasPrefix(text, []byte("MODULE ")) {
					t.Errorf("%s: %q, %v", c.name, text, err)
				}
			}
		}
		if !c.found {
			continue
		}
		before := s.asked.Load()
		again := newWorld(t, Options{Stores: []string{s.URL}, CacheDir: w.cache, Retries: -1})
		if f := Wrap(nowhere{}, again.Client).Find(context.Background(), m); len(f.Symbols) != 1 {
			t.Errorf("%s, from the cache: %+v", c.name, f)
		}
		if got := s.asked.Load() - before; got > 5 { // for debug information
			t.Errorf("%s: %d requests", c.name, got)
		}
	}
}

// TestStoresOfPrograms asks servers and stores for a program by its build ID.
func TestStoresOfPrograms(t *testing.T) {
	for name, path := range map[string]string{
		"debuginfod": "/buildid/0123456789abcdef/executable", "a tree": "/.build-id/01/23456789abcdef", "unified": "/01/23456789abcdef/executable",
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Write(makeELF(testID, ".text", 50))
		})
		w := newWorld(t, Options{Stores: []string{s.URL}, Off: true, Retries: -1})
		if r := w.Fetch(context.Background(), testID, Executable); r.Outcome != Found || r.Debug || filepath.Base(r.Path) != "executable" {
			t.Errorf("%s: %+v", name, r)
		}
		if paths := w.servers[0].paths(key{testID, Executable}); len(paths) != 1 || paths[0] != path {
			t.Errorf("%s: the layout is forgotten: %q", name, paths)
		}
	}
}

// TestMaxCache keeps the downloads that were used last, and files of others.
func TestMaxCache(t *testing.T) {
	size := int64(len(debugELF(testID)))
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		id, _ := symsrc.ParseBuildID(strings.Split(r.URL.Path, "/")[2])
		w.Write(debugELF(id))
	})
	w := newWorld(t, Options{URLs: []string{s.URL}, MaxCache: 2*size + 100})
	var paths []string
	for i := range 3 {
		r := w.Fetch(context.Background(), symsrc.BuildID([]byte{1, 2, byte(i)}), Debuginfo)
		if r.Outcome != Found {
			t.Fatalf("%+v", r)
		}
		paths = append(paths, r.Path)
		if i == 0 {
			write(t, filepath.Join(filepath.Dir(r.Path), "other"), make([]byte, 100_000), 0o600)
		}
		when := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(r.Path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	w.Close() // it waits for the cleaning
	if exists(paths[0]) || !exists(paths[1]) || !exists(paths[2]) || !exists(filepath.Join(filepath.Dir(paths[0]), "other")) {
		t.Errorf("%v %v %v", exists(paths[0]), exists(paths[1]), exists(paths[2]))
	}
}
