package frame

import "bytes"

// family is one format of frames.
type family struct {
	name string
	// mark is the text without which a line cannot hold such a frame.
	mark string
	// read reads the frame whose mark stands at line[at]; the frame lies in line[from:].
	read func(line []byte, at, from int, f *Frame) bool
}

// families are the known formats. Those with the same mark stand together and are asked in this order. Of frames of
// different marks the one that begins first wins, and of overlapping ones that of the mark listed first.
var families = [...]family{
	{"sanitizer", "#", readNumbered},         // #N addr (elf+off)
	{"android", "#", readAndroid},            // #NN pc off  /path (fn+n) (BuildId: id)
	{"systemd", "#", readSystemd},            // #N  addr name (elf + off)
	{"gdb", "#", readGDB},                    // #N  addr in name (args) from /path
	{"chromium", "#", readChromium},          // #NN addr /path+off
	{"envoy", "#", readEnvoy},                // #N: name [addr]
	{"mozilla", "#", readMozilla},            // #NN: name[/path +off]
	{"dart", "#", readDart},                  // #NN abs addr virt off symbol+n
	{"backward", "#", readBackward},          // #N  Object "/path", at addr, in name
	{"numbered", "#", readNumberOnly},        // #N addr name
	{"glibc", "+0x", readGlibc},              // path(+off)[addr], path(fn+n)[addr]
	{"sentence", "+0x", readSentence},        // SUMMARY: … (elf+off)
	{"kernel", "+0x", readKernel},            // fn+n/size [mod id]
	{"hs_err", "+0x", readHsErr},             // C  [lib+off]  name+n
	{"eu-stack", "+0x", readElfutils},        // [id]@base+off
	{"perf", "+0x", readPerf},                // off name+n (path)
	{"seastar", "+0x", readSeastarPath},      // /path+off
	{"tizen", "] + 0x", readTizen},           // N: name + n (addr) [path] + off
	{"fields", "offset=0x", readFields},      // name=value
	{"glibc", "0x", readGlibcPlain},          // path[addr]
	{"glog", "0x", readGlog},                 // @     addr  name
	{"rust", "0x", readRust},                 // N:     addr - name
	{"valgrind", "0x", readValgrind},         // by addr: name (in /path)
	{"go", "0x", readGo},                     // pc=addr
	{"tizen", "0x", readTizenAddress},        // addr: name() from /path
	{"seastar", "0x", readSeastarAddress},    // Backtrace: addr addr
	{"llvm", "0x", readPrettyStack},          // N  lib  addr name + n
	{"op-tee", "0x", readOPTEE},              // D/TC:4 0  addr
	{"perf", "[unknown] (", readPerfUnknown}, // off [unknown] (path)
}

// group is the run of families with one mark.
type group struct {
	mark     []byte
	families []family
}

// groups are the families by mark; the first one's frames are by far the most common.
var groups = groupFamilies()

// markCount is how many marks the families have; a test holds the two together.
const markCount = 6

func groupFamilies() (g [markCount]group) {
	k := -1
	for i, f := range families {
		if k < 0 || string(g[k].mark) != f.mark {
			k++
			g[k] = group{mark: []byte(f.mark), families: families[i:i]}
		}
		g[k].families = g[k].families[:len(g[k].families)+1]
	}
	return g
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

// Search finds the frames of one line after another. It keeps what each mark found ahead of the others, so that the
// time for a line grows with its length whatever it holds.
type Search struct {
	line  []byte
	next  [markCount]Frame
	found [markCount]bool
	// clear is up to where no frame of the mark begins.
	clear [markCount]int
}

// Reset turns to another line, which must not change while it is searched.
func (s *Search) Reset(line []byte) {
	s.line, s.found, s.clear = line, [markCount]bool{}, [markCount]int{}
}

const (
	// minFrame is the length of the shortest frame in bytes, `pc=0x1`.
	minFrame = 6
	// maxMarks is how many marks without a frame are passed over in one search: some readers look back or ahead by
	// maxModule to tell.
	maxMarks = 1 << 12
)

// Next gives the first frame at or after from, nil where there is none; from must not go back. The Frame is good until
// the next call. It allocates nothing.
func (s *Search) Next(from int) *Frame {
	var first *Frame
	limit := len(s.line)
	for i := range groups {
		// A frame that is found bounds the search for those before it, and all of the other marks hold 0x or come alone.
		if first != nil && (limit-from < minFrame || i == 1 && !bytes.Contains(s.line[from:limit], hexPrefix)) {
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

// scan looks for the next frame of a mark in line[from:limit].
func (s *Search) scan(i, from, limit int) {
	g, f := &groups[i], &s.next[i]
	line := s.line[:limit]
	at := max(from, s.clear[i])
	for range maxMarks {
		if at = indexFrom(line, g.mark, at); at < 0 {
			s.clear[i] = max(s.clear[i], limit)
			return
		}
		for k := range g.families {
			if g.families[k].read(line, at, from, f) {
				f.Family = g.families[k].name
				s.found[i] = true
				return
			}
		}
		at++
	}
	s.clear[i] = len(s.line)
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
