package locate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// TestBelow looks for the files of modules in a tree with everything that builds and users leave there.
func TestBelow(t *testing.T) {
	top := t.TempDir()
	t.Chdir(top)
	const (
		debug = ".debug_info"
		names = ".symtab"
	)
	put := func(path string, id symsrc.BuildID, sections ...string) {
		t.Helper()
		write(t, path, testELF{id: id.String(), names: sections}.bytes())
	}
	id := func(n byte) symsrc.BuildID { return symsrc.BuildID(strings.Repeat(string(rune(n)), 20)) }
	put("app", id(1))
	put("other/app", id(1), names, debug)
	put("deep/a/b/c/app.debug", id(2), debug)
	put("x/only-names", id(3), names)
	put("zz/build/lib", id(4), debug)
	put(".hidden/lib", id(5), debug)
	put(".git/lib", id(6), debug)
	put("src/file.o", id(7), debug)
	put("outside/real/pkg/t", id(8), debug)
	put("many/one/same", id(9), debug)
	put("many/two/same", id(10), names, debug)
	put("stripped/same", id(11))
	for _, link := range [][2]string{{"outside/real", "bazel-bin"}, {".", "build"}, {"outside", "linked"}} {
		if err := os.Symlink(link[0], link[1]); err != nil {
			t.Skipf("no links: %v", err)
		}
	}
	for _, c := range []struct {
		what   string
		wanted Wanted
		want   []string
	}{
		{"the unstripped file", Wanted{ID: id(1), Name: "/x/app", Have: "app"}, []string{"other/app"}},
		{"nothing better than what is there", Wanted{ID: id(1), Have: "other/app"}, nil},
		{"a debug file far below", Wanted{ID: id(2)}, []string{"deep/a/b/c/app.debug"}},
		{"a file with names only", Wanted{ID: id(3)}, []string{"x/only-names"}},
		{"a directory of a build that is not at the top", Wanted{ID: id(4)}, []string{"zz/build/lib"}},
		{"a hidden directory", Wanted{ID: id(5)}, []string{".hidden/lib"}},
		{"version control", Wanted{ID: id(6)}, nil},
		{"an object file", Wanted{ID: id(7)}, nil},
		{"a link of Bazel", Wanted{ID: id(8)}, []string{"bazel-bin/pkg/t"}},
		{"a name", Wanted{Name: "/opt/same"}, []string{"many/one/same", "many/two/same"}},
		{"a build that is not there", Wanted{ID: id(12)}, nil},
	} {
		b := Below{Dirs: []string{"."}}
		var got []string
		for _, s := range b.Find(t.Context(), []Wanted{c.wanted}) {
			got = append(got, filepath.ToSlash(s.Path))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	b := Below{Builds: []string{"zz/build"}}
	if got := b.Find(t.Context(), []Wanted{{ID: id(4)}, {ID: id(1)}}); len(got) != 1 || got[0].Tree != "zz/build" {
		t.Errorf("only a directory of builds: %v", got)
	}
}

// TestBelowBounds holds that a search reads no more files than it may, that it ends with its context, and that near files are found
// before far ones.
func TestBelowBounds(t *testing.T) {
	top := t.TempDir()
	id := symsrc.BuildID(strings.Repeat("a", 20))
	program := testELF{id: id.String(), names: []string{".debug_info"}}.bytes()
	for i := range 300 {
		write(t, filepath.Join(top, "data", fmt.Sprint(i/100), fmt.Sprint(i)), []byte("no program, but as long as the header of one may be, at the least"))
	}
	write(t, filepath.Join(top, "data", "2", "zzz"), program)
	search := func(ctx context.Context, limit int) (found, files int) {
		w := belowWalk{Below: Below{Dirs: []string{top}, MaxFiles: limit}}
		found = len(w.find(ctx, []Wanted{{ID: id}}))
		if ctx.Err() == nil {
			files = w.files
		}
		return found, files
	}
	if found, files := search(t.Context(), 250); found != 0 || files != 250 {
		t.Errorf("%d found, %d files read, want none of 250", found, files)
	}
	if found, _ := search(t.Context(), 0); found != 1 {
		t.Errorf("without the bound: %d found", found)
	}
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if found, _ := search(over, 0); found != 0 {
		t.Errorf("after the end of its time: %d found", found)
	}
	write(t, filepath.Join(top, "build", "it"), program)
	if found, files := search(t.Context(), 0); found != 1 || files != 1 {
		t.Errorf("%d found, after %d files, want it in the first", found, files)
	}
}
