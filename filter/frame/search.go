package frame

import (
	"bytes"
	"strings"

	"qss-filter/filter/scan"
)

// family is one format of frames.
type family struct {
	name string
	// mark is the text without which a line cannot hold such a frame; a blank in it may be a tab or the start of a line. next
	// is what stands behind the number that a mark of `+0x` begins, 0 for whatever may.
	mark string
	next byte
	// read reads the frame whose mark stands at line[at], of " 0x", "=0x" and "[0x" the number behind it; the frame lies in
	// line[from:].
	read func(s *Search, line []byte, at, from int, f *Frame) bool
}

// families are the known formats. Those with the same mark stand together and are asked in this order. Of frames of
// different marks the one that begins first wins, and of overlapping ones that of the mark listed first.
var families = [...]family{
	{"sanitizer", "#", 0, readNumbered},         // #N addr (elf+off)
	{"android", "#", 0, readAndroid},            // #NN pc off  /path (fn+n) (BuildId: id)
	{"systemd", "#", 0, readSystemd},            // #N  addr name (elf + off)
	{"gdb", "#", 0, readGDB},                    // #N  addr in name (args) from /path
	{"chromium", "#", 0, readChromium},          // #NN addr /path+off
	{"envoy", "#", 0, readEnvoy},                // #N: name [addr]
	{"mozilla", "#", 0, readMozilla},            // #NN: name[/path +off]
	{"dart", "#", 0, readDart},                  // #NN abs addr virt off symbol+n
	{"backward", "#", 0, readBackward},          // #N  Object "/path", at addr, in name
	{"numbered", "#", 0, readNumberOnly},        // #N addr name
	{"glibc", "+0x", ')', readGlibc},            // path(+off)[addr], path(fn+n)[addr]
	{"sentence", "+0x", ')', readSentence},      // SUMMARY: … (elf+off)
	{"kernel", "+0x", '/', readKernel},          // fn+n/size [mod id]
	{"hs_err", "+0x", ']', readHsErr},           // C  [lib+off]  name+n
	{"eu-stack", "+0x", 0, readElfutils},        // [id]@base+off
	{"perf", "+0x", ' ', readPerf},              // off name+n (path)
	{"seastar", "+0x", 0, readSeastarPath},      // /path+off
	{"tizen", "] + 0x", 0, readTizen},           // N: name + n (addr) [path] + off
	{"fields", "offset=0x", 0, readFields},      // name=value
	{"glibc", "[0x", 0, readGlibcPlain},         // path[addr]
	{"glog", " 0x", 0, readGlog},                // @     addr  name
	{"rust", " 0x", 0, readRust},                // N:     addr - name
	{"valgrind", " 0x", 0, readValgrind},        // by addr: name (in /path)
	{"go", "=0x", 0, readGo},                    // pc=addr
	{"tizen", " 0x", 0, readTizenAddress},       // addr: name() from /path
	{"seastar", " 0x", 0, readSeastarAddress},   // Backtrace: addr addr
	{"llvm", " 0x", 0, readPrettyStack},         // N  lib  addr name + n
	{"op-tee", " 0x", 0, readOPTEE},             // D/TC:4 0  addr
	{"perf", "[unknown] (", 0, readPerfUnknown}, // off [unknown] (path)
}

// A line is searched for three texts: the first one is that of by far the most frames, and the marks that end in 0x are told
// apart by the byte before it.
const (
	hashText = iota
	hexText
	unknownText
	textCount
)

var texts = [textCount][]byte{hashText: []byte("#"), hexText: hexPrefix, unknownText: perfUnknown}

// byText are the families of a text, and byHex those of the second one by the byte before it.
var (
	byText [textCount][]family
	byHex  [256][]family
)

func init() {
	for _, f := range families {
		if before, ok := strings.CutSuffix(f.mark, "0x"); ok {
			c := before[len(before)-1]
			byHex[c] = append(byHex[c], f)
			continue
		}
		for i, text := range texts {
			if f.mark == string(text) {
				byText[i] = append(byText[i], f)
			}
		}
	}
	byHex['\t'], byHex['\n'] = byHex[' '], byHex[' ']
}

// Families are the names that a frame's Family can have.
func Families() []string {
	var names []string
	seen := map[string]bool{}
	for _, f := range families {
		if !seen[f.name] {
			seen[f.name] = true
			names = append(names, f.name)
		}
	}
	return names
}

// Search finds the frames of one line after another. It keeps what each text found ahead of the others, so that the
// time for a line grows with its length whatever it holds.
type Search struct {
	line  []byte
	next  [textCount]Frame
	found [textCount]bool
	// clear is up to where no frame of the text begins.
	clear [textCount]int
	// left is how many bytes readers may still look at beside the frames that they find, below 0 where the line's are used up.
	left int
	// sentence is whether the line holds a word that begins a sanitizer's sentence.
	sentence presence
}

// Reset turns to another line, which must not change while it is searched.
func (s *Search) Reset(line []byte) {
	s.line, s.found, s.clear = line, [textCount]bool{}, [textCount]int{}
	s.sentence = unsearched
	s.left = leastLook + lookPerByte*len(line)
}

// Spent reports whether a line held so much that is almost a frame that the search ended before the line did.
func (s *Search) Spent() bool { return s.left < 0 }

// spend counts bytes that a reader looks at, and reports whether it may.
func (s *Search) spend(n int) bool {
	s.left -= n
	return s.left >= 0
}

// spendFast is spend for bytes that are looked at 16 at a time.
func (s *Search) spendFast(n int) bool { return s.spend(n>>4 + 1) }

// lastIndex is bytes.LastIndex.
func (s *Search) lastIndex(b, sep []byte) int {
	i := bytes.LastIndex(b, sep)
	s.spend(len(b) - max(0, i))
	return i
}

const (
	// minFrame is the length of the shortest frame in bytes, `pc=0x1`.
	minFrame = 6
	// leastLook and lookPerByte bound the bytes that readers look at to tell a frame: some look back or ahead by maxModule. What
	// logs hold takes a twentieth of that at most.
	leastLook   = 1 << 16
	lookPerByte = 32
)

// lastIndexByte is bytes.LastIndexByte.
func (s *Search) lastIndexByte(b []byte, c byte) int {
	i := bytes.LastIndexByte(b, c)
	s.spend(len(b) - max(0, i))
	return i
}

// Next returns the first frame at or after from, nil where there is none; from must not go back. The Frame is good until
// the next call. It allocates nothing.
func (s *Search) Next(from int) *Frame {
	limit := len(s.line)
	if limit-from < minFrame {
		return nil
	}
	var first *Frame
	for i := range texts {
		// A frame that is found bounds the search for those before it; those of the last text stand alone.
		if first != nil && (limit-from < minFrame || i == unknownText) {
			break
		}
		f := &s.next[i]
		if s.found[i] && f.Whole.Start < from {
			s.found[i] = false
		}
		if !s.found[i] {
			s.scan(i, from, limit)
		}
		if s.found[i] && (first == nil || f.Whole.Start < limit) {
			first, limit = f, f.Whole.Start
		}
	}
	return first
}

// scan looks for the next frame of a text in line[from:limit].
func (s *Search) scan(i, from, limit int) {
	line, f := s.line[:limit], &s.next[i]
	at := max(from, s.clear[i])
	for s.spend(1) {
		if at = indexFrom(line, texts[i], at); at < 0 {
			s.clear[i] = max(s.clear[i], limit)
			return
		}
		if i == hexText {
			s.found[i] = s.readHex(line, at, from, f)
		} else {
			s.found[i] = s.readAny(byText[i], line, at, from, f)
		}
		if s.Spent() {
			break // what was read in a hurry does not count
		}
		if s.found[i] {
			return
		}
		at++
	}
	s.found[i], s.clear[i] = false, len(s.line)
}

// readAny asks one family after another.
func (s *Search) readAny(families []family, line []byte, at, from int, f *Frame) bool {
	for i := range families {
		if families[i].read(s, line, at, from, f) {
			f.Family = families[i].name
			return true
		}
	}
	return false
}

// readHex asks those families that the bytes beside the number at line[at] allow.
func (s *Search) readHex(line []byte, at, from int, f *Frame) bool {
	before := byte(' ')
	if at > 0 {
		before = line[at-1]
	}
	may := byHex[before]
	if len(may) == 0 {
		return false
	}
	var next byte
	if before == '+' {
		next = nextByte(line, at)
	}
	for i := range may {
		fam, start := &may[i], at
		if fam.next != 0 && fam.next != next {
			continue
		}
		if n := len(fam.mark) - len("0x"); n > 1 || before == '+' {
			if start -= n; start < from || n > 1 && !scan.Has(line, start, fam.mark) {
				continue
			}
		}
		if fam.read(s, line, start, from, f) {
			f.Family = fam.name
			return true
		}
	}
	return false
}

// nextByte returns the byte behind the number at line[at], 0 at the end.
func nextByte(line []byte, at int) byte {
	if at = scan.HexEnd(line, at+len("0x")); at == len(line) {
		return 0
	}
	return line[at]
}

// Candidate tells, at the cost of a few searches, whether line can hold a frame worth looking for. Numbered lines without
// a module count only where a stack is being renumbered, absolute addresses only where a process's mappings are known.
func Candidate(line []byte, renumbering, mapped bool) bool {
	return mapped && bytes.Contains(line, hexPrefix) ||
		bytes.Contains(line, plus0x) || bytes.Contains(line, offset0x) ||
		renumbering && bytes.IndexByte(line, '#') >= 0 ||
		bytes.Contains(line, pcWord) || bytes.Contains(line, plusBlank0x) || bytes.Contains(line, bracket0x) ||
		bytes.Contains(line, virtWord) || bytes.Contains(line, perfUnknown)
}

// What a frame that can be looked up without the process's mappings holds one of:
var (
	plus0x      = []byte("+0x")         // most families
	offset0x    = []byte("offset=0x")   // fields
	pcWord      = []byte(" pc ")        // android
	plusBlank0x = []byte("+ 0x")        // systemd, tizen
	bracket0x   = []byte("[0x")         // glibc in programs that are not position-independent
	virtWord    = []byte(" virt ")      // dart
	perfUnknown = []byte("[unknown] (") // perf
)

// hexPrefix is what every absolute address holds, but those of dart and perf.
var hexPrefix = []byte("0x")
