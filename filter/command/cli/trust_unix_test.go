//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrusted says whose configuration is read: of a home directory everything on the way to the file counts, links and what
// they point at, and nothing above it.
func TestTrusted(t *testing.T) {
	const others = 65534 // a group that is not the user's own
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to any group")
	}
	t.Setenv("PROG_CONFIG", "")
	os.Unsetenv("PROG_CONFIG")
	for _, c := range []struct {
		change, path string
		mode         os.FileMode
		uid, gid     int
		say          string // "" where the configuration is read
	}{
		{change: "mode", path: "up/home/.config/prog/config", mode: 0o664},
		{change: "mode", path: "up/home/.config/prog/config", mode: 0o664, gid: others, say: "group 65534 may write "},
		{change: "mode", path: "up/home/.config/prog/config", mode: 0o646, say: "other users may write "},
		{change: "mode", path: "up/home/.config/prog", mode: 0o775, gid: others, say: "group 65534 may write "},
		{change: "mode", path: "up/home/.config", mode: 0o777, say: "other users may write "},
		{change: "mode", path: "up/home/.config", mode: 0o777 | os.ModeSticky},
		{change: "mode", path: "up/home/.config", mode: 0o755, uid: 65534, say: "belongs to user 65534"},
		{change: "mode", path: "up/home", mode: 0o777, say: "other users may write "},
		{change: "mode", path: "up", mode: 0o777},
		{change: "link", path: "up/home/.config", mode: 0o755},
		{change: "link", path: "up/home/.config/prog/config", mode: 0o777, say: "other users may write "},
		{change: "link", path: "up/home/.config/prog", mode: 0o755, uid: 65534, say: "belongs to user 65534"},
	} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		home := filepath.Join(dir, "up/home")
		file := filepath.Join(home, ".config/prog/config")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("--name=mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, c.path)
		if c.change == "link" { // to a place with these rights
			elsewhere := filepath.Join(dir, "elsewhere")
			if os.Mkdir(elsewhere, 0o755) != nil || os.Rename(at, filepath.Join(elsewhere, "x")) != nil || os.Symlink(rel(t, filepath.Dir(at), elsewhere)+"/x", at) != nil {
				t.Fatal("the link cannot be made")
			}
			if c.uid != 0 {
				if err := os.Lchown(at, c.uid, c.gid); err != nil {
					t.Fatal(err)
				}
			}
			at, c.uid = elsewhere, 0
		}
		if os.Chown(at, c.uid, c.gid) != nil || os.Chmod(at, c.mode) != nil {
			t.Skip("this file system keeps no owners")
		}
		t.Setenv("HOME", home)
		t.Setenv("XDG_CONFIG_HOME", "")
		p, got, warned := configured(t)
		if _, err := p.Run(nil); err != nil {
			t.Fatal(err)
		}
		if read := (*got)[1] == "mine"; read != (c.say == "") || read != (*warned == "") || !strings.Contains(*warned, c.say) {
			t.Errorf("%+v: read %t, and warned %q", c, read, *warned)
		}
	}
}

// rel is the path of a directory seen from another one.
func rel(t *testing.T, from, to string) string {
	path, err := filepath.Rel(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLoop says that links which lead nowhere end.
func TestLoop(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("loop/x", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	err := way(filepath.Join(dir, "loop"), func(string, os.FileInfo) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "too many levels") {
		t.Errorf("a loop of links gives %v", err)
	}
}

// TestPrivate says which groups are a user's own.
func TestPrivate(t *testing.T) {
	const users = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:Ann:/home/ann:/bin/sh\nbob:x:1001:100::/home/bob:/bin/sh\n" +
		"eve:x:1002:1002::/:/bin/sh\nsub:x:1003:1002::/:/bin/sh\nkim:x:1004:1004::/:/bin/sh\n"
	const groups = "root:x:0:\nusers:x:100:\nann:x:1000:\neve:x:1002:\nkim:x:1004:kim,bob\nadm:x:4:ann\nann2:x:1000x:\n"
	for _, c := range []struct {
		uid, gid int
		want     bool
	}{
		{0, 0, true}, {1000, 1000, true},
		{1000, 0, false}, {1000, 4, false}, // others' groups
		{1001, 100, false},                       // not named as the user
		{1002, 1002, false}, {1003, 1002, false}, // of two users
		{1004, 1004, false}, // has a member
		{1005, 1005, false}, // not there
	} {
		if got := private(users, groups, c.uid, c.gid); got != c.want {
			t.Errorf("group %d is private to %d: %t", c.gid, c.uid, got)
		}
	}
	if !private(users, "ann:x:1000:ann\n", 1000, 1000) || private(users, "", 1000, 1000) || private("", groups, 1000, 1000) {
		t.Error("a group's own user as its member, or one that is not there")
	}
}
