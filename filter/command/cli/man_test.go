package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// TestManual reads the page as a terminal shows it.
func TestManual(t *testing.T) {
	installed(t, "mandoc")
	page := offering().manual()
	cmd := exec.Command("mandoc", "-T", "utf8", "-O", "width=90")
	cmd.Stdin = strings.NewReader(page)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, page)
	}
	var b strings.Builder // without bold and underlined, which are overstrikes
	for i, r := range []rune(string(out)) {
		if r == '\b' || i+1 < len([]rune(string(out))) && []rune(string(out))[i+1] == '\b' {
			continue
		}
		b.WriteRune(r)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"NAME some-prog - does much SYNOPSIS some-prog [flags] [FILE ...] some-prog -- COMMAND some-prog alpha [flags] red|green",
		"DESCRIPTION It's a `program`. .It does some-prog one # an example .x The end~. FLAGS",
		"Most --mode MODE It's [fast], or: slow [default: fast]. --tree DIR DIR, and \\more 'quotes' \"and ’\". --input FILE",
		"--name NAME NAME [default: Joe]. --color[=WHEN] WHEN [default: auto]. -l, --loud Be loud.",
		"COMMANDS some-prog alpha [flags] red|green Does: alpha's. --depth DEPTH DEPTH [default: deep]. As above: --no-config, --print-config, -h, --help.",
		"ENVIRONMENT SOME_VARIABLE Counts. EXIT STATUS 0 always. some-prog 1.2 2026-01-02",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the page:\n%s", want, text)
		}
	}
}

// TestManualLint asks the formatters what is wrong with the page.
func TestManualLint(t *testing.T) {
	page := offering().manual()
	for _, argv := range [][]string{{"mandoc", "-T", "lint"}, {"groff", "-man", "-ww", "-z", "-Tutf8"}, {"man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "-"}} {
		t.Run(argv[0], func(t *testing.T) {
			installed(t, argv[0])
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Stdin = strings.NewReader(page)
			var complaints strings.Builder
			cmd.Stderr = &complaints
			out, err := cmd.Output()
			if argv[0] == "mandoc" {
				complaints.Write(out)
			}
			if err != nil || complaints.Len() > 0 {
				t.Errorf("%v\n%s\n%s", err, complaints.String(), page)
			}
		})
	}
}
