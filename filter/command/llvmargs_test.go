package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLLVMArgs says what llvm-symbolizer's flags are here.
func TestLLVMArgs(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--filter-markup -C -f -s -i -a -p -e FILE 0x1", "--filter-markup --demangle --functions --basenames --inlines --obj FILE 0x1"},
		{"-sCf --exe=x --exe y -e=z", "--basenames --demangle --functions --obj=x --obj y --obj=z"},
		{"-f=short -sf=none --functions=short", "--functions=short --basenames --functions=none --functions=short"},
		{"-es -se x", "--obj=s --basenames --obj x"},
		{"-fshort -v -h -c arm- -llvm", "-fshort -v -h -c arm- -llvm"},
		{"-demangle=false -demangle=true --inlining --inlining=false --inlining=true", "--no-demangle --demangle --inlines --no-inlines --inlines"},
		{"--adjust-vma=1 --adjust-vma 2 --output-style=GNU --verbose --dwp=x", "--dwp=x"},
		{"--verbose=1 --adjust-vma", "--verbose=1 --adjust-vma"},
		{"- -- -s", "- -- -s"},
		{"--functions=long", "--functions=long"}, // a typing error, but under llvm's name
		{"--debuginfod --no-debuginfod", "--debuginfod=on --debuginfod=off"},
		{"", ""},
	} {
		if got := strings.Join(llvmArgs(strings.Fields(c.args)), " "); got != c.want {
			t.Errorf("%s gives %s, want %s", c.args, got, c.want)
		}
	}
	for args, want := range map[string]bool{"a --filter-markup": true, "--style llvm": true, "--style=llvm": true, "--style": false,
		"--style default llvm": false, "-- --filter-markup": false, "": false} {
		if asLLVM(strings.Fields(args)) != want {
			t.Errorf("%q asks for llvm's style: want %t", args, want)
		}
	}
}

// TestWords splits as LLVM's TokenizeGNUCommandLine.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{"": "", " a\tb\r\nc ": "a|b|c", `"a b" 'c "d"' e"f g"h`: `a b|c "d"|ef gh`,
		`a\ b "\"" '\''`: `a b|"|'`, `"" x`: "|x", `"open end`: "open end", `end\`: `end\`, "a\\\nb": "a\nb"} {
		if got := strings.Join(words(text), "|"); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// TestResponses says what @FILE stands for.
func TestResponses(t *testing.T) {
	dir := t.TempDir()
	one, loop := filepath.Join(dir, "one"), filepath.Join(dir, "loop")
	if os.WriteFile(one, []byte("--basenames\n'a b' @nowhere"), 0o600) != nil || os.WriteFile(loop, []byte("@"+filepath.ToSlash(loop)), 0o600) != nil {
		t.Fatal("the files cannot be written")
	}
	for args, want := range map[string]string{"x @" + one + " y": "x|--basenames|a b|@nowhere|y", "@" + loop: "@" + filepath.ToSlash(loop),
		"@" + dir: "@" + dir, "@": "@", "": ""} {
		if got := strings.Join(responses(strings.Fields(args), 0), "|"); got != want {
			t.Errorf("%s gives %s, want %s", args, got, want)
		}
	}
}

func TestLongForms(t *testing.T) {
	got := longForms([]string{"-llvm", "x", "-gnu", "--llvm", "--", "-llvm"})
	if want := []string{"--llvm", "x", "--gnu", "--llvm", "--", "-llvm"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
