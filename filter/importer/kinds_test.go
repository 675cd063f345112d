package importer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKinds checks what commonFuncId.json and the kinds of nodes say of names: which of several files' functions of an ID is
// meant, that one of another kind is not, and what is shown where none is known.
func TestKinds(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("symbol.json", `{"0":{"fileName":"/bin/app","funcNames":{"4":"pthread_join","5":"work","6":"same"}},
		"1":{"fileName":"/lib/b.so","funcNames":{"4":"memcpy","5":"sem_wait","6":"same"}},
		"2":{"fileName":"/lib/c.so","funcNames":{"4":"strlen"}},"3":{"fileName":"/lib/d.so","funcNames":null}}`)
	root := &call{kind: normalNode, file: -1, fn: -1, start: -1, end: -1}
	one := func(kind byte, file, fn int64) {
		c := &call{kind: kind, file: file, fn: fn, start: int64(len(root.inner)), end: 99}
		c.extra = map[byte][]int64{pthreadNode: {0x10, 0}, semaphoreNode: {0x20}}[kind]
		root.inner = append([]*call{c}, root.inner...)
	}
	one(pthreadNode, 3, 4)
	one(pthreadNode, 1, 4)
	one(normalNode, 3, 5)
	one(semaphoreNode, 3, 5)
	one(normalNode, 3, 6)
	one(normalNode, 3, 4)
	one(pthreadNode, 3, 9)
	one(semaphoreNode, 3, 9)
	one(normalNode, 1, 4)
	writeTrace(t, dir, "thread_0x1.bin", root)
	check := func(want ...string) {
		t.Helper()
		text, err := lines(t, dir, Options{})
		if err != nil {
			t.Error(err)
		}
		for i, line := range strings.Split(text, "\n")[1:] {
			if i < len(want) && !strings.HasPrefix(line, "  "+want[i]+" start=") {
				t.Errorf("call %d is %q, want %q", i, line, want[i])
			}
		}
	}
	without := []string{"pthread file#3 func#4 (/lib/d.so)", "{{{symbol:memcpy}}} (/lib/b.so)", "file#3 func#5 (/lib/d.so)",
		"semaphore file#3 func#5 (/lib/d.so)", "{{{symbol:same}}} (/lib/d.so)", "file#3 func#4 (/lib/d.so)",
		"pthread file#3 func#9 (/lib/d.so)", "semaphore file#3 func#9 (/lib/d.so)", "{{{symbol:memcpy}}} (/lib/b.so)"}
	check(without...)
	write("commonFuncId.json", `{"0":{"pthread":[4],"semaphore":null},"1":{"pthread":null,"semaphore":[5],"more":{"a":[1]}},"2":{"pthread":null,"semaphore":null}}`)
	check("{{{symbol:pthread_join}}} (/lib/d.so)", "{{{symbol:pthread_join}}} (/lib/b.so)", "{{{symbol:work}}} (/lib/d.so)",
		"{{{symbol:sem_wait}}} (/lib/d.so)", "{{{symbol:same}}} (/lib/d.so)", "file#3 func#4 (/lib/d.so)",
		"pthread file#3 func#9 (/lib/d.so)", "semaphore file#3 func#9 (/lib/d.so)", "{{{symbol:memcpy}}} (/lib/b.so)")
	if text, err := lines(t, dir, Options{}); err != nil || !strings.Contains(text, "semaphore file#3 func#9 (/lib/d.so) start=7 dur=92us semaphore=0x20\n") ||
		strings.Contains(text, "pthread file#3 func#9 (/lib/d.so) start=6 dur=93us ") {
		t.Errorf("%v: of a semaphore function without a name the object is known, of one of pthreads not:\n%s", err, text)
	}
	if table, err := lines(t, dir, Options{By: ByFunction}); err != nil || !strings.Contains(table, "  semaphore file#3 func#9\n") {
		t.Errorf("%v\n%s", err, table)
	}
	write("commonFuncId.json", `{"0":{"pthread":[4,"x"]`)
	text, err := lines(t, dir, Options{})
	if damage, ok := errors.AsType[*DamageError](err); !ok || damage.Offset != 22 || !strings.Contains(damage.File, "commonFuncId.json") || strings.Count(text, "\n") != 11 {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestDamagedNames says where a file of names is damaged, and that those before it count.
func TestDamagedNames(t *testing.T) {
	for text, want := range map[string]struct {
		offset int64
		names  int
	}{
		`{"0":{"fileName":"a","funcNames":{"1":"f"}}}`:     {-1, 1},
		`{"0":{"fileName":"a","funcNames":{"1":"f","2":"g`: {46, 1},
		`{"0":{"funcNames":{"1":"f","2":7}}}`:              {32, 1},
		`{"0":{"funcNames":[1]}}`:                          {19, 0},
		`[]`:                                               {1, 0},
		``:                                                 {0, 0},
		`{"0":{"funcNames":{"1":"f"}}} {}`:                 {31, 1},
		`{"0":{"x":[[{"y":[]}]],"funcNames":{"1":{"n":[1],"name":"f"}}}}`: {-1, 1},
		strings.Repeat(`{"0":`, 20_000):                                   {11 + 5*maxNesting, 0},
		`{"0":{"x":` + strings.Repeat(`[`, 20_000):                        {10 + maxNesting + 1, 0},
	} {
		path := filepath.Join(t.TempDir(), "symbol.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names, err := readScalerNames(path, &output{})
		damage, ok := errors.AsType[*DamageError](err)
		if ok != (want.offset >= 0) || !ok && err != nil || ok && damage.Offset != want.offset {
			t.Errorf("%.70s: %v", text, err)
		}
		if n := len(names.files[0].functions); n < want.names {
			t.Errorf("%.70s: %d names", text, n)
		}
	}
}
