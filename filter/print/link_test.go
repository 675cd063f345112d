package print

import (
	"net/url"
	"os"
	"path"
	"strings"
	"testing"

	"qss-filter/sgr"
)

func TestLinkFormats(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, want string }{
		{"none", ""}, {"", ""},
		{"default", "file://" + host + "/src/a%20b.c"}, {"file", "file://" + host + "/src/a%20b.c"},
		{"vscode", "vscode://file/src/a%20b.c:7:3"}, {"vscodium", "vscodium://file/src/a%20b.c:7:3"}, {"cursor", "cursor://file/src/a%20b.c:7:3"},
		{"idea", "idea://open?file=/src/a%20b.c&line=7&column=3"}, {"kitty", "file://" + host + "/src/a%20b.c#7"}, {"grep+", "grep+:///src/a%20b.c:7"},
		{"textmate", "txmt://open?url=file:///src/a%20b.c&line=7&column=3"}, {"x-y.z:{line}-{path}", "x-y.z:7-/src/a%20b.c"},
	} {
		var l Links
		if err := l.Set(c.format); err != nil {
			t.Errorf("%s: %v", c.format, err)
			continue
		}
		got := strings.TrimSuffix(strings.TrimPrefix(l.Begin("/src/./x/../a b.c", 7, 3), linkStart), linkStop)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.format, got, c.want)
		}
		if _, err := url.Parse(got); err != nil {
			t.Errorf("%s: %v", c.format, err)
		}
	}
	for format, want := range map[string]string{
		"emacs": "no scheme", "file://x": "without {path}", "x:{path}:{column}": "{column} without {line}", "x:{path}{what}": "no variable {what",
		"x:{path": "no variable {path", "x:{path}}": "no such characters", "x:\x1b{path}": "no such characters", "x y:{path}": "no such characters",
		"1x:{path}": "no scheme", "{path}:x": "no scheme",
	} {
		var l Links
		if err := l.Set(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", format, err, want)
		}
	}
}

func TestLinkPaths(t *testing.T) {
	var l Links
	if err := l.Set("x:{path}:{line}:{column}"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"": "", "a.c": "", "./a.c": "", `C:\src\a.c`: "x:/C:/src/a.c:1:1", "/a\x1b]8;;\a\n\"<>%?#": "x:/a%1B%5D8%3B%3B%07%0A%22%3C%3E%25%3F%23:1:1",
		"/ä\xff": "x:/%C3%A4%FF:1:1", "/" + strings.Repeat("a", 3000): "",
	} {
		if want != "" {
			want = linkStart + want + linkStop
		}
		if got := l.Begin(file, 0, 0); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}

// FuzzLinks: whatever the path, the link is one sequence of a terminal, and its URL means that path.
func FuzzLinks(f *testing.F) {
	f.Add("/a b\x1b\\\a%41?#é")
	var l Links
	if err := l.Set("file://{path}"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, file string) {
		link := l.Begin(file, 1, 1)
		if text, _ := sgr.Strip(nil, nil, []byte(link)); len(text) > 0 {
			t.Errorf("%q: %q", file, link)
		}
		if link == "" || hasDrive(file) {
			return
		}
		u, err := url.Parse(strings.TrimSuffix(strings.TrimPrefix(link, linkStart), linkStop))
		if err != nil || u.Path != path.Clean(file) {
			t.Errorf("%q: %q is %v, %v", file, link, u, err)
		}
	})
}
