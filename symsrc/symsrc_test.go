package symsrc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseBuildID(t *testing.T) {
	for _, c := range []struct {
		digits string
		want   BuildID
		ok     bool
	}{
		{"", "", false},
		{"0", "\x00", true},
		{"a", "\x0a", true},
		{"abc", "\x0a\xbc", true}, // an odd digit is the first
		{"ABCdef09", "\xab\xcd\xef\x09", true},
		{"00000000", "\x00\x00\x00\x00", true},
		{"0x12", "", false},
		{"12 ", "", false},
		{"12g4", "", false},
		{"é1", "", false},
		{"\x00\x00", "", false},
		{strings.Repeat("f", 128), BuildID(strings.Repeat("\xff", 64)), true},
		{strings.Repeat("f", 127), BuildID("\x0f" + strings.Repeat("\xff", 63)), true},
		{strings.Repeat("f", 129), "", false},
		{strings.Repeat("f", 1<<20), "", false},
	} {
		got, ok := ParseBuildID(c.digits)
		if got != c.want || ok != c.ok {
			t.Errorf("ParseBuildID(%q) = %q, %v, want %q, %v", c.digits, got, ok, c.want, c.ok)
		}
		if got, ok := ParseBuildID([]byte(c.digits)); got != c.want || ok != c.ok {
			t.Errorf("ParseBuildID of the bytes %q = %q, %v", c.digits, got, ok)
		}
		if ok && len(c.digits)%2 == 0 && got.String() != strings.ToLower(c.digits) {
			t.Errorf("%q is printed as %q", c.digits, got)
		}
	}
	if s := BuildID("").String(); s != "" {
		t.Errorf("no build ID is printed as %q", s)
	}
}

func TestStatus(t *testing.T) {
	want := strings.Fields(`OK NOT_FOUND NO_READ_PERMISSION NOT_ELF CORRUPTED INCOMPLETE UNSUPPORTED_COMPRESSED
		MISMATCH_BUILD_ID READ_ERROR UNKNOWN_ERROR NOT_VERIFIED UNKNOWN_ERROR`)
	for i, code := range want {
		s := Status(i)
		if s.String() != code {
			t.Errorf("status %d is %s, want %s", i, s, code)
		}
		if usable := s == OK || s == Incomplete; s.usable() != usable {
			t.Errorf("%s: usable is %v", s, s.usable())
		}
	}
	if s := Status(255).String(); s != "UNKNOWN_ERROR" {
		t.Errorf("status 255 is %s", s)
	}
}

func TestMade(t *testing.T) {
	dir := t.TempDir()
	at := func(name string, sec int64) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(sec, 0), time.Unix(sec, 0)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	elf, debug := at("elf", 100), at("debug", 200)
	for _, c := range []struct {
		files Files
		want  int64 // 0: not known
	}{
		{Files{}, 0},
		{Files{Elf: elf}, 100},
		{Files{Elf: elf, Debug: debug}, 200},
		{Files{Elf: debug, Debug: elf}, 200},
		{Files{Elf: elf, Debug: debug, DebugStatus: Corrupted}, 100},
		{Files{Elf: debug, ElfStatus: MismatchBuildID, Debug: elf}, 100},
		{Files{Elf: elf + ".gone", Debug: debug + ".gone"}, 0},
	} {
		if got := c.files.Made(); got.IsZero() != (c.want == 0) || c.want != 0 && got.Unix() != c.want {
			t.Errorf("%+v were made at %v, want %d", c.files, got, c.want)
		}
	}
}

func TestFiles(t *testing.T) {
	for _, c := range []struct {
		files  Files
		usable bool
		reason Status
	}{
		{Files{}, false, OK},
		{Files{Elf: "/a", ElfStatus: OK, DebugStatus: NotFound}, true, NotFound},
		{Files{Elf: "/a", ElfStatus: Incomplete, DebugStatus: NotFound}, true, NotFound},
		{Files{Elf: "/a", ElfStatus: MismatchBuildID, DebugStatus: NotFound}, false, MismatchBuildID},
		{Files{Elf: "/a", ElfStatus: NotFound, Debug: "/a.debug"}, true, OK},
		{Files{Elf: "/a", ElfStatus: NotFound, Debug: "/a.debug", DebugStatus: Incomplete}, true, NotFound},
		{Files{Elf: "/a", ElfStatus: OK, Debug: "/a.debug", DebugStatus: Corrupted}, true, Corrupted},
		{Files{Elf: "/a", Debug: "/a.debug"}, true, OK},
	} {
		if got := c.files.Usable(); got != c.usable {
			t.Errorf("%+v: usable is %v", c.files, got)
		}
		if got := c.files.Reason(); got != c.reason {
			t.Errorf("%+v: the reason is %v, want %v", c.files, got, c.reason)
		}
	}
}
