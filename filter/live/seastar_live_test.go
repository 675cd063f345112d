package live_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// TestSeastar holds that addresses alone after Seastar's words get what llvm-symbolizer says of the only program that the user names, in a list
// and on one line, and nothing of a program of another build.
func TestSeastar(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program runs on Linux")
	}
	needTool(t, "g++", "g++")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	source, err := filepath.Abs("testdata/seastar.cc")
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{}
	for name, flags := range map[string][]string{"pie": {"-O1"}, "nopie": {"-O1", "-no-pie"}, "other": {"-O0"}} {
		programs[name] = filepath.Join(t.TempDir(), "program")
		if out, err := exec.Command("g++", append(flags, "-g", "-fno-optimize-sibling-calls", "-o", programs[name], source)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	address := regexp.MustCompile(` 0x[0-9a-f]+`)
	for _, program := range []string{"pie", "nopie"} {
		for _, scene := range []string{"list", "line"} {
			log, err := exec.Command(programs[program], scene).Output()
			if err != nil {
				t.Fatal(err)
			}
			frames := 0
			want := address.ReplaceAllStringFunc(string(log), func(text string) string {
				out, err := exec.Command("llvm-symbolizer-22", "--no-inlines", "--obj="+programs[program], strings.TrimSpace(text)).Output()
				if err != nil {
					t.Fatal(err)
				}
				frames++
				return strings.TrimSuffix(text+" in "+strings.Join(strings.Fields(string(out)), " "), " ??:0:0")
			})
			for _, of := range []string{program, "other"} {
				files := locate.Options{Objects: []string{programs[of]}}
				found, err := locate.New(files)
				if err != nil {
					t.Fatal(err)
				}
				var got strings.Builder
				f := filter.New(filter.Options{Symbols: symobject.NewSource(found), Board: files.Board()})
				if err := f.Run(context.Background(), strings.NewReader(string(log)), &got); err != nil {
					t.Fatal(err)
				}
				if of == "other" {
					want = string(log)
				}
				if got.String() != want {
					t.Errorf("%s, %s, with %s:\n%s\nwant\n%s", program, scene, of, got.String(), want)
				}
			}
			t.Logf("%s, %s: %d frames", program, scene, frames)
		}
	}
}
