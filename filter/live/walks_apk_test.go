package live_test

import (
	"archive/zip"
	"debug/elf"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print/jsonl"
)

// storedAt writes an archive in which a file is stored uncompressed at a page, as in an APK, and returns where.
func storedAt(t *testing.T, archive, name string, content []byte) uint64 {
	t.Helper()
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := zip.NewWriter(f)
	const header, page = 30, 4 << 10
	extra := make([]byte, 2*page-header-len(name))
	extra[0], extra[1] = 0x35, 0xd9 // zipalign's
	extra[2], extra[3] = byte((len(extra)-4)&0xff), byte((len(extra)-4)>>8)
	h := &zip.FileHeader{Name: name, Method: zip.Store, Extra: extra, UncompressedSize64: uint64(len(content)), CompressedSize64: uint64(len(content))}
	out, err := w.CreateRaw(h)
	if err == nil {
		_, err = out.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 2 * page
}

// TestChromiumInAPK holds that frames get the right names of which Chromium has printed the distance into a mapping of an APK.
func TestChromiumInAPK(t *testing.T) {
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	needTool(t, "objdump", "binutils")
	for _, build := range [][]string{
		{"gcc", "-O1"}, {"gcc", "-O1", "-Wl,-z,noseparate-code"}, {"clang-22", "-O1", "--ld-path=/usr/bin/ld.lld-22"},
	} {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			needTool(t, build[0], build[0])
			dir := t.TempDir()
			library := filepath.Join(t.TempDir(), "libwalks.so")
			args := slices.Concat(build[1:], []string{"-w", "-g", "-shared", "-fPIC", "-o", library, "testdata/walks.c"})
			if out, err := exec.Command(build[0], args...).CombinedOutput(); err != nil {
				t.Skipf("%v: %v\n%s", build, err, out)
			}
			content, err := os.ReadFile(library)
			if err != nil {
				t.Fatal(err)
			}
			begin := storedAt(t, filepath.Join(dir, "base.apk"), "lib/x86_64/libwalks.so", content)
			e, err := elf.Open(library)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			returns := slices.Sorted(maps.Keys(returnsOf(t, library)))
			var log, unclear strings.Builder
			var at []uint64
			for _, r := range returns {
				for _, p := range e.Progs {
					if p.Type == elf.PT_LOAD && r > p.Vaddr && r-p.Vaddr < p.Filesz && p.Flags&elf.PF_X != 0 {
						at = append(at, r-1)
						pc, offset := r-1-p.Vaddr&^0xfff, begin+p.Off&^0xfff
						fmt.Fprintf(&log, "#%02d pc 0x%016x /data/app/x/base.apk (offset %#x)\n", len(at), pc, offset)
						if offset != begin {
							fmt.Fprintf(&unclear, "    #%02d pc %016x  /data/app/x/base.apk (offset %#x)\n", len(at), pc, offset)
						}
					}
				}
			}
			for _, f := range framesOf(t, sourceOf(t, dir), unclear.String(), false) {
				if len(f.Functions) > 0 { // in Android 9 pc counts from the file, and before from the mapping
					t.Errorf("%s has the name %s", f.Text, f.Functions[0].Function)
				}
			}
			want, right := functionsAt(t, library, at), 0
			out := filtertest.RunAll(t, filter.Options{Symbols: sourceOf(t, dir), JSON: &jsonl.Options{}}, strings.NewReader(log.String()))
			for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
				var l struct {
					Text   string
					Frames []provenFrame
				}
				if err := json.Unmarshal([]byte(line), &l); err != nil || len(l.Frames) != 1 {
					t.Fatalf("%s: %v", line, err)
				}
				if len(l.Frames[0].Functions) == 0 {
					if want[i] != " 0" {
						t.Logf("%s: %s, want %s", l.Text, l.Frames[0].Reason, want[i])
					}
					continue
				}
				f := l.Frames[0].Functions[0]
				if got := plain(f.Function) + " " + strconv.Itoa(f.Line); got != want[i] {
					t.Errorf("%s: %s, want %s", l.Text, got, want[i])
				}
				right++
			}
			if t.Logf("%d of %d frames have names", right, len(at)); right < 30 || right*100 < len(at)*85 {
				t.Error("too few")
			}
		})
	}
}
