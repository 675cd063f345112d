package main

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// object is a file with debug information from a Debian package, and what is made of it.
type object struct {
	name, pack string
	shipped    string // where the package has it
	id         string // its build ID
	low, high  uint64 // .text
	functions  []elf.Symbol
}

// objects are those that spread from small to large, from C to heavily inlined C++. The package of the kernel is named
// after its version: any that is installed will do.
var objects = []object{
	{name: "libc", pack: "libc6-dbg"},
	{name: "python", pack: "python3.11-dbg"},
	{name: "libstdcxx", pack: "libstdc++6-12-dbg"},
	{name: "vmlinux", pack: "linux-image-6.1.0-*-amd64-dbg"},
	{name: "ceph", pack: "ceph-osd-dbg"},
}

var hasDebug = regexp.MustCompile(`(\.debug|/vmlinux-[^/]*|\.so[.0-9]*)$`)

// find looks for the largest file of the package that has debug information.
func (o *object) find() error {
	list := "dpkg-query -L $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' '" + o.pack + "' | sed -n 's/^installed //p' | head -n 1)"
	out, err := exec.Command("/bin/sh", "-c", list+" 2>/dev/null").Output()
	if err != nil {
		return fmt.Errorf("%s is not installed", o.pack)
	}
	largest := int64(0)
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() > largest && hasDebug.MatchString(path) {
			o.shipped, largest = path, st.Size()
		}
	}
	if o.shipped == "" {
		return fmt.Errorf("%s has no file with debug information", o.pack)
	}
	return o.read()
}

// read takes from the file what logs are made of.
func (o *object) read() error {
	f, err := elf.Open(o.shipped)
	if err != nil {
		return err
	}
	defer f.Close()
	text, note := f.Section(".text"), f.Section(".note.gnu.build-id")
	if note == nil {
		note = f.Section(".notes") // the kernel's
	}
	if text == nil || note == nil {
		return fmt.Errorf("%s has no .text or no build ID", o.shipped)
	}
	data, err := note.Data()
	if err != nil {
		return err
	}
	_, id, found := strings.Cut(string(data), "\x03\x00\x00\x00GNU\x00")
	if !found || len(id) < 20 {
		return fmt.Errorf("%s has no build ID", o.shipped)
	}
	o.id, o.low, o.high = hex.EncodeToString([]byte(id[:20])), text.Addr, text.Addr+text.Size
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("%s: %w", o.shipped, err)
	}
	o.functions = slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || s.Value < o.low || s.Value+s.Size > o.high
	})
	if len(o.functions) == 0 {
		return fmt.Errorf("%s has no functions", o.shipped)
	}
	return nil
}

// variants are the forms of an object: with plain sections, the same without .debug_aranges, and with sections packed.
var variants = map[string][]string{
	"plain":     {"objcopy", "--decompress-debug-sections"},
	"noaranges": {"objcopy", "--decompress-debug-sections", "--remove-section=.debug_aranges"},
	"zlib":      {"objcopy", "--compress-debug-sections=zlib"},
}

// variant makes a form of the object in a directory of its own below dir, as xx/yyyy.debug below .build-id, unless it is
// there from an earlier run.
func (o *object) variant(dir, form string) (root string, err error) {
	root = filepath.Join(dir, o.name+"-"+form)
	path := o.path(root)
	if _, err := os.Stat(path); err == nil {
		return root, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	made := path + ".part"
	out, err := exec.Command(variants[form][0], append(variants[form][1:], o.shipped, made)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("objcopy %s (Debian: binutils): %w: %s", o.shipped, err, out)
	}
	return root, os.Rename(made, path)
}

// path is where the object lies below a directory of debug files.
func (o *object) path(root string) string {
	return filepath.Join(root, ".build-id", o.id[:2], o.id[2:]+".debug")
}

// sample returns n addresses of .text, the same ones in every run.
func (o *object) sample(n int) []uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	addrs := make([]uint64, n)
	for i := range addrs {
		addrs[i] = o.low + rng.Uint64N(o.high-o.low)
	}
	return addrs
}

// inFunctions returns an address in each of n random functions.
func (o *object) inFunctions(n int) []uint64 {
	rng := rand.New(rand.NewPCG(5, 6))
	addrs := make([]uint64, n)
	for i := range addrs {
		s := &o.functions[rng.IntN(len(o.functions))]
		addrs[i] = s.Value + rng.Uint64N(s.Size)
	}
	return addrs
}

// loadBase is what addresses in memory are above those in the file; those of the kernel wrap.
const loadBase uint64 = 0x7f0000000000

// context are the lines that say where the object lies in memory.
func (o *object) context() string {
	return fmt.Sprintf("{{{reset}}}\n{{{module:0:/lib/%s:elf:%s}}}\n{{{mmap:%#x:%#x:load:0:rx:%#x}}}\n", o.name, o.id, loadBase+o.low, o.high-o.low, o.low)
}

// markupFrames returns the addresses as frames of symbolizer markup.
func markupFrames(addrs []uint64) []string {
	var lines []string
	for i, a := range addrs {
		lines = append(lines, fmt.Sprintf("{{{bt:%d:%#x:pc}}}\n", i%20, loadBase+a))
	}
	return lines
}

// pairFrames writes them as sanitizers write frames.
func pairFrames(o *libc, addrs []uint64) []string {
	var lines []string
	for i, a := range addrs {
		lines = append(lines, fmt.Sprintf("    #%d %#x  (/lib/%s+%#x) (BuildId: %s)\n", i%20, loadBase+a, o.name, a, o.id))
	}
	return lines
}

// write makes a log of frames alone.
func (o *object) write(path string, addrs []uint64) error {
	return os.WriteFile(path, []byte(o.context()+strings.Join(markupFrames(addrs), "")), 0o644)
}

// libc is the C library, of which the logs of text are made.
type libc struct {
	*object
	plainDir string // where its debug file with plain sections lies
}

// installed are the objects that are there; what is not is said.
func installed() (found []*object, err error) {
	for i := range objects {
		o := &objects[i]
		if err := o.find(); err != nil {
			fmt.Printf("%s: skipped: %v (-install)\n", o.name, err)
			continue
		}
		found = append(found, o)
	}
	if len(found) == 0 {
		return nil, errors.New("nothing to measure with: this needs a Debian machine")
	}
	return found, nil
}
