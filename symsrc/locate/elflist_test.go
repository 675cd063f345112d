package locate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// demoRoot copies the demo rootfs, in which each library stands for one status, and makes libf.so unreadable.
func demoRoot(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "rootfs")
	if err := os.CopyFS(root, os.DirFS("../../testdata/rootfs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "usr/lib/libf.so"), 0); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestElfList reproduces QSS's report of the demo rootfs row by row.
func TestElfList(t *testing.T) {
	root := demoRoot(t)
	table, err := os.ReadFile("testdata/elf_list.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")[1:]
	withoutPrivileges(t, func() {
		l := locator(t, Options{Rootfs: []string{root}})
		rows := 0
		for _, line := range lines {
			col := strings.Split(line, "\t")
			if col[0] == col[1] && !hostHas(col[0], col[4]) {
				t.Logf("%s of this build ID is not on this machine: row left out", col[0])
				continue
			}
			rows++
			f := find(t, l, col[0], col[4])
			note := f.Note
			if note == "" {
				note = "-"
			}
			got := strings.Join([]string{col[0], strings.Replace(f.Elf, root, "/mnt/rootfs", 1), f.ElfStatus.String(),
				f.DebugStatus.String(), col[4], note}, "\t")
			if got != line {
				t.Errorf("\ngot  %s\nwant %s\ntried %q\ndetail %q", got, line, f.Tried, f.Detail)
			}
		}
		if rows < 14 {
			t.Errorf("only %d rows", rows)
		}
	})
}

// hostHas reports whether the host's file at path has the build ID, and its debug file is installed.
func hostHas(path, id string) bool {
	f, err := probe(place{root: "/", path: path})
	if err != nil || f.id.String() != id {
		return false
	}
	_, err = os.Stat("/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug")
	return err == nil
}

// TestStatuses has one search end with each of the ten statuses.
func TestStatuses(t *testing.T) {
	root := t.TempDir()
	lib := func(name string, data []byte) { write(t, filepath.Join(root, "lib", name), data) }
	lib("ok", full.bytes())
	lib("noperm", full.bytes())
	lib("text", []byte("no ELF at all"))
	lib("half", full.bytes()[:300])
	lib("stripped", stripped.bytes())
	lib("zstd", []byte("\x28\xb5\x2f\xfd and so on"))
	lib("other", other.bytes())
	lib("dir/file", nil)
	if err := os.Chmod(filepath.Join(root, "lib/noperm"), 0); err != nil {
		t.Fatal(err)
	}
	trees := t.TempDir()
	write(t, filepath.Join(trees, "1/twice"), full.bytes())
	write(t, filepath.Join(trees, "2/twice"), other.bytes())
	tests := []struct {
		name, id   string
		elf, debug symsrc.Status
		note       string
	}{
		{"/lib/ok", idA, symsrc.OK, symsrc.OK, ""},
		{"/lib/none", idA, symsrc.NotFound, symsrc.NotFound, "elf not found"},
		{"/lib/noperm", idB, symsrc.NoReadPermission, symsrc.UnknownError, "cannot open file"},
		{"/lib/text", idB, symsrc.NotELF, symsrc.NotFound, "not an ELF file"},
		{"/lib/half", idB, symsrc.Corrupted, symsrc.NotFound, "corrupted elf file"},
		{"/lib/stripped", idA, symsrc.OK, symsrc.Incomplete, "no .debug_info"},
		{"/lib/zstd", idB, symsrc.UnsupportedCompressed, symsrc.NotFound, "zstd"},
		{"/lib/other", idA, symsrc.MismatchBuildID, symsrc.NotFound, "elf file mismatch"},
		{"/lib/dir", idB, symsrc.ReadError, symsrc.NotFound, "is a directory"},
		{"twice", "", symsrc.UnknownError, symsrc.NotFound, "2 different files named twice"},
	}
	withoutPrivileges(t, func() {
		plain := locator(t, Options{Rootfs: []string{root}})
		named := locator(t, Options{Rootfs: []string{root}, Symbols: []string{trees}})
		for _, tt := range tests {
			l := plain
			if tt.name == "twice" {
				l = named
			}
			f := find(t, l, tt.name, tt.id)
			if f.ElfStatus != tt.elf || f.DebugStatus != tt.debug || f.Note != tt.note {
				t.Errorf("%s: %v %v %q, want %v %v %q", tt.name, f.ElfStatus, f.DebugStatus, f.Note, tt.elf, tt.debug, tt.note)
			}
			if want := tt.elf == symsrc.OK; f.Usable() != want {
				t.Errorf("%s: usable %v", tt.name, f.Usable())
			}
		}
	})
}

func TestMismatchSaysWhat(t *testing.T) {
	root := t.TempDir()
	path := write(t, filepath.Join(root, "lib/x"), other.bytes())
	f := find(t, locator(t, Options{Rootfs: []string{root}}), "/lib/x", idA)
	if want := "build ID differs: log has " + idA + ", " + path + " has " + idB; f.Detail != want || f.Elf != path {
		t.Errorf("got %q, %q\nwant %q", f.Elf, f.Detail, want)
	}
	write(t, path, nameless.bytes())
	f = find(t, locator(t, Options{Rootfs: []string{root}}), "/lib/x", idA)
	if want := path + " has none"; !strings.HasSuffix(f.Detail, want) || f.ElfStatus != symsrc.MismatchBuildID {
		t.Errorf("without build ID: %v %q", f.ElfStatus, f.Detail)
	}
}
