package mappings_test

import (
	"encoding/hex"
	"slices"
	"testing"

	"qss-filter/filter/mappings"
	"qss-filter/filter/match"
	"qss-filter/symsrc"
)

func TestParse(t *testing.T) {
	type want struct {
		format              mappings.Format
		start, last, offset uint64
		mode, path, buildID string
		space               symsrc.Space
	}
	for line, w := range map[string]want{
		"55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /bin/x (deleted)": {mappings.Proc, 0x55cf1954f000, 0x55cf1954ffff, 0x1000,
			"rx", "/bin/x (deleted)", "", symsrc.InFile},
		`55cf1954f000-55cf19550000 ---p 00001000 fe:00 5316636    /tmp/my\040prog\999`: {mappings.Proc, 0x55cf1954f000, 0x55cf1954ffff, 0x1000,
			"", `/tmp/my prog\999`, "", symsrc.InFile},
		"7f0000000000-7f0000001000 rw-s 00000000 00:00 0 ": {mappings.Proc, 0x7f0000000000, 0x7f0000000fff, 0, "rw", "", "", symsrc.InFile},
		"    0d5e6000-0d5e6fff r-x      1000      1000  /system/bin/app (BuildId: 53b18348) (load bias 0x1000)": {mappings.Tombstone,
			0xd5e6000, 0xd5e6fff, 0x1000, "rx", "/system/bin/app", "53b18348", symsrc.InFile},
		"--->0000006d'682c1000-0000006d'6838ffff r-x         0     cf000  /data/lib.so": {mappings.Tombstone, 0x6d682c1000, 0x6d6838ffff, 0,
			"rx", "/data/lib.so", "", symsrc.InFile},
		"    0d5e6000-0d5e6fff r-x      1000      1000  /lib.so (BuildId: 53b)": {mappings.Tombstone, 0xd5e6000, 0xd5e6fff, 0x1000,
			"rx", "/lib.so", "053b", symsrc.InFile},
		"b7461000 b75d2000 r-xp /lib/libc-2.13.so": {mappings.Tizen, 0xb7461000, 0xb75d1fff, 0, "rx", "/lib/libc-2.13.so", "", symsrc.InText},
		"b7461000 b75d2000 rw-p /lib/libc-2.13.so": {mappings.Tizen, 0xb7461000, 0xb75d1fff, 0, "rw", "", "", symsrc.InText},
		"\t0x55cf1954e000-0x55cf1954f000\t/bin/crash": {mappings.Sanitizer, 0x55cf1954e000, 0x55cf1954efff, 0, "", "/bin/crash", "",
			symsrc.InImage},
		"0x555555555000     0x555555556000     0x1000     0x1000  r-xp   /bin/x": {mappings.GDB, 0x555555555000, 0x555555555fff, 0x1000,
			"rx", "/bin/x", "", symsrc.InFile},
		"0x555555555000     0x555555556000     0x1000     0x1000 /bin/x": {mappings.GDB, 0x555555555000, 0x555555555fff, 0x1000, "rx", "/bin/x",
			"", symsrc.InFile},
	} {
		m, ok := mappings.Parse([]byte(line))
		got := want{m.Format, m.Start, m.Last, m.Offset, m.Mode, string(m.Path), hex.EncodeToString([]byte(m.BuildID)), m.Space}
		if !ok || got != w {
			t.Errorf("%q:\n got %+v, %v\nwant %+v", line, got, ok, w)
		}
	}
}

// TestParseOther keeps other lines out.
func TestParseOther(t *testing.T) {
	for _, line := range []string{"", "deadbeef", "1234-5678 some words and more words here", "2026-11-21 10:00:00 r-x path /x/y/z",
		"55cf1954f000-55cf19550000 r-xq 00001000 fe:00 5316636 /x", "55cf1954f000-55cf19550000 r-xp 00001000 fe00 5316636 /x",
		"55cf1954f000-55cf19550000 r-xp 00001000 fe:00 53x6636 /x",
		"55cf19550000-55cf1954f000 r-xp 00001000 fe:00 5316636 /x", "0x1000-0x2000 /no/tab/at/all/here", "b7461000 b75d2000 r-xp libc words",
		"ffffffffffffffffff-ffffffffffffffffff r-xp 00001000 fe:00 5316636 /x", "    #0 0x55aefc1432a3  (/bin/crash+0x1182a3)",
		"0006d0000'6838f000'00000000-0006d0000'6838f000'00001000 r-x 0 1000 /x",
		"0x555555554000     0x555555555000     0x2000        0x0  r--p   /bin/x"} {
		if m, ok := mappings.Parse([]byte(line)); ok {
			t.Errorf("%q is taken for a mapping: %+v", line, m)
		}
	}
}

func TestNames(t *testing.T) {
	for path, want := range map[string]bool{"": false, "[stack]": false, "anon_inode:[perf]": false, "/lib/libc.so.6": true, "libc.so": true} {
		if m := (mappings.Mapping{Path: []byte(path)}); m.Names() != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}

func TestAnnounces(t *testing.T) {
	for text, want := range map[string]int{
		"*** *** *** *** *** ***": 40, "==12==Process memory map follows:": mappings.Window, "*** ***": 0, "": 0,
	} {
		if got := mappings.Announces([]byte(text), match.Look([]byte(text))); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestLiterals holds that a stream stops at every line that announces something, and at the mapping of code in each list but the
// sanitizers', whose headline announces it.
func TestLiterals(t *testing.T) {
	for _, line := range []string{
		"*** *** *** *** *** ***", "==12==Process memory map follows:", "Module libfoo.so with build-id 67f5bd",
		"55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /bin/x", "    0d5e6000-0d5e6fff r-x  1000  1000  /system/bin/app",
		"b7461000 b75d2000 r-xp /lib/libc-2.13.so", "0x555555555000     0x555555556000     0x1000     0x1000  r-xp   /bin/x",
	} {
		if !slices.ContainsFunc(mappings.Literals(), func(l match.Literal) bool { return l.In([]byte(line)) }) {
			t.Errorf("%q is passed over", line)
		}
	}
}

func TestBuildID(t *testing.T) {
	for _, c := range []struct{ text, module, id string }{
		{"build_id: '369f8e'", "", "369f8e"},
		{"Module /usr/lib/libfoo.so from rpm foo-1.2.x86_64, build-id=67f5bd, x", "libfoo.so", "67f5bd"},
		{"   Module libfoo.so with build-id 67F5BD", "libfoo.so", "67f5bd"},
		{"<Fatal> BaseDaemon: (version 24.4.1.2088 (official build), build id: 67F5BD, git hash: 1a2b) (from thread 4100)", "clickhouse", "67f5bd"},
		{"[00131.375] 01102.01116> dso: id=1496e1 base=0xd8af0615000 name=app:/tmp/syz-executor", "syz-executor", "1496e1"},
		{"dso: id=773627 base=0x65ccdbd16000 name=libfdio.so\r", "libfdio.so", "773627"},
		{"Module|/usr/lib/libc.so.6|2.36|libc.so.6|E774DB9F26B16CD093172A8243F8547F0|0x7f3735d35000|0x7f3735ecefff|0", "libc.so.6", "9fdb74e7b126d06c93172a8243f8547f"},
	} {
		module, id, ok := mappings.BuildID([]byte(c.text), match.Look([]byte(c.text)))
		if !ok || string(module) != c.module || (module == nil) != (c.module == "") || id.String() != c.id {
			t.Errorf("%q: %q, %q, %v", c.text, module, id, ok)
		}
	}
	for _, text := range []string{"Module libfoo.so with build-id <none>", "Module libfoo.so from rpm foo, build-id=<none>"} {
		module, id, ok := mappings.BuildID([]byte(text), match.Look([]byte(text)))
		if written, unread := id.Unread(); !ok || string(module) != "libfoo.so" || !unread || written != "<none>" {
			t.Errorf("%q: %q, %q, %v", text, module, id.Text(), ok)
		}
	}
	for _, text := range []string{"", "build_id: '369f8e", "build_id: ''", "build-id 67f5bd", "Module  with build-id 67f5", "Module a without build-id.", "Module a has an odd build-id xyz",
		"(version 24.4.1, no build id, git hash: 1a2b)", "see the build, git hash: 1a2b", "dso: id=773627 base=0x65ccdbd16000", "dso: id=773627 name=libfdio.so",
		"Module|app.exe|1|app.pdb|669008F7B6EE44058CBD5F21BEB5B5CFe|0x1|0x2|1", "Module|a"} {
		if module, id, ok := mappings.BuildID([]byte(text), match.Look([]byte(text))); ok {
			t.Errorf("%q: %q, %q", text, module, id)
		}
	}
}

// FuzzParse holds that no line panics, and that what is taken is a range with a mode and a path of the line.
func FuzzParse(f *testing.F) {
	f.Add([]byte("55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /bin/x"))
	f.Add([]byte("    0000006d'682c1000-0000006d'6838ffff r--         0     cf000  /data (BuildId: f2c90c1775a109e1) (load bias 0x4000)"))
	f.Add([]byte("\t0x55cf1954e000-0x55cf1954f000\t/bin/crash"))
	f.Add([]byte("0x555555554000     0x555555555000     0x1000        0x0  r--p   /bin/x"))
	f.Add([]byte("b7461000 b75d2000 r-xp /lib/libc-2.13.so"))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, ok := mappings.Parse(line)
		if ok && (m.Last < m.Start || len(m.Mode) > 3 || len(m.Path) > len(line)) {
			t.Fatalf("%q: %+v", line, m)
		}
		mappings.BuildID(line, match.Look(line))
		mappings.Announces(line, match.Look(line))
	})
}
