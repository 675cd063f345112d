package live_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/llvm"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// moduleLine is a module's element as emitters write it.
var moduleLine = regexp.MustCompile(`\{\{\{module:[^:]*:([^:]*):elf:([0-9a-f]+)\}\}\}`)

// liveTree lays out by build ID what a log names of this machine's files.
func liveTree(t *testing.T, log string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, m := range moduleLine.FindAllStringSubmatch(log, -1) {
		path, id := m[1], m[2]
		if _, err := os.Stat(path); err != nil {
			continue // the kernel's own, which is no file
		}
		link := filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
		if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, link); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	return dir
}

// defaultStyle filters a log with the files of a tree.
func defaultStyle(t *testing.T, dir, log string) string {
	t.Helper()
	var out strings.Builder
	f := filter.New(filter.Options{Symbols: object.NewSource(&locate.Trees{Dirs: []string{dir}})})
	if err := f.Run(context.Background(), strings.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// samePeer compares llvm's style with llvm.
func samePeer(t *testing.T, color bool, tree, log string) {
	t.Helper()
	flag := "--color=never"
	if color {
		flag = "--color=always"
	}
	var out, messages strings.Builder
	f := llvm.New(llvm.Options{Symbols: filtertest.TreeSource(tree), Color: color, Errors: &messages})
	if err := f.Stream().Run(context.Background(), strings.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	filtertest.SamePeer(t, []string{flag}, []string{tree}, log, out.String(), messages.String())
}

// outputOf returns all that a command writes. That it fails is what it is for.
func outputOf(cmd *exec.Cmd, env ...string) string {
	cmd.Env = append(os.Environ(), env...)
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// TestLiveClangCrash lets clang crash and print markup: both filters agree, and in the default style no frame has another
// name than the peer finds at its place in its module.
func TestLiveClangCrash(t *testing.T) {
	filtertest.NeedPeer(t)
	if _, err := exec.LookPath("clang-22"); err != nil {
		t.Skip("clang-22 is not installed")
	}
	for _, how := range []string{"crash", "llvm_fatal_error"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			source := filepath.Join(dir, "a.c")
			if err := os.WriteFile(source, []byte("int a;\n#pragma clang __debug "+how+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			log := outputOf(exec.Command("clang-22", "-fcrash-diagnostics-dir="+dir, "-c", source, "-o", os.DevNull), "LLVM_ENABLE_SYMBOLIZER_MARKUP=1")
			if !strings.Contains(log, "{{{bt:") {
				t.Skipf("no markup in the %d bytes that clang prints", len(log))
			}
			tree := liveTree(t, log)
			for _, color := range []bool{false, true} {
				samePeer(t, color, tree, log)
			}
			namesAsPeer(t, tree, log, defaultStyle(t, tree, log))
		})
	}
}

// namesAsPeer checks `function ??:0 (path+0x10)` of each frame.
func namesAsPeer(t *testing.T, tree, log, out string) {
	t.Helper()
	frames := regexp.MustCompile(`(?m)^ *#[0-9.]+ +0x[0-9a-f]{16} (.*) \S+:\d+ \(([^()]+)\+(0x[0-9a-f]+)\)$`).FindAllStringSubmatch(out, -1)
	if len(frames) == 0 {
		t.Errorf("no frame is resolved:\n%s", filtertest.Cut(out))
	}
	n := filtertest.Tally{Frames: strings.Count(log, "{{{bt:"), Right: len(frames)}
	for _, m := range frames {
		want := outputOf(exec.Command(filtertest.Peer, "--no-inlines", "--no-debuginfod", "--obj="+m[2], m[3]))
		if name, _, _ := strings.Cut(want, "\n"); strings.TrimSuffix(name, " (.cold)") != strings.TrimSuffix(m[1], " (.cold)") {
			n.Right, n.Wrong = n.Right-1, n.Wrong+1
			t.Errorf("%s+%s is %s, the peer has %s", m[2], m[3], m[1], name)
		}
	}
	n.Raw = n.Frames - n.Right - n.Wrong
	t.Log(n.Row(t.Name()))
}

// TestLiveSanitizers lets sanitizers print markup: both filters agree, and in the default style the frames of the program
// are those that the sanitizers' own symbolizer prints in a second run.
func TestLiveSanitizers(t *testing.T) {
	filtertest.NeedPeer(t)
	for _, c := range []struct{ sanitizer, options, what string }{
		{"address", "ASAN_OPTIONS", "free"}, {"address", "ASAN_OPTIONS", "null"}, {"memory", "MSAN_OPTIONS", "null"},
		{"undefined", "UBSAN_OPTIONS", "overflow"}, {"undefined", "UBSAN_OPTIONS", "null"}, {"thread", "TSAN_OPTIONS", "race"},
		{"thread", "TSAN_OPTIONS", "null"},
	} {
		t.Run(c.sanitizer+" "+c.what, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "live")
			build := exec.Command("clang++-22", "-g", "-O1", "-fsanitize="+c.sanitizer, "-Wl,--build-id", "-o", program, "testdata/live.cpp")
			if out, err := build.CombinedOutput(); err != nil {
				t.Skipf("clang++-22 does not build it (Debian: clang-22, libclang-rt-22-dev): %v\n%s", err, filtertest.Cut(string(out)))
			}
			const always = "print_stacktrace=1:color=never:"
			symbolizer, _ := exec.LookPath(filtertest.Peer)
			wanted := ""
			for range 5 { // a race is not seen in every run
				wanted = outputOf(exec.Command(program, c.what), c.options+"="+always+"symbolize=1:external_symbolizer_path="+symbolizer)
				if len(ownFrames(wanted)) > 0 {
					break
				}
			}
			var n filtertest.Tally
			for _, colour := range []string{"never", "always"} {
				log := outputOf(exec.Command(program, c.what), c.options+"="+always+"symbolize=0:enable_symbolizer_markup=1:color="+colour)
				if !strings.Contains(log, "{{{bt:") {
					t.Skipf("no markup: %q", filtertest.Cut(log))
				}
				tree := liveTree(t, log)
				for _, color := range []bool{false, true} {
					samePeer(t, color, tree, log)
				}
				got, want := ownFrames(defaultStyle(t, tree, log)), ownFrames(wanted)
				if n.Frames += len(want); len(want) > 0 && slices.Equal(got, want) {
					n.Right += len(want)
				} else {
					n.Wrong += len(want)
					t.Errorf("the program's frames are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			t.Log(n.Row(t.Name()))
		})
	}
}

// ownFrames returns function and place of the frames in live.cpp, from lines such as `#0 0x12 in f live.cpp:3:1`. Each is there
// once: the two threads of a race may come in either order.
func ownFrames(log string) (frames []string) {
	for _, m := range regexp.MustCompile(`(?m)^ *#[0-9.]+ +(?:0x[0-9a-f]+ )?(?:in )?(\S.*?) (?:\S*/)?(live\.cpp:\d+:\d+)`).FindAllStringSubmatch(log, -1) {
		frames = append(frames, m[1]+" "+m[2])
	}
	slices.Sort(frames)
	return slices.Compact(frames)
}
