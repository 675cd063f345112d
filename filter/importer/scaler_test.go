package importer

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// call is a call of a trace that is made up.
type call struct {
	kind       byte
	file, fn   int64
	start, end int64
	extra      []int64
	inner      []*call
}

// writeTrace writes a thread's file as the recorder does: the children of each call in the order of inner.
func writeTrace(t testing.TB, dir, name string, root *call) {
	t.Helper()
	queue := []*call{root}
	var b []byte
	for i := 0; i < len(queue); i++ {
		c := queue[i]
		first := int64(-1)
		if len(c.inner) > 0 {
			first = int64(len(queue))
		}
		queue = append(queue, c.inner...)
		b = append(b, c.kind)
		for _, v := range append([]int64{c.file, c.fn, c.start, c.end, first, int64(len(c.inner))}, c.extra...) {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOrder compares calls in any order of the file with a stable sort, in batches and with blocks that have to be evicted.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		root := &call{kind: normalNode, file: -1, fn: -1, start: -1, end: -1}
		all := []*call{root}
		for range 3000 {
			parent := all[r.IntN(len(all))]
			c := &call{kind: normalNode, fn: int64(len(all)), start: int64(r.IntN(500)), end: 1000}
			parent.inner = append(parent.inner, c)
			all = append(all, c)
		}
		dir := t.TempDir()
		writeTrace(t, dir, "thread_0x1.bin", root)
		f, err := os.Open(filepath.Join(dir, "thread_0x1.bin"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tree, err := scanTree(f, &progress{})
		if err != nil || tree.n != int64(len(all)) {
			t.Fatal(err, tree.n)
		}
		tree.maxBatch = 3
		var want, got []int64
		var visit func(*call)
		visit = func(c *call) {
			want = append(want, c.fn)
			inner := slices.Clone(c.inner)
			slices.Reverse(inner)
			slices.SortStableFunc(inner, func(a, b *call) int { return cmp.Compare(a.start, b.start) })
			for _, k := range inner {
				visit(k)
			}
		}
		visit(root)
		var walk func(index int64)
		walk = func(index int64) {
			n, err := tree.node(index)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, n.function)
			s, err := tree.childrenOf(&n)
			for err == nil {
				if index, err = s.next(); index < 0 {
					break
				}
				walk(index)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		walk(0)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	}
}

// TestObjects checks the meaning of the extra numbers, and that those that have none are not printed.
func TestObjects(t *testing.T) {
	names := &scalerNames{files: map[int64]scalerFile{0: {"libc", map[int64]string{}}}}
	for i, c := range []struct {
		kind byte
		name string
		want string
	}{
		{pthreadNode, "pthread_create", " thread=0x1"},
		{pthreadNode, "pthread_join", " thread=0x1"},
		{pthreadNode, "pthread_tryjoin_np", " thread=0x1"},
		{pthreadNode, "pthread_mutex_lock", " mutex=0x1"},
		{pthreadNode, "pthread_rwlock_rdlock", " rwlock=0x1"},
		{pthreadNode, "pthread_spin_lock", " spinlock=0x1"},
		{pthreadNode, "pthread_barrier_wait", " barrier=0x1"},
		{pthreadNode, "pthread_cond_timedwait", " cond=0x1 mutex=0x2"},
		{pthreadNode, "pthread_cond_signal", " cond=0x1"},
		{pthreadNode, "pthread_cond_broadcast", " cond=0x1"},
		{pthreadNode, "pthread_cond_init", ""},
		{pthreadNode, "pthread_self", ""},
		{semaphoreNode, "sem_wait", " semaphore=0x1"},
		{semaphoreNode, "other", ""},
		{normalNode, "pthread_mutex_lock", ""},
	} {
		names.files[0].functions[int64(i)] = c.name
		if got := names.objects(&node{kind: c.kind, function: int64(i), extra1: 1, extra2: 2}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNames checks what is known of a call: directly, as an ID of its caller's file if only one has that, or not at all.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("symbol.json", `{"0":{"fileName":"/bin/app","funcNames":{"4":"pthread_join","5":"a","10":"_Z1fv"}},"10":{"fileName":"/lib/ld.so","funcNames":null},
		"2":{"fileName":"","funcNames":{"5":"b"}}}`)
	write("symbol_0x2.json", `{"0":{"fileName":"/bin/own","funcNames":{"4":{"funcName":"own","realFileID":"1","funcAddr":"0x1"}}}}`)
	leaf := func(file, fn, start, end int64) *call {
		return &call{kind: normalNode, file: file, fn: fn, start: start, end: end}
	}
	root := leaf(-1, -1, -1, -1)
	root.inner = []*call{leaf(3, 7, 4, 3), leaf(2, 5, 3, 4), leaf(10, 5, 2, 3), leaf(-1, 4, 1, -1), leaf(0, 10, 0, 1)}
	root.inner[3].inner = []*call{leaf(-1, 10, 2, -1)}
	writeTrace(t, dir, "thread_0x1.bin", root)
	writeTrace(t, dir, "thread_0x2.bin", &call{kind: normalNode, file: -1, inner: []*call{leaf(0, 4, 1, 5)}})
	want := `thread 0x1: 7 nodes
  {{{symbol:_Z1fv}}} (/bin/app) start=0 dur=1us
  {{{symbol:pthread_join}}} start=1 never returned
    {{{symbol:_Z1fv}}} start=2 never returned
  file#10 func#5 (/lib/ld.so) start=2 dur=1us
  {{{symbol:b}}} (file#2) start=3 dur=1us
  file#3 func#7 start=4 end=3
thread 0x1 never returned from
  #0 {{{symbol:_Z1fv}}} since=2
  #1 {{{symbol:pthread_join}}} since=1

thread 0x2: 2 nodes
  {{{symbol:own}}} (/bin/own) start=1 dur=4us

`
	if got, err := lines(t, dir, Options{}); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	write("symbol.json", `{"0":{"fileName":7}}`)
	text, err := lines(t, dir, Options{Threads: []uint64{1}})
	if damage, ok := errors.AsType[*DamageError](err); !ok || damage.Offset != 18 || !strings.Contains(text, "  file#0 func#10 start=0 dur=1us\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestDeepTrace checks a recursion that is deeper than any block, and its indentation.
func TestDeepTrace(t *testing.T) {
	root := &call{kind: normalNode, file: -1}
	at := root
	const depth = 50_000
	for i := range int64(depth) {
		next := &call{kind: normalNode, fn: 1, start: i, end: 2*depth - i}
		at.inner = []*call{next}
		at = next
	}
	dir := t.TempDir()
	writeTrace(t, dir, "thread_0x1.bin", root)
	if err := os.WriteFile(filepath.Join(dir, "symbol.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := lines(t, dir, Options{})
	if err != nil || !strings.Contains(text, fmt.Sprintf("\n%s[depth %d] file#0 func#1 start=", strings.Repeat("  ", maxIndent), depth)) {
		t.Errorf("%v, %d lines", err, strings.Count(text, "\n"))
	}
	if sum, err := lines(t, dir, Options{By: ByFunction}); err != nil || !strings.Contains(sum, fmt.Sprintf("%d 100.00%%", depth)) {
		t.Errorf("%v\n%s", err, sum)
	}
}
