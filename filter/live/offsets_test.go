package live_test

import (
	"context"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// TestOffsets holds that frames which are an offset in a module get the name and the line that llvm-symbolizer has for it, whatever their
// emitter counts from: the file, the image, or the mapping of its code.
func TestOffsets(t *testing.T) {
	needTool(t, "gcc", "gcc")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "a.c"), filepath.Join(dir, "libx.so")
	program := strings.Replace(tracedSource, "NOINLINE int middle", `int middle(int) __asm__("\"kfun:middle\"");`+"\nNOINLINE int middle", 1) // as Kotlin's are
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	// The mapping of the code begins neither where the image does nor at its offset in the file.
	build := exec.Command("gcc", "-g", "-O1", "-pie", "-Wl,--build-id", "-Wl,-z,separate-code", "-Wl,-Ttext-segment=0x10000", "-o", lib, source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil {
		t.Fatal(err)
	}
	id := hex.EncodeToString(note[16:])
	base, code := uint64(1<<63), (*elf.Prog)(nil)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			if base = min(base, p.Vaddr); p.Flags&elf.PF_X != 0 {
				code = p
			}
		}
	}
	base &^= 0xfff
	call := returnsTo(t, lib, "kfun:middle", "leaf")
	image, file, text := call-base, call-code.Vaddr+code.Off, call-code.Vaddr
	out, err := exec.Command("llvm-symbolizer-22", "--obj="+lib, "--output-style=GNU", fmt.Sprintf("%#x", call-1)).Output()
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(out))
	want := fields[0] + " " + fields[1]
	found, err := locate.New(locate.Options{Objects: []string{lib}})
	if err != nil {
		t.Fatal(err)
	}
	for emitter, line := range map[string]string{
		"gadget":          fmt.Sprintf("[0]%s +%x; [1]%s +%x; ", id, file, id, file),
		"bpftrace":        fmt.Sprintf("Attaching 1 probe...\n%s %#x", id, file),
		"bpftrace, a map": fmt.Sprintf("Attached 2 probes\n@[\n%s %#x", id, file),
		"core_backtrace":  fmt.Sprintf("              , {   \"address\": 1\n                ,   \"build_id\": \"%s\"\n                ,   \"build_id_offset\": %d\n                ,   \"file_name\": \"/x/libx.so\"", id, image),
		"satyr":           fmt.Sprintf(`{"address":1,"build_id":"%s","build_id_offset":%d,"file_name":"/x/libx.so"}`, id, image),
		"Datadog":         fmt.Sprintf(`{"ip":"0x7f0000001234","build_id":"%s","build_id_type":"GNU","file_type":"ELF","path":"/x/libx.so","relative_address":"%#018x"}`, id, call),
		"lldb":            fmt.Sprintf("    frame #1: 0x%016x libx.so`___lldb_unnamed_symbol_%x + 16", 0x7f0000000000+image, call-16),
		"Omniverse":       fmt.Sprintf("[Fatal] [carb.crashreporter-breakpad.plugin] 001: libx.so!+%#x", image),
		"Omniverse 2":     fmt.Sprintf("[Fatal] [carb.crashreporter-breakpad.plugin] 001: libx.so!kfun:middle+%#x", call-symbolAt(t, lib, "kfun:middle")),
		"NativeAOT":       fmt.Sprintf("   at libx.so!<BaseAddress>+%#x", image),
		"ftrace":          fmt.Sprintf(" => /x/libx.so[+%#x] <00007fa52731c130>", text),
		"MATLAB":          fmt.Sprintf("[  1] 0x00007f0000000000   /x/libx.so+%08d", image),
		"Kotlin":          fmt.Sprintf("        at 1   libx.so   0x%016x kfun:middle + %d [0x7f0000000000]", 0x7f0000000000+image, call-symbolAt(t, lib, "kfun:middle")),
		"apport":          fmt.Sprintf("StacktraceAddressSignature: /x/libx.so:11:/x/libx.so+%x", text),
		"OpenJ9":          fmt.Sprintf("4XENATIVESTACK               (0x%016X [libx.so+%#x])", 0x7f0000000000+image, image),
		"Ruby":            fmt.Sprintf("/x/libx.so(%#x) [%#x]", image, 0x7f0000000000+image),
		"FoundationDB":    fmt.Sprintf(`Trace="addr2line -e libx.so -p -C -f -i %#x"`, call),
		"OpenHarmony":     fmt.Sprintf("#01 pc %016x /system/lib64/libx.so(f(int, int)+64) (%s)", call-1, id),
		"OpenHarmony 2":   fmt.Sprintf("#01 pc %016x /system/lib64/libx.so(%s)   ", call-1, id),
		"Bugly":           fmt.Sprintf("#01    pc %016x    /data/app/libx.so (f+4) [arm64-v8a::%s]", call-1, id),
		"Bugly, no names": fmt.Sprintf("#01    pc %016x    /data/app/libx.so [arm64-v8a::%s]", call-1, id),
	} {
		var got strings.Builder
		filtered := filter.New(filter.Options{Symbols: object.NewSource(found)})
		// The first line of a stack is where the program was: here it is in a module that is not there.
		first := strings.NewReplacer("libx.so", "gone.so", id, strings.Repeat("0", len(id)), "#01", "#00", "[  1]", "[  0]", "at 1 ", "at 0 ").Replace(line)
		if emitter == "gadget" {
			first = ""
		}
		if err := filtered.Run(context.Background(), strings.NewReader(first+"\n"+line+"\n"), &got); err != nil {
			t.Fatal(err)
		}
		if text := strings.ReplaceAll(got.String(), dir, ""); !strings.Contains(text, strings.ReplaceAll(want, dir, "")) {
			t.Errorf("%s: no %q in %q", emitter, want, got.String())
		}
	}
}

// returnsTo returns the address after the call of a function in another one.
func returnsTo(t *testing.T, path, caller, callee string) uint64 {
	t.Helper()
	needTool(t, "objdump", "binutils")
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	in, called := false, false
	for line := range strings.Lines(string(out)) {
		switch {
		case strings.Contains(line, "<"+caller+">:"):
			in = true
		case in && called:
			var at uint64
			if _, err := fmt.Sscanf(strings.TrimSpace(line), "%x:", &at); err != nil {
				t.Fatalf("%v: %q", err, line)
			}
			return at
		case in:
			called = strings.Contains(line, "<"+callee+">")
		}
	}
	t.Fatalf("%s does not call %s", caller, callee)
	return 0
}
