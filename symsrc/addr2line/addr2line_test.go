package addr2line

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

const rootfs = "../../testdata/rootfs"

// source makes a source over the sample root file system, or skips the test where the program is missing.
func source(t *testing.T, o Options) (*Source, symsrc.Source) {
	t.Helper()
	finder, err := locate.New(locate.Options{Rootfs: []string{rootfs}})
	if err != nil {
		t.Fatal(err)
	}
	native := object.NewSource(finder)
	o.Rootfs = []string{rootfs}
	o.Warn = func(message string) { t.Log(message) }
	s, err := NewSource(finder, native, o)
	if err != nil {
		t.Skipf("no such program here: %v", err)
	}
	t.Cleanup(s.Close)
	return s, native
}

var modes = []struct {
	name string
	opt  Options
}{{"gnu", Options{GNU: true}}, {"llvm", Options{LLVM: true}}, {"llvm-symbolizer", Options{LLVM: true, Path: "llvm-symbolizer-22"}}}

// TestAgree asks for every instruction of the samples' functions, which all three answer alike but for known causes.
func TestAgree(t *testing.T) {
	modules := []string{"/usr/lib/liba.so", "/usr/lib/libdemo-1.2.3.so", "/usr/lib/libk.so", "/usr/lib/libplugin.so",
		"/usr/apps/org.example.test/mainbin"}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			s, native := source(t, mode.opt)
			asked, same := 0, 0
			for _, name := range modules {
				id := idOf(t, filepath.Join(rootfs, name))
				for _, addr := range functions(t, filepath.Join(rootfs, name)) {
					q := symsrc.Addr{Module: symsrc.Module{Name: name, BuildID: id}, Offset: addr}
					got, want := s.Frames(context.Background(), q), native.Frames(context.Background(), q)
					asked++
					if text(got.Frames) == text(want.Frames) {
						same++
					} else if !sameBut(got.Frames, want.Frames, mode.opt.GNU) {
						t.Errorf("%s+%#x: %s, own reader %s", name, addr, text(got.Frames), text(want.Frames))
					}
				}
			}
			t.Logf("%d of %d alike", same, asked)
			if asked < 10 {
				t.Errorf("only %d addresses were asked for", asked)
			}
		})
	}
}

// sameBut reports whether two chains differ for a known cause only. Where code has line 0, package object returns the line of the row
// before it, as approximate. GNU's program may take the file of a row from another entry of the table, and the line of a row
// from another one where several are of one address.
func sameBut(got, want []symsrc.Frame, gnu bool) bool {
	return slices.EqualFunc(got, want, func(g, w symsrc.Frame) bool {
		return g.Func == w.Func && (gnu || g.File == w.File && (g.Line == w.Line || g.Line == 0 && w.Approx))
	})
}

func text(frames []symsrc.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		b.WriteString(f.Func + " " + f.File + ":" + strconv.Itoa(f.Line) + "; ")
	}
	return b.String()
}

// functions returns some addresses in each function of the dynamic symbol table, and in .text.
func functions(t *testing.T, path string) (addrs []uint64) {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, _ := f.DynamicSymbols()
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value > 0 {
			for at := s.Value; at < s.Value+s.Size; at += 3 {
				addrs = append(addrs, at)
			}
		}
	}
	return addrs
}

func idOf(t *testing.T, path string) symsrc.BuildID {
	id := readHead(path).ID
	if id == "" {
		t.Fatalf("%s: no build ID", path)
	}
	return id
}

// TestStream asks for more addresses at once than any pipe holds.
func TestStream(t *testing.T) {
	const n = 100_000
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			s, _ := source(t, mode.opt)
			path := filepath.Join(rootfs, "usr/lib/liba.so")
			addrs := make([]uint64, n)
			for i := range addrs {
				addrs[i] = 0x1000 + uint64(i%0x1000)
			}
			got := s.Lookup(context.Background(), path, addrs)
			if frames := got[n-1-(n-1-0x10d)%0x1000]; len(frames) != 1 || frames[0].Func != "a_fn" || frames[0].Line != 1 {
				t.Errorf("a_fn is %v", frames)
			}
			for i := 0x1000; i < n; i++ {
				if text(got[i]) != text(got[i-0x1000]) {
					t.Fatalf("answer %d is %v, before %v", i, got[i], got[i-0x1000])
				}
			}
		})
	}
}

// TestRebuilt puts another build in the place of a file that a program has open.
func TestRebuilt(t *testing.T) {
	files := []string{"liba.so", "libk.so", "liba.so"}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			_, _ = source(t, mode.opt) // skips without the program
			dir := t.TempDir()
			finder, err := locate.New(locate.Options{Rootfs: []string{dir}})
			if err != nil {
				t.Fatal(err)
			}
			s, err := NewSource(finder, object.NewSource(finder), mode.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var seen []string
			for _, name := range files {
				b, err := os.ReadFile(filepath.Join(rootfs, "usr/lib", name))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "new"), b, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "lib.so")); err != nil {
					t.Fatal(err)
				}
				addr := functions(t, filepath.Join(dir, "lib.so"))[0]
				a := s.Frames(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: "/lib.so"}, Offset: addr})
				fresh, _ := source(t, mode.opt)
				want := fresh.Frames(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: "/usr/lib/" + name}, Offset: addr})
				if len(a.Frames) == 0 || a.Frames[0].Func != want.Frames[0].Func { // lines are in another file
					t.Fatalf("%s: %s, want %s", name, text(a.Frames), text(want.Frames))
				}
				seen = append(seen, a.Frames[0].Func)
			}
			if seen[0] == seen[1] || seen[0] != seen[2] {
				t.Errorf("%q", seen)
			}
		})
	}
}

// TestDeath kills the program between two queries, and has one that dies of an address.
func TestDeath(t *testing.T) {
	s, _ := source(t, Options{GNU: true})
	path := filepath.Join(rootfs, "usr/lib/liba.so")
	for range 5 {
		if got := s.Lookup(context.Background(), path, []uint64{0x110d}); len(got[0]) != 1 || got[0][0].Func != "a_fn" {
			t.Fatalf("a_fn is %v", got)
		}
		if err := s.children[path].cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	real, err := exec.LookPath("addr2line")
	if err != nil {
		t.Skipf("no such program here: %v", err)
	}
	script := filepath.Join(t.TempDir(), "dying-addr2line")
	body := "#!/bin/sh\nwhile read a; do case $a in 0x666) exit 1;; esac; echo $a; done | " + real + " \"$@\"\n"
	if err := os.WriteFile(script, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	s, _ = source(t, Options{GNU: true, Path: script})
	got := s.Lookup(context.Background(), path, []uint64{0x110d, 0x666, 0x110d})
	if text(got[0]) != "a_fn /usr/src/a/a.c:1; " || got[1] != nil || text(got[2]) != text(got[0]) {
		t.Errorf("around a deadly address: %v", got)
	}
}

// TestIdentity holds that a program that was updated is another one, even if it has the size and the time of the one before, as on
// systems where all programs have one time: the cache must not return what its predecessor said.
func TestIdentity(t *testing.T) {
	script := filepath.Join(t.TempDir(), "addr2line")
	seen := map[string]bool{}
	for _, body := range []string{"#!/bin/sh\n# 1\n", "#!/bin/sh\n# 2\n"} {
		if err := os.WriteFile(script+".new", []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(script+".new", time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(script+".new", script); err != nil {
			t.Fatal(err)
		}
		for _, gnu := range []bool{false, true} {
			s, _ := source(t, Options{GNU: gnu, LLVM: !gnu, Path: script})
			again, _ := source(t, Options{GNU: gnu, LLVM: !gnu, Path: script})
			if s.Identity() != again.Identity() {
				t.Errorf("one program is %q and %q", s.Identity(), again.Identity())
			}
			seen[s.Identity()] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("four engines are %v", seen)
	}
}

// TestHopeless has programs that never answer.
func TestHopeless(t *testing.T) {
	for name, body := range map[string]string{"silent": "exit 3", "talks": "yes", "echoes": "cat", "missing address": "while read a; do echo '??'; echo '??:0'; done"} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "addr2line")
			if err := os.WriteFile(script, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			s, _ := source(t, Options{GNU: true, Path: script})
			for range 5 {
				if got := s.Lookup(context.Background(), "x", []uint64{1, 2}); named(got[0]) || named(got[1]) {
					t.Errorf("got %v", got)
				}
			}
		})
	}
}

func TestParseFrame(t *testing.T) {
	for _, test := range []struct {
		function, place string
		want            symsrc.Frame
	}{
		{"??", "??:0", symsrc.Frame{}},
		{"main", "/src/a b.c:12", symsrc.Frame{Func: "main", Linkage: "main", File: "/src/a b.c", Line: 12}},
		{"main", "??:?", symsrc.Frame{Func: "main", Linkage: "main"}},
		{"_ZN1a1bEv", "C:/x.cc:3 (discriminator 7)", symsrc.Frame{Func: "a::b()", Linkage: "_ZN1a1bEv", File: "C:/x.cc", Line: 3}},
		{"??", "/src/a.c:?", symsrc.Frame{File: "/src/a.c"}},
		{"read@@GLIBC_2.2.5", "??:?", symsrc.Frame{Func: "read", Linkage: "read@@GLIBC_2.2.5"}},
	} {
		if got := parseFrame(test.function, test.place); got != test.want {
			t.Errorf("%s %s: %+v, want %+v", test.function, test.place, got, test.want)
		}
	}
}

func TestOptions(t *testing.T) {
	if _, err := NewSource(nil, nil, Options{GNU: true, LLVM: true}); err == nil {
		t.Error("both programs are taken")
	}
	if _, err := NewSource(nil, nil, Options{GNU: true, Cross: "no-such-machine-"}); err == nil {
		t.Error("a missing program is taken")
	}
}

func TestCross(t *testing.T) {
	o := Options{GNU: true, Cross: "arm-linux-gnueabihf-"}
	path, err := o.find()
	if err != nil {
		t.Skipf("no such program here: %v", err)
	}
	if filepath.Base(path) != "arm-linux-gnueabihf-addr2line" {
		t.Errorf("got %s", path)
	}
}

// TestGNUOrder has a debug file at every place of QSS's order, and takes away the first one after the other.
func TestGNUOrder(t *testing.T) {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skipf("no compiler here: %v", err)
	}
	root := t.TempDir()
	bin, debug := filepath.Join(root, "usr/bin/prog"), filepath.Join(root, "prog.full")
	if err := os.MkdirAll(filepath.Dir(bin), 0o755); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(root, "p.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{compiler, "-g", "-Wl,--build-id", "-o", debug, source}, {"strip", "-g", "-o", bin, debug},
		{"objcopy", "--add-gnu-debuglink=" + debug, bin}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%v: %v %s", args, err, out)
		}
	}
	id := idOf(t, bin)
	digits := id.String()
	data, err := os.ReadFile(debug)
	if err != nil {
		t.Fatal(err)
	}
	order := []string{"usr/bin/prog.full", "usr/bin/.debug/prog.full", "usr/lib/debug/.build-id/" + digits[:2] + "/" + digits[2:] + ".debug",
		"usr/lib/debug/.build-id/" + digits[:2] + "/" + digits[2:], "usr/lib/debug/usr/bin/prog.debug"}
	for _, rel := range order {
		path := filepath.Join(root, rel)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &Source{opt: Options{GNU: true, Rootfs: []string{root}}}
	m, f := symsrc.Module{Name: "/usr/bin/prog", BuildID: id}, &symsrc.Files{Elf: bin}
	for _, rel := range order {
		if got := s.gnuDebug(m, f); got != filepath.Join(root, rel) {
			t.Errorf("got %s, want %s", got, rel)
		}
		if err := os.Remove(filepath.Join(root, rel)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.choose(m, f); !slices.Equal(got, []string{bin}) {
		t.Errorf("without a debug file: %v", got)
	}
}

// expected are queries about addresses of a file, as they are going to be asked.
func expected(m symsrc.Module, addrs []uint64) (qs []symsrc.Expected) {
	for _, addr := range addrs {
		qs = append(qs, symsrc.Expected{Addr: symsrc.Addr{Module: m, Offset: addr}})
	}
	return qs
}

// TestPrefetch holds that queries told of ahead are answered as those that are not, and by one batch for each file.
func TestPrefetch(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			ahead, _ := source(t, mode.opt)
			alone, _ := source(t, mode.opt)
			var qs []symsrc.Expected
			for _, name := range []string{"/usr/lib/liba.so", "/usr/lib/libdemo-1.2.3.so", "/usr/lib/libk.so", "/usr/lib/libplugin.so"} {
				path := filepath.Join(rootfs, name)
				qs = append(qs, expected(symsrc.Module{Name: name, BuildID: idOf(t, path)}, functions(t, path))...)
			}
			ahead.Prefetch(t.Context(), qs)
			for i := range qs {
				got, want := ahead.Frames(t.Context(), qs[i].Addr), alone.Frames(t.Context(), qs[i].Addr)
				if text(got.Frames) != text(want.Frames) {
					t.Errorf("%s+%#x: %s, alone %s", qs[i].Module.Name, qs[i].Offset, text(got.Frames), text(want.Frames))
				}
			}
			if len(ahead.ahead.m) > 0 || ahead.ahead.bytes != 0 {
				t.Errorf("%d answers of %d bytes are kept that were taken", len(ahead.ahead.m), ahead.ahead.bytes)
			}
			written := func(s *Source) (n int) {
				for _, c := range s.children {
					n += c.batches
				}
				return n
			}
			if n, files := written(ahead), len(ahead.children); n > files || written(alone) < len(qs) {
				t.Errorf("%d batches for %d files, %d alone for %d queries", n, files, written(alone), len(qs))
			}
		})
	}
}

// TestPrefetchAdjusted has an address that is one of the call before it, which the probe tells.
func TestPrefetchAdjusted(t *testing.T) {
	s, native := source(t, Options{GNU: true})
	path := filepath.Join(rootfs, "usr/lib/liba.so")
	q := symsrc.Addr{Module: symsrc.Module{Name: "/usr/lib/liba.so", BuildID: idOf(t, path)}, Offset: 0x110d}
	probed := 0
	e := symsrc.Expected{Addr: q, Back: func(p symsrc.Probe) uint64 {
		if p == native.(symsrc.Prober).Probe(t.Context(), q) {
			probed++
		}
		return 1
	}}
	s.Prefetch(t.Context(), []symsrc.Expected{e, e})
	q.Offset--
	if _, ok := s.ahead.take(t.Context(), place{s.target(t.Context(), q.Module), q.Offset}); !ok || probed != 2 {
		t.Errorf("the answer is not there; %d probes", probed)
	}
}

// TestPrefetchDeath has programs that die midway, answer nonsense, or nothing: what was asked ahead is asked once more by itself,
// and what no program answers has no frames.
func TestPrefetchDeath(t *testing.T) {
	real, err := exec.LookPath("addr2line")
	if err != nil {
		t.Skipf("no such program here: %v", err)
	}
	for name, body := range map[string]string{
		"one address":          "while read a; do case $a in 0x110f) exit 1;; esac; echo $a; done | " + real + ` "$@"`,
		"midway":               "for n in 1 2 3; do read a || exit 0; echo $a; done | " + real + ` "$@"`,
		"nonsense":             "yes",
		"silent":               "exec sleep 1000",
		"silent, with a child": "sleep 100; exit",
		"not there":            "exit 127",
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "addr2line")
			if err := os.WriteFile(script, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			s, _ := source(t, Options{GNU: true, Path: script})
			if strings.HasPrefix(name, "silent") {
				s.patience = 1
			}
			path := filepath.Join(rootfs, "usr/lib/liba.so")
			m := symsrc.Module{Name: "/usr/lib/liba.so", BuildID: idOf(t, path)}
			qs := expected(m, []uint64{0x110d, 0x110e, 0x110f, 0x1110, 0x1111})
			s.Prefetch(t.Context(), qs)
			for i := range qs {
				got := text(s.Frames(t.Context(), qs[i].Addr).Frames)
				if got != "" && !strings.HasPrefix(got, "a_") {
					t.Errorf("%#x: %q", qs[i].Offset, got)
				}
				if good := name == "one address" && i != 2 || name == "midway"; good == (got == "") {
					t.Errorf("%#x: %q", qs[i].Offset, got)
				}
			}
		})
	}
}

// TestPrefetchGivenUp holds that what is not answered since the run was given up does not hold its asker up.
func TestPrefetchGivenUp(t *testing.T) {
	s, _ := source(t, Options{GNU: true})
	path := filepath.Join(rootfs, "usr/lib/liba.so")
	m := symsrc.Module{Name: "/usr/lib/liba.so", BuildID: idOf(t, path)}
	qs := expected(m, []uint64{0x110d, 0x110e})
	gone, give := context.WithCancel(t.Context())
	s.target(gone, m)
	give()
	s.Prefetch(gone, qs)
	for i := range qs {
		if got := text(s.Frames(t.Context(), qs[i].Addr).Frames); !strings.HasPrefix(got, "a_") {
			t.Errorf("%#x: %q", qs[i].Offset, got)
		}
	}
}
