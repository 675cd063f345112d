package locate

import (
	"os"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"qss-filter/symsrc"
)

// slowly makes l's trees take until the test ends the reading of them, and what they had the last time until it says so.
func slowly(l *Locator, before *index) (known, done func()) {
	run := &indexRun{known: make(chan struct{}), unpacked: make(chan struct{}), done: make(chan struct{}), began: time.Now()}
	l.symbols.last = run
	return func() {
			run.before = before
			close(run.known)
		}, func() {
			run.index = l.symbols.trees.index()
			run.ended = time.Now()
			close(run.done)
		}
}

// TestSlowTree waits shortly for a tree that takes long, once for all modules, and finds its files when it was read.
func TestSlowTree(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": full, "s/y": other})
	synctest.Test(t, func(t *testing.T) {
		var told []string
		l := locator(t, Options{Symbols: []string{dir + "/s"}, Wait: 250 * time.Millisecond, After: 10 * time.Second, OnProblem: func(m string) { told = append(told, m) }})
		known, done := slowly(l, newIndex())
		began := time.Now()
		first := find(t, l, "x", idA)
		if took := time.Since(began); took != l.opt.Wait || first.Usable() || first.Retry == nil || first.Retry() || first.Came() {
			t.Errorf("after %v: %+v", took, first)
		}
		if len(told) != 1 {
			t.Errorf("told %q", told)
		}
		began = time.Now()
		other := find(t, l, "y", idB)
		for range 100 {
			find(t, l, "x", idA)
			find(t, l, "y", idB)
		}
		if took := time.Since(began); took != leastWait || other.Usable() {
			t.Errorf("the others wait %v", took)
		}
		known()
		synctest.Wait()
		go func() {
			time.Sleep(time.Second)
			done()
		}()
		began = time.Now()
		l.Await()
		if took := time.Since(began); took != time.Second {
			t.Errorf("the end waits %v", took)
		}
		if !first.Retry() || !first.Came() || !other.Came() {
			t.Error("the tree was read, and the modules are not looked for again")
		}
		if f := find(t, l, "x", idA); f.Elf != dir+"/s/x" || f.Retry != nil {
			t.Errorf("%+v", f)
		}
		began = time.Now()
		if l.Await(); time.Since(began) != 0 {
			t.Error("the end waits for what is there")
		}
		l.Close()
	})
}

// TestCameLate says once that a tree was read, and how many frames came before, while the log goes on.
func TestCameLate(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": full, "s/y": other})
	synctest.Test(t, func(t *testing.T) {
		var told []string
		l := locator(t, Options{Symbols: []string{dir + "/s"}, Wait: 250 * time.Millisecond, OnProblem: func(m string) { told = append(told, m) }})
		known, done := slowly(l, newIndex())
		for _, id := range []string{idA, idB, "77"} {
			find(t, l, "x", id).Awaiting.Add(2)
		}
		known()
		synctest.Wait()
		done()
		synctest.Wait()
		if want := "symbols for " + dir + "/s came: run again for the 4 frames above"; len(told) != 2 || told[1] != want {
			t.Errorf("told %q", told)
		}
		l.Close()
	})
}

// TestPastTree finds at once what a tree had the last time, if it is still the build. A file that is another one now, a new one and one of
// another name wait until the tree is read.
func TestPastTree(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": full, "s/y": other})
	c := dir + "/c"
	past, _ := indexOf(t, dir+"/s", c)
	if was := loadTree(c, dir+"/s").files(); len(was) != 2 || was[0].path != dir+"/s/x" || was[1].path != dir+"/s/y" {
		t.Fatalf("%+v", was)
	}
	write(t, dir+"/s/y", stripped.bytes()) // idA
	for _, live := range []time.Duration{0, 250 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			l := locator(t, Options{Symbols: []string{dir + "/s"}, Wait: live})
			known, done := slowly(l, past)
			known()
			began := time.Now()
			if f := find(t, l, "x", idA); f.Elf != dir+"/s/x" || f.DebugStatus != symsrc.OK || time.Since(began) != 0 {
				t.Errorf("%v: %+v, after %v", live, f, time.Since(began))
			}
			if live > 0 {
				for range 2 {
					if f := find(t, l, "y", idB); f.Usable() || f.Retry == nil {
						t.Errorf("a file that is another one now: %+v", f)
					}
					if f := l.Find(t.Context(), symsrc.Module{Name: "x"}); f.Usable() || f.Retry == nil {
						t.Errorf("by name: %+v", f)
					}
				}
			}
			done()
			synctest.Wait()
			if f := l.Find(t.Context(), symsrc.Module{Name: "x"}); f.Elf != dir+"/s/x" {
				t.Errorf("%+v", f)
			}
			l.Close()
		})
	}
}

// TestPartOfPast takes a stripped file for as long as the tree is read, which may have more.
func TestPartOfPast(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": stripped})
	past, _ := indexOf(t, dir+"/s", dir+"/c")
	write(t, dir+"/s/x.debug", debugOf.bytes())
	synctest.Test(t, func(t *testing.T) {
		l := locator(t, Options{Symbols: []string{dir + "/s"}, Wait: 250 * time.Millisecond})
		known, done := slowly(l, past)
		known()
		f := find(t, l, "x", idA)
		if f.Elf != dir+"/s/x" || f.DebugStatus != symsrc.Incomplete || f.Retry == nil || f.Retry() {
			t.Errorf("%+v", f)
		}
		done()
		synctest.Wait()
		if !f.Retry() {
			t.Error("the tree was read, and the module is not looked for again")
		}
		if f := find(t, l, "x", idA); f.Debug != dir+"/s/x.debug" || f.Retry != nil {
			t.Errorf("%+v", f)
		}
		l.Close()
	})
}

// TestEndedTree keeps what was read of a tree until the end of a run, and what was known of the rest.
func TestEndedTree(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": full, "s/y": other})
	fat, _ := machOFiles(t)
	put(t, dir, "s/fat", fat)
	c := dir + "/c"
	indexOf(t, dir+"/s", c)
	was := loadTree(c, dir+"/s")
	if len(was) != 3 {
		t.Fatalf("%d files are kept", len(was))
	}
	write(t, dir+"/s/z", full.bytes())
	w := newTreeWalk(dir+"/s", false, was)
	w.keeps, w.unsettled, w.ended = true, time.Now().Add(time.Hour).UnixNano(), new(atomic.Bool)
	w.file(dir+"/s/z", false)
	w.ended.Store(true)
	if w.run(1); w.same() || len(w.contents()) != 4 {
		t.Errorf("%d files", len(w.contents()))
	}
	x := trees{dirs: []string{dir + "/s"}, cacheDir: c, ended: w.ended, problem: func(m string) { t.Error(m) }}
	if x.index() != nil || !reflect.DeepEqual(loadTree(c, dir+"/s"), was) {
		t.Error("what was known is not kept")
	}
}

// TestMovedFile keeps where a file is that was renamed, and does not read it again.
func TestMovedFile(t *testing.T) {
	dir := tree(t, map[string]testELF{"s/x": full})
	c := dir + "/c"
	indexOf(t, dir+"/s", c)
	if err := os.Link(dir+"/s/x", dir+"/s/y"); err != nil {
		t.Skip(err)
	}
	indexOf(t, dir+"/s", c)
	if err := os.Remove(dir + "/s/x"); err != nil {
		t.Fatal(err)
	}
	indexOf(t, dir+"/s", c)
	if was := loadTree(c, dir+"/s").files(); len(was) != 1 || was[0].path != dir+"/s/y" {
		t.Errorf("%+v", was)
	}
}
