package print

import (
	"testing"

	"qss-filter/symsrc"
)

func TestPaths(t *testing.T) {
	n := Names{Map: []PathMap{{"/proc/self/cwd", "/home/me/app"}, {"/build", "/b"}, {"/build/x/", "/x/"}, {".", "/here"}, {"/empty", ""}, {`C:\ci`, "/win"}, {"/root", "/"}},
		Strip: []string{"/home/me", "/home/me/app/", "/b/./c", "/root"}}
	for _, c := range []struct{ path, local, shown string }{
		{"", "", ""},
		{"/proc/self/cwd/src/a.c", "/home/me/app/src/a.c", "src/a.c"},
		{"/proc/self/cwd/./src/a.c", "/home/me/app/src/a.c", "src/a.c"},
		{"/proc//self/./cwd//a.c", "/home/me/app/a.c", "a.c"},
		{"/proc/self/cwd2/a.c", "/proc/self/cwd2/a.c", "/proc/self/cwd2/a.c"},
		{"/proc/self/cwd", "/home/me/app", "app"},
		{"/build/a.c", "/b/a.c", "/b/a.c"},
		{"/build/x/a.c", "/x/a.c", "/x/a.c"},
		{"/build/c/a.c", "/b/c/a.c", "a.c"},
		{"/build/out/../a.c", "/b/out/../a.c", "/b/out/../a.c"},
		{"./a.c", "/here/a.c", "/here/a.c"}, {"src/a.c", "/here/src/a.c", "/here/src/a.c"},
		{"/empty/src/a.c", "src/a.c", "src/a.c"},
		{`C:\ci\src\a.c`, `/win/src\a.c`, `/win/src\a.c`}, {`D:\a.c`, `D:\a.c`, `D:\a.c`},
		{"/root/a.c", "/a.c", "/a.c"},
		{"/home/me/a.c", "/home/me/a.c", "a.c"},
		{"/usr/a.c", "/usr/a.c", "/usr/a.c"},
	} {
		if got := n.local(c.path); got != c.local {
			t.Errorf("%s: on this machine %s, want %s", c.path, got, c.local)
		}
		if got := n.shown(n.local(c.path)); got != c.shown {
			t.Errorf("%s: shown as %s, want %s", c.path, got, c.shown)
		}
	}
}

// TestInWords holds that the source's answer, which is shared, is not written to.
func TestInWords(t *testing.T) {
	known := []symsrc.Frame{{Func: "std::__1::f()", File: "/src/a.c"}, {Func: "main", File: "/src/b.c"}}
	n := Names{}
	if got := n.InWords(known); &got[0] != &known[0] {
		t.Error("copied for nothing")
	}
	n = Names{Short: true, Strip: []string{"/src"}}
	got := n.InWords(known)
	if got[0].Func != "std::f()" || got[1].File != "b.c" || known[0].Func != "std::__1::f()" || known[1].File != "/src/b.c" {
		t.Errorf("%+v of %+v", got, known)
	}
	if got := n.function("main.cold", "/src/main.go"); got != "main.cold" {
		t.Errorf("a function of Go is %s", got)
	}
}
