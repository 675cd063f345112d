package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// comparedInputs are what the rows of the README's table are tested with: the input, and whether the symbols are those of another build.
// A row says yes if a program names the frame, or, for another build, if it names nothing.
var comparedInputs = map[string]struct {
	input, address string // what addr2line is asked for is an address, since it reads nothing else
	other          bool
}{
	"symbolizer markup `{{{bt:…}}}`": {input: "{{{reset}}}\n{{{module:0:libdemo.so:elf:529039c4877f2b56918b2063129d06669b993be2}}}\n" +
		"{{{mmap:0x10000:0x8000:load:0:rx:0x0}}}\n{{{bt:0:0x11130:pc}}}\n"},
	"`#N 0x… (lib.so+0x…)` of sanitizers": {input: "#0 0x7fa52731c130 (/nowhere/libdemo.so+0x1130) (BuildId: 529039c4877f2b56918b2063129d06669b993be2)\n"},
	"`#00 pc … lib.so` of Android":        {input: "    #00 pc 00001130  /nowhere/libdemo.so (BuildId: 529039c4877f2b56918b2063129d06669b993be2)\n"},
	"a frame in a string of JSON":         {input: `{"log":"#0 0x7fa52731c130 (/nowhere/libdemo.so+0x1130) (BuildId: 529039c4877f2b56918b2063129d06669b993be2)"}` + "\n"},
	"a file of another build is refused": {input: "{{{reset}}}\n{{{module:0:libdemo.so:elf:529039c4877f2b56918b2063129d06669b993be2}}}\n" +
		"{{{mmap:0x10000:0x8000:load:0:rx:0x0}}}\n{{{bt:0:0x11114:pc}}}\n", address: "0x1114\n", other: true},
}

// TestCompared holds that each cell of the README's comparison is what the programs do.
func TestCompared(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Compared\n\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) != len(comparedInputs)+2 {
		t.Fatalf("the table has %d rows, want %d", len(rows)-2, len(comparedInputs))
	}
	const own = "testdata/rootfs/usr/lib/debug/.build-id/52/9039c4877f2b56918b2063129d06669b993be2.debug"
	for _, row := range rows[2:] {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		c, known := comparedInputs[cells[0]]
		if !known || len(cells) != 4 {
			t.Fatalf("nothing is known of the row %q", row)
		}
		from := own
		if c.other {
			from = "testdata/rootfs/usr/lib/libl++.so.6"
		}
		dir := t.TempDir()
		file := filepath.Join(dir, ".build-id", "52", filepath.Base(own))
		symbols, err := os.ReadFile(from)
		if err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil || os.WriteFile(file, symbols, 0o600) != nil {
			t.Fatal("the symbols cannot be copied: ", err)
		}
		for i, argv := range [][]string{{"qss-filter", "--no-cache", "--debuginfod=off", "--symbols", dir},
			{"llvm-symbolizer-22", "--filter-markup", "--debug-file-directory", dir}, {"addr2line", "-f", "-e", file}} {
			if _, err := exec.LookPath(argv[0]); err != nil {
				t.Logf("%s is not installed (Debian: llvm-22, binutils): its cells are not tested", argv[0])
				continue
			}
			input := c.input
			if i == 2 && c.address != "" {
				input = c.address
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Stdin = strings.NewReader(input)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%q: %v", argv, err)
			}
			named := slices.ContainsFunc([]string{"top_level", "inner_func", "lpp_main"}, func(name string) bool { return strings.Contains(string(out), name) })
			want := map[bool]string{true: "yes", false: "no"}[named != c.other]
			if cells[i+1] != want {
				t.Errorf("%s: the README says %s of %s, and it prints\n%s", cells[0], cells[i+1], argv[0], out)
			}
		}
	}
}
