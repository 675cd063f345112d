package debuginfod

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"qss-filter/symsrc"
)

// finderFunc is a function as a Finder.
type finderFunc func(m symsrc.Module) *symsrc.Files

func (f finderFunc) Find(_ context.Context, m symsrc.Module) *symsrc.Files { return f(m) }

func TestWrap(t *testing.T) {
	module := symsrc.Module{Name: "/bin/a", BuildID: testID}
	none := symsrc.Files{Elf: "/bin/a", ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "elf not found", Tried: []string{"x"}}
	stripped := symsrc.Files{Elf: "/bin/a", DebugStatus: symsrc.Incomplete, Note: "no .debug_info"}
	program := content(makeELF(testID, ".text", 100))
	for _, c := range []struct {
		name   string
		module symsrc.Module
		local  *symsrc.Files
		answer http.HandlerFunc
		asked  int64
		want   string // Elf and status, Debug and status, Note; @ is the cache's directory of the module
		retry  bool
	}{
		{"complete", module, &symsrc.Files{Elf: "/bin/a"}, good, 0, "/bin/a OK,  OK, ", false},
		{"separate", module, &symsrc.Files{Elf: "/bin/a", ElfStatus: symsrc.NotFound, Debug: "/d"}, good, 0, "/bin/a NOT_FOUND, /d OK, ", false},
		{"no build ID", symsrc.Module{Name: "/bin/a"}, &none, good, 0, "/bin/a NOT_FOUND,  NOT_FOUND, elf not found", false},
		{"no files", module, &none, good, 1, "/bin/a NOT_FOUND, @/debuginfo OK, elf not found", false},
		{"no answer of the finder", module, nil, good, 1, " NOT_FOUND, @/debuginfo OK, elf not found", false},
		{"stripped", module, &stripped, good, 1, "/bin/a OK, @/debuginfo OK, ", false},
		{"nowhere", module, &none, status(404), 1, "/bin/a NOT_FOUND,  NOT_FOUND, elf not found", true},
		{"nowhere, stripped", module, &stripped, status(404), 1, "/bin/a OK,  INCOMPLETE, no .debug_info", true},
		{"the program, not stripped", module, &none, content(makeELF(testID, ".text", 100)), 1, "@/debuginfo OK,  INCOMPLETE, no .debug_info", false},
		{"the program in place of debug information", module, &stripped, program, 1, "/bin/a OK,  INCOMPLETE, no .debug_info", false},
		{"trouble", module, &none, status(500), 1, "/bin/a NOT_FOUND,  NOT_FOUND, elf not found; debuginfod: URL: HTTP 500 Internal Server Error", true},
		{"useless", module, &stripped, content([]byte("?")), 1, "/bin/a OK,  INCOMPLETE, no .debug_info; debuginfod: URL: not an ELF file", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.answer)
			w := newWorld(t, Options{URLs: []string{s.URL}, Retries: -1})
			before := symsrc.Files{}
			if c.local != nil {
				before = *c.local
			}
			f := Wrap(finderFunc(func(symsrc.Module) *symsrc.Files { return c.local }), w.Client)
			files := f.Find(context.Background(), c.module)
			got := files.Elf + " " + files.ElfStatus.String() + ", " + files.Debug + " " + files.DebugStatus.String() + ", " + files.Note
			got = strings.NewReplacer(w.cache+"/"+testID.String(), "@", s.URL, "URL").Replace(got)
			if got != c.want || s.asked.Load() != c.asked || (files.Retry != nil) != c.retry {
				t.Errorf("after %d requests, retry %v\n got %s\nwant %s", s.asked.Load(), files.Retry != nil, got, c.want)
			}
			if c.local != nil && (c.local.Note != before.Note || len(c.local.Tried) != len(before.Tried) || c.local.Retry != nil) {
				t.Errorf("what the finder gave was changed: %+v", c.local)
			}
			if c.local == &none && c.asked > 0 && files.Tried[0] != "x" {
				t.Errorf("tried %q", files.Tried)
			}
		})
	}
	next := finderFunc(func(symsrc.Module) *symsrc.Files { return &none })
	if _, ok := Wrap(next, nil).(finderFunc); !ok {
		t.Error("without a client the finder is wrapped")
	}
}

// TestWrapPending holds that files say when to look again.
func TestWrapPending(t *testing.T) {
	inBubble(t, Options{Wait: time.Second}, func(t *testing.T, b *bubbled) {
		none := &symsrc.Files{Elf: "/bin/a", ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "elf not found"}
		f := Wrap(finderFunc(func(symsrc.Module) *symsrc.Files { return none }), b.Client)
		m := symsrc.Module{Name: "/bin/a", BuildID: testID}
		files := f.Find(context.Background(), m)
		if files.Retry == nil || files.Retry() || files.Note != "elf not found; debuginfod: still being asked for" {
			t.Fatalf("%+v", files)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !files.Retry() {
			t.Error("no news")
		}
		if files = f.Find(context.Background(), m); files.DebugStatus != symsrc.OK || files.Retry != nil || len(b.requests()) != 1 {
			t.Errorf("%+v after %q", files, b.requests())
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if files := f.Find(ctx, m); files != none {
			t.Errorf("%+v", files)
		}
	}, after(2*time.Second, good))
}
