package dumpsym

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/codeprobe"
)

// stackRecords are those of a file that say how the stack is walked.
func stackRecords(text []byte) (records []string) {
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "STACK ") {
			records = append(records, strings.TrimSpace(line))
		}
	}
	return records
}

// TestCallFrames compares with what Breakpad's own dump_syms says of the same programs. It does not tell that _start has no
// caller, which the format can.
func TestCallFrames(t *testing.T) {
	for name, id := range map[string]string{"inline": "1B5136E5BC75BE65B3673345D73240C90", "fixed": "C1D299DFEA6978C19BB85F93D64AB3B90"} {
		path, err := filepath.Abs("../../testdata/breakpad/rootfs/usr/bin/" + name)
		if err != nil {
			t.Fatal(err)
		}
		peer, err := os.ReadFile("../../testdata/breakpad/store/" + name + "/" + id + "/" + name + ".sym")
		if err != nil {
			t.Fatal(err)
		}
		ours := dump(t, oneFile{}, path)
		got, want := stackRecords(ours), stackRecords(peer)
		for i := range want {
			if strings.Contains(want[i], " 22 ") {
				want[i] = strings.Replace(want[i], ".ra: .cfa -8 + ^", ".ra: .undef", 1)
			}
		}
		if len(want) < 5 || !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
		head, _, _ := bytes.Cut(peer, []byte("FILE"))
		if !bytes.HasPrefix(ours, head) {
			t.Errorf("%s begins %.120q, want %q", name, ours, head)
		}
	}
}

func TestRules(t *testing.T) {
	w := rules{registers: registersOf["x86_64"], returns: 16}
	for _, tc := range []struct {
		rule codeprobe.Rule
		want string
	}{
		{codeprobe.Rule{Register: codeprobe.CFA, Kind: codeprobe.RuleValue, Base: 7, Offset: 8}, " .cfa: $rsp 8 +"},
		{codeprobe.Rule{Register: 16, Kind: codeprobe.RuleSaved, Base: codeprobe.CFA, Offset: -8}, " .ra: .cfa -8 + ^"},
		{codeprobe.Rule{Register: 16, Kind: codeprobe.RuleSame}, " .ra: $rip"},
		{codeprobe.Rule{Register: 6, Kind: codeprobe.RuleValue, Base: 3}, " $rbp: $rbx"},
		{codeprobe.Rule{Register: 7, Kind: codeprobe.RuleValue, Base: codeprobe.CFA}, " $rsp: .cfa"},
		{codeprobe.Rule{Register: 6, Kind: codeprobe.RuleUndefined}, " $rbp: .undef"},
		{codeprobe.Rule{Register: codeprobe.CFA, Kind: codeprobe.RuleUnknown}, " .cfa: .undef"},
		{codeprobe.Rule{Register: codeprobe.CFA, Kind: codeprobe.RuleValue, Base: 70, Offset: 8}, " .cfa: .undef"},
		{codeprobe.Rule{Register: 70, Kind: codeprobe.RuleSame}, ""},
	} {
		if got := string(w.append(nil, tc.rule)); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.rule, got, tc.want)
		}
	}
}

// TestPieces reads the files anew all the time, which must not be seen.
func TestPieces(t *testing.T) {
	path, err := filepath.Abs("../../testdata/rootfs/usr/apps/org.example.test/tracebin")
	if err != nil {
		t.Fatal(err)
	}
	want := dump(t, oneFile{}, path)
	for _, n := range []int{1, 2, 7, 100} {
		var out bytes.Buffer
		d := &dumper{ctx: t.Context(), finder: oneFile{}, module: symsrc.Module{Name: path}, atOnce: n}
		if err := d.write("tracebin", &out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%d pieces at once: %d bytes, want %d", n, out.Len(), len(want))
		}
	}
}

// TestRefused holds that files of which nothing can be dumped are refused.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	object, err := filepath.Abs("../object/testdata/object5.elf")
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs("../../testdata/breakpad/rootfs/usr/bin/inline")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{text: "NOT_ELF", filepath.Join(dir, "none"): "no such file", object: "not linked"} {
		err := Run(context.Background(), oneFile{}, symsrc.Module{Name: path}, Options{}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want one with %q", path, err, want)
		}
	}
	// What is in the way stays, and nothing is left beside it.
	out := filepath.Join(dir, "out.sym")
	if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), oneFile{}, symsrc.Module{Name: text}, Options{Output: out}, nil); err == nil {
		t.Error("text is dumped")
	}
	if old, err := os.ReadFile(out); string(old) != "old" || err != nil {
		t.Errorf("%q, %v", old, err)
	}
	if err := Run(context.Background(), oneFile{}, symsrc.Module{Name: program}, Options{Output: out, Name: "other\nname"}, nil); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(out); !bytes.HasPrefix(text, []byte("MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 other?name\n")) {
		t.Errorf("%.100q, %v", text, err)
	}
	if list, err := os.ReadDir(dir); len(list) != 2 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Run(ended, oneFile{}, symsrc.Module{Name: program}, Options{}, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("when it is to end: %v", err)
	}
}

// TestDarwin holds that the file of a program of Darwin begins as Breakpad's dump_syms for it does: with the UUID as it is, and without a
// build ID.
func TestDarwin(t *testing.T) {
	path, err := filepath.Abs("../../testdata/apple/bin/demo")
	if err != nil {
		t.Fatal(err)
	}
	if ours := dump(t, oneFile{}, path); !bytes.HasPrefix(ours, []byte("MODULE mac x86_64 4C4C447D55553144A10B863C84E8F2C60 demo\nFUNC 3d0 50 0 run\n")) {
		t.Errorf("it begins %.120q", ours)
	}
}
