package llvm

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"qss-filter/filter/filtertest"
)

// TestLLVMLinks compares the output for a stripped file that refers to another one, by .gnu_debuglink or by the build ID within it:
// to its own debug file, to another build's, and to one without debug information. Lines come from the other file, symbols do not.
func TestLLVMLinks(t *testing.T) {
	filtertest.NeedPeer(t)
	src := t.TempDir()
	full, other := filepath.Join(src, "full"), filepath.Join(src, "other")
	sweepBuild(t, full, "g++ -g -O2 -rdynamic -Wl,--build-id", "")
	sweepBuild(t, other, "g++ -g -O0 -rdynamic -Wl,--build-id", "")
	log := sweepLog(t, full, "abcdef", 3)
	objcopy := func(args ...string) {
		t.Helper()
		cmd := exec.Command("objcopy", args...)
		cmd.Dir = src
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("objcopy %q: %v\n%s", args, err, out)
		}
	}
	objcopy("--only-keep-debug", "full", "full.debug")
	objcopy("--strip-all", "full", "bare")
	objcopy("--strip-debug", "full", "symbols")
	for _, link := range []string{"full.debug", "other", "bare"} {
		objcopy("--add-gnu-debuglink="+link, "bare", "bare-"+link)
		objcopy("--add-gnu-debuglink="+link, "symbols", "symbols-"+link)
	}
	for _, c := range []struct{ file, link, linked, inner string }{
		{"bare-full.debug", "full.debug", "full.debug", ""},
		{"symbols-full.debug", ".debug/full.debug", "full.debug", ""},
		{"symbols-full.debug", "full.debug", "other", ""}, // the checksum differs
		{"bare-other", "other", "other", ""},
		{"symbols-bare", "bare", "bare", ""},
		{"full", "", "", "full.debug"},
		{"full", "", "", "bare"},
		{"bare", "", "", "full.debug"},
		{"bare", "", "", "other"},
		{"symbols", "", "", "other"},
		{"bare-full.debug", "full.debug", "full.debug", "other"},
	} {
		t.Run(c.file+" "+c.link+" "+c.inner, func(t *testing.T) {
			tree := t.TempDir()
			putFile(t, filepath.Join(src, c.file), filepath.Join(tree, ".build-id/ab/cdef.debug"))
			if c.link != "" {
				putFile(t, filepath.Join(src, c.linked), filepath.Join(tree, ".build-id/ab", c.link))
			}
			if c.inner != "" {
				id := buildID(t, full)
				putFile(t, filepath.Join(src, c.inner), filepath.Join(tree, ".build-id", id[:2], id[2:]+".debug"))
			}
			for _, way := range []peerRun{plainRun, {[]string{"--color=never", "--functions=short"}, Options{Functions: ShortNames}}} {
				samePeer(t, filtertest.TreeSource(tree), way, []string{tree}, log)
			}
		})
	}
}

// putFile copies a file to a path.
func putFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o777)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// buildID returns the build ID of a file, in digits.
func buildID(t *testing.T, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note := f.Section(".note.gnu.build-id")
	if note == nil {
		t.Fatal(path, " has no build ID")
	}
	data, err := note.Data()
	i := bytes.Index(data, []byte("GNU\x00"))
	if err != nil || i < 0 {
		t.Fatalf("%s: %q, %v", path, data, err)
	}
	return hex.EncodeToString(data[i+4:])
}
