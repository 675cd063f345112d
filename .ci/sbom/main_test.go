package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// TestWrite compares the bill of the program with what `go version -m` says of it.
func TestWrite(t *testing.T) {
	program := filepath.Join(t.TempDir(), "qss-filter.exe")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var text, again bytes.Buffer
	if err := write(&text, program); err != nil {
		t.Fatal(err)
	}
	if err := write(&again, program); err != nil || text.String() != again.String() {
		t.Fatalf("a second bill differs: %v", err)
	}
	var got bom
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); f[0] == "dep" {
			want = append(want, f[1]+" "+f[2]+" "+f[3])
		}
	}
	var have []string
	for _, c := range got.Components[1:] {
		have = append(have, c.Name+" "+c.Version+" "+c.Properties[0].Value)
	}
	if len(want) < 20 || !slices.Equal(have, want) {
		t.Errorf("got %q\nwant %q", have, want)
	}
	if got.Components[0].Name != "std" || got.Metadata.Component.Name != "qss-filter" || len(got.Dependencies[0].Uses) != len(got.Components) {
		t.Errorf("%+v", got)
	}
}

func TestBill(t *testing.T) {
	got := bill("p.exe", &debug.BuildInfo{GoVersion: "go1.2.3", Main: debug.Module{Path: "p", Version: "v1.0.0+dirty"},
		Deps:     []*debug.Module{{Path: "a/B", Version: "v1", Replace: &debug.Module{Path: "c/D", Version: "v2+incompatible", Sum: "h1:x"}}},
		Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}}})
	if got.Metadata.Timestamp != "2026-01-02T03:04:05Z" || got.Metadata.Component.PURL != "pkg:golang/p@v1.0.0%2Bdirty" ||
		got.Metadata.Component.Name != "p" || got.Components[0].PURL != "pkg:golang/std@1.2.3" ||
		got.Components[1].PURL != "pkg:golang/c/d@v2%2Bincompatible" || got.Components[1].Properties[0].Value != "h1:x" {
		t.Errorf("%+v", got)
	}
}

func TestNoProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(&bytes.Buffer{}, file); err == nil || !strings.Contains(err.Error(), "read the modules of ") {
		t.Errorf("a text gives %v", err)
	}
}
