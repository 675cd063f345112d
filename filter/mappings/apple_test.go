package mappings_test

import (
	"bytes"
	"os"
	"testing"

	"qss-filter/filter/mappings"
	"qss-filter/symsrc"
)

// TestAppleImage reads images of crash reports, sample and spindump.
func TestAppleImage(t *testing.T) {
	const uuid = "7b639009221f3815a7a3657098146f8a"
	for _, tc := range []struct {
		line        string
		start, last uint64
		id, path    string
	}{
		{"       0x1017ff000 -        0x101885fff +com.AlphaSoft.iTubeDownloader (x86_64)  <7B639009-221F-3815-A7A3-657098146F8A> /Users/x/My App.app/Contents/MacOS/My App",
			0x1017ff000, 0x101885fff, uuid, "/Users/x/My App.app/Contents/MacOS/My App"},
		{"0x1042cc000 - 0x1042d3fff TouchCanvas arm64  <7b639009221f3815a7a3657098146f8a> /private/var/App\r", 0x1042cc000, 0x1042d3fff, uuid, "/private/var/App"},
		{"  0x104f8c000 -                ???  com.example.App 1.0 (1)  <7B639009-221F-3815-A7A3-657098146F8A>", 0x104f8c000, 0x114f8c000, uuid, "com.example.App 1.0 (1)"},
		{"0x1000 - 0x1fff x (*) <00000000-0000-0000-0000-000000000000> /x", 0x1000, 0x1fff, "", "/x"},
		{line: "0x1000 - 0x1fff x (*) /x"}, {line: "0x2000 - 0x1fff x <7b639009221f3815a7a3657098146f8a> /x"}, {line: "Binary Images:"}, {line: ""},
		{line: "0x7f3735d35000 - 0x7f3735ecefff  libc.so.6  ???  (WARNING: No symbols, libc.so.6, E774DB9F17B26CD093172A8243F8547F0)"},
	} {
		m, ok := mappings.AppleImage([]byte(tc.line))
		if ok != (tc.path != "") {
			t.Errorf("%q: %v %+v", tc.line, ok, m)
			continue
		}
		want := symsrc.MachO
		if tc.id != "" {
			want, _ = symsrc.ParseBuildID(tc.id)
		}
		if ok && (m.Start != tc.start || m.Last != tc.last || m.BuildID != string(want) || string(m.Path) != tc.path) {
			t.Errorf("%q: %+v", tc.line, m)
		}
	}
}

// appleList returns the images of a report.
func appleList(report []byte) (l mappings.AppleList) {
	for line := range bytes.Lines(report) {
		l.Line(bytes.TrimRight(line, "\n"))
	}
	return l
}

// TestAppleList reads the images of a report on many lines, and on one.
func TestAppleList(t *testing.T) {
	report, err := os.ReadFile("../../testdata/apple/demo.ips")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := symsrc.ParseBuildID("4c4c447d55553144a10b863c84e8f2c6")
	check := func(l mappings.AppleList) {
		t.Helper()
		if len(l.Images) != 2 || !l.Done || l.Images[0].BuildID != symsrc.MachO || l.Images[1].BuildID != id || l.Images[1].Name != "/private/tmp/demo" {
			t.Errorf("%+v", l)
		}
	}
	check(appleList(report))
	check(appleList(bytes.ReplaceAll(report, []byte("\n"), []byte(" "))))
	if l := appleList([]byte(`{"usedImages":{}}`)); l.Done || l.Images != nil {
		t.Errorf("%+v", l)
	}
}

// FuzzApple reads lines of reports of any kind. The images take no more than a report may have.
func FuzzApple(f *testing.F) {
	for _, path := range [...]string{"../../testdata/apple/demo.ips", "../../testdata/apple/demo.crash"} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for line := range bytes.Lines(b) {
			if m, ok := mappings.AppleImage(line); ok && (m.Last < m.Start || len(m.Path) == 0) {
				t.Errorf("%q: %+v", line, m)
			}
		}
		if l := appleList(b); len(l.Images) > 1<<14 {
			t.Errorf("%d images", len(l.Images))
		}
	})
}
