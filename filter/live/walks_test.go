package live_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// walk builds testdata/walks.c in a directory and runs it.
func walk(t *testing.T, dir string, command ...string) *filtertest.Walked {
	t.Helper()
	source, err := filepath.Abs("testdata/walks.c")
	if err != nil {
		t.Fatal(err)
	}
	return filtertest.Walk(t, source, dir, command...)
}

// unsaid are the emitters whose offsets count in the file or in the module, and nothing in the log says which.
// Of Unreal's first addresses nothing says whether they are exact, and the program faults right after calls.
var unsaid = []string{"Android", "Android 10", "Unreal", "Unreal, named"}

// TestWalks holds, per emitter, that no frame of a program gets another function or line than the right one: the stacks are
// real, and written as the emitters' sources write them.
func TestWalks(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the program's stacks are walked on x86-64 Linux")
	}
	whole, alone, proven := map[string]filtertest.Tally{}, map[string]filtertest.Tally{}, map[string]filtertest.Tally{}
	for _, build := range filtertest.Builds {
		if _, err := exec.LookPath(build[0]); err != nil {
			t.Logf("%s is not installed", build[0])
			continue
		}
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			dir := t.TempDir()
			w := walk(t, dir, build...)
			own, err := locate.New(locate.Options{Symbols: []string{dir}, Rootfs: []string{t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name   string
				source symsrc.Source
				sums   map[string]filtertest.Tally
			}{{"", sourceOf(t, dir), whole}, {", libraries missing", symobject.NewSource(own), alone}, {", files assumed", assumedFiles(t), proven}} {
				for i := range filtertest.Emitters {
					e := &filtertest.Emitters[i]
					page := e.Writes(w)
					n := page.Count(t, e.Name+c.name, filtertest.Run(t, filter.Options{Symbols: c.source, JSON: &jsonl.Options{}}, page.Log()))
					sum := c.sums[e.Name]
					sum.Add(n)
					c.sums[e.Name] = sum
				}
			}
		})
	}
	for title, sums := range map[string]map[string]filtertest.Tally{"all files at hand": whole, "only the program's file at hand": alone} {
		for _, without := range unsaid {
			delete(sums, without)
		}
		table, all := filtertest.Report(title, sums)
		if t.Log(table); all.Right*100 < all.Frames*99 {
			t.Errorf("%s: %d of %d frames have names", title, all.Right, all.Frames)
		}
	}
	for _, without := range slices.Concat(unsaid, []string{"Android, named", "Android 10, named", // only the names say what they count from
		"systemd-coredump", "hs_err", "hs_err, Java frames between", "Linux, segfault", "Linux 6.7, trap", "Linux, trap int3", "Linux on PowerPC",
		"Linux on RISC-V", "Linux on s390", "Linux on MIPS", "Linux 6.6 on MIPS", "minidump-stackwalk",
		"minidump-stackwalk, moved", "minidump-stackwalk -m", "compute-sanitizer", "Wine", "Wine 7", // which have no paths
		"perf script, with what it knows not", "strace -k with libdw"}) { // whose frames do not follow one another
		delete(proven, without)
	}
	table, all := filtertest.Report("files that only their stacks prove", proven)
	if t.Log(table); all.Right*100 < all.Frames*95 {
		t.Errorf("by their stacks %d of %d frames have names", all.Right, all.Frames)
	}
}

// TestWalksCross is TestWalks for other machines, with calls in the place of stacks.
func TestWalksCross(t *testing.T) {
	source, err := filepath.Abs("testdata/walks.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range [][]string{{"aarch64-linux-gnu", "-O2"}, {"aarch64-linux-gnu", "-O0", "-no-pie"}, {"arm-linux-gnueabihf", "-O2"},
		{"arm-linux-gnueabihf", "-O1", "-marm"}, {"riscv64-linux-gnu", "-O2"}, {"riscv64-linux-gnu", "-O0"}} {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			needTool(t, build[0]+"-gcc", "gcc-"+build[0])
			dir, sums := t.TempDir(), map[string]filtertest.Tally{}
			w := filtertest.Cross(t, source, dir, build[0], build[1:]...)
			own, err := locate.New(locate.Options{Symbols: []string{dir}, Rootfs: []string{t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			for i := range filtertest.Emitters {
				e := &filtertest.Emitters[i]
				page := e.Writes(w)
				sums[e.Name] = page.Count(t, e.Name, filtertest.Run(t, filter.Options{Symbols: symobject.NewSource(own), JSON: &jsonl.Options{}}, page.Log()))
			}
			table, all := filtertest.Report(build[0], sums)
			if t.Log(table); all.Right*100 < all.Frames*90 {
				t.Errorf("%d of %d frames have names", all.Right, all.Frames)
			}
		})
	}
}
