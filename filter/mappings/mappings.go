// Package mappings recognizes what programs and crash reporters print of a process's address space besides symbolizer markup: the
// lines of its list of mappings, the headlines above one, and the build IDs of its modules.
//
// It knows text only and keeps no state: a reader returns what one line says.
package mappings

import (
	"bytes"

	"qss-filter/filter/match"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Format is the layout of a list of mappings.
type Format uint8

const (
	Proc          Format = iota // /proc/PID/maps, and "Dynamic libraries" of Java's hs_err
	Tombstone                   // "memory map" of Android's tombstones
	Tizen                       // "Maps Information" of Tizen's crash reports
	Sanitizer                   // "Process memory map" of the sanitizers
	GDB                         // gdb's "info proc mappings"
	JSON                        // objects of JSON
	Images                      // images below the stacks of swift-backtrace
	AppleImages                 // images below the stacks of Apple's reports
	TrustedImages               // those of OP-TEE's core, or of a trusted application
)

// Mapping is what one line of a list says. Its slices share the line's memory, but for a Path that was written with escapes.
type Mapping struct {
	Format Format
	// Start and Last are the first and the last address, both inclusive.
	Start, Last uint64
	// Space says what the module's addresses in the mapping count from; Offset is that of Start, where the list has one.
	Space  symsrc.Space
	Offset uint64
	// Mode is one or more of "rwx", in this order; it is empty for a mapping without access.
	Mode string
	// Path is the file that is mapped; it is empty where there is none, and where nothing can be said of it.
	Path []byte
	// Written is the path as it stands in the log, where that has octal escapes.
	Written []byte
	// BuildID is raw bytes.
	BuildID string
}

// maxLine bounds the length of a line that is looked at, in bytes: a path is at most 4096.
const maxLine = 4096 + 256

// minLine is the length of the shortest one.
const minLine = 20

var fault = []byte("--->") // marks the mapping of the fault in a tombstone

// Parse reads a line of a list of mappings. ok is false for any other line.
func Parse(text []byte) (m Mapping, ok bool) {
	text = bytes.Trim(text, " \t\r")
	if len(text) < minLine || len(text) > maxLine {
		return m, false
	}
	if m, ok = trusted(text); ok {
		return m, true
	}
	if m, ok = core(text); ok {
		return m, true
	}
	s := &fields{bytes.TrimPrefix(text, fault)}
	var prefixed bool
	if m.Start, prefixed, ok = s.address(); !ok {
		return m, false
	}
	dash := s.byte('-')
	switch {
	case dash && prefixed:
		return m.sanitizer(s)
	case dash:
		return m.ranged(s)
	case prefixed:
		return m.gdb(s)
	}
	return m.tizen(s)
}

// Names reports whether the mapping names a file, as those of stacks, heaps and anonymous memory do not.
func (m *Mapping) Names() bool {
	return len(m.Path) > 0 && m.Path[0] != '[' && !bytes.HasPrefix(m.Path, []byte("anon_inode:"))
}

// sanitizer reads what follows `0xA-`, such as `0x55cf1954f000-0x55cf19550000	/path`. There are no offsets.
func (m Mapping) sanitizer(s *fields) (Mapping, bool) {
	end, prefixed, ok := s.address()
	if !ok || !prefixed || len(s.rest) < 2 || s.rest[0] != '\t' {
		return m, false
	}
	m.Format, m.Space, m.Path = Sanitizer, symsrc.InImage, bytes.TrimLeft(s.rest, "\t ")
	return m.until(end)
}

// ranged reads what follows `A-` in /proc/PID/maps and in tombstones, whose end is inclusive:
//
//	55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /path
//	0000006d'682c1000-0000006d'6838ffff r-x  0  cf000  /path (BuildId: 53b1) (load bias 0x4000)
func (m Mapping) ranged(s *fields) (Mapping, bool) {
	end, prefixed, ok := s.address()
	if !ok || prefixed {
		return m, false
	}
	perms := s.word()
	var isPerms, okOffset bool
	m.Space = symsrc.InFile
	m.Mode, isPerms = permissions(perms)
	m.Offset, _, okOffset = s.address()
	if !isPerms || !okOffset {
		return m, false
	}
	if len(perms) == len("r-x") {
		if _, _, ok := s.address(); !ok { // the size
			return m, false
		}
		m.Format, m.Last = Tombstone, end
		m.Path, m.BuildID = cutNotes(s.rest)
		return m, m.Last >= m.Start
	}
	if device := s.word(); bytes.IndexByte(device, ':') < 0 {
		return m, false
	}
	if inode := s.word(); !isDecimal(inode) {
		return m, false
	}
	m.Format, m.Path = Proc, unescapeOctal(s.rest)
	if len(m.Path) < len(s.rest) {
		m.Written = s.rest
	}
	return m.until(end)
}

// gdb reads what follows the start address: end, size and offset, permissions in newer versions, path, as in
// `0x555555554000  0x555555555000  0x1000  0x0  r--p  /path`.
func (m Mapping) gdb(s *fields) (Mapping, bool) {
	end, _, ok := s.address()
	size, _, okSize := s.address()
	offset, prefixed, okOffset := s.address()
	if !ok || !okSize || !okOffset || !prefixed || end-m.Start != size {
		return m, false
	}
	before := s.rest
	var isPerms bool
	if m.Mode, isPerms = permissions(s.word()); !isPerms {
		m.Mode, s.rest = "rx", before
	}
	m.Format, m.Space, m.Offset, m.Path = GDB, symsrc.InFile, offset, s.rest
	return m.until(end)
}

// tizen reads what follows the start address: end, permissions, path, as in `b7461000 b75d2000 r-xp /lib/libc-2.13.so`. Without
// offsets nothing can be said of other mappings than that of the text.
func (m Mapping) tizen(s *fields) (Mapping, bool) {
	end, prefixed, ok := s.address()
	perms := s.word()
	mode, isPerms := permissions(perms)
	if !ok || prefixed || !isPerms || len(perms) != len("r-xp") || len(s.rest) == 0 || s.rest[0] != '/' && s.rest[0] != '[' {
		return m, false
	}
	m.Format, m.Space, m.Mode, m.Path = Tizen, symsrc.InText, mode, s.rest
	if mode != "rx" {
		m.Path = nil
	}
	return m.until(end)
}

// until sets the end, which is exclusive.
func (m Mapping) until(end uint64) (Mapping, bool) {
	m.Last = end - 1
	return m, end > m.Start
}

// fields takes a line apart.
type fields struct{ rest []byte }

// word takes the next word, and the spaces after it.
func (s *fields) word() []byte {
	n := bytes.IndexAny(s.rest, " \t")
	if n < 0 {
		n = len(s.rest)
	}
	w := s.rest[:n]
	s.rest = scan.TrimLeft(s.rest[n:])
	return w
}

// byte takes c if it is next.
func (s *fields) byte(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// address takes a hexadecimal number, with or without 0x, whose digits an apostrophe may divide, and the spaces after it, but no
// tab.
func (s *fields) address() (v uint64, prefixed, ok bool) {
	b := bytes.TrimLeft(s.rest, " ")
	if bytes.HasPrefix(b, []byte("0x")) {
		prefixed, b = true, b[2:]
	}
	v, n, ok := scan.Hex(b, 0)
	for ok && n < len(b) && b[n] == '\'' {
		low, end, more := scan.Hex(b, n+1)
		if digits := end - n - 1; more {
			ok = v>>max(0, 64-4*digits) == 0
			v = v<<(4*digits) | low
		} else {
			ok = digits == 0 // after a last apostrophe
		}
		n = end
	}
	if !ok || n < len(b) && b[n] != ' ' && b[n] != '-' && b[n] != '\t' {
		return 0, prefixed, false
	}
	s.rest = bytes.TrimLeft(b[n:], " ")
	return v, prefixed, true
}

func isDecimal(b []byte) bool {
	for _, c := range b {
		if !scan.IsDigit(c) {
			return false
		}
	}
	return true
}

// permissions reads `r-xp`, or `r-x` without the last letter.
func permissions(b []byte) (mode string, ok bool) {
	if len(b) != 3 && len(b) != 4 || len(b) == 4 && b[3] != 'p' && b[3] != 's' {
		return "", false
	}
	set := 0
	for i, c := range b[:3] {
		switch c {
		case "rwx"[i]:
			set |= 1 << i
		case '-':
		default:
			return "", false
		}
	}
	return modes[set], true
}

// modes are the permissions by their bits: 1 for r, 2 for w, 4 for x.
var modes = [...]string{"", "r", "w", "rw", "x", "rx", "wx", "rwx"}

// cutNotes takes the notes off an Android path: ` (BuildId: …)`, ` (load bias 0x…)`.
func cutNotes(b []byte) (path []byte, buildID string) {
	if i := bytes.LastIndex(b, []byte(" (load bias ")); i >= 0 {
		b = b[:i]
	}
	for end := len(b); ; {
		i := bytes.LastIndex(b[:end], []byte(" ("))
		if i < 0 {
			return b, ""
		}
		if id, e, ok := scan.BuildID(b, i); ok && e == len(b) {
			return b[:i], string(symsrc.ReadBuildID(id.Of(b)))
		}
		end = i
	}
}

// unescapeOctal reads `\040` and the like, as proc(5) writes spaces and line breaks of a path.
func unescapeOctal(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		if b[0] == '\\' && len(b) >= 4 && b[1]-'0' <= 3 && b[2]-'0' <= 7 && b[3]-'0' <= 7 {
			out = append(out, (b[1]-'0')<<6|(b[2]-'0')<<3|(b[3]-'0'))
			b = b[4:]
			continue
		}
		out = append(out, b[0])
		b = b[1:]
	}
	return out
}

// How many lines after one that announces something are to be looked at whatever they hold: after Android's banner stand the
// process and the build ID, after a mapping the next one.
const (
	bannerWindow = 40
	Window       = 2
)

// Literals returns what a stream is searched for: a line of a list without any of them follows one that announces it, or another
// line of its list.
func Literals() []match.Literal {
	return []match.Literal{
		{Text: string(banner), When: match.Always},
		{Text: "==" + string(memoryMap), When: match.Always},
		{Text: "r-x", When: match.Always, Fits: isMode},
		{Text: string(buildIDWord), When: match.Always, Fits: followsModule},
		{Text: string(clickHouseHash), When: match.Always, Fits: followsBuildID},
		{Text: string(fuchsiaID), After: match.Hex, When: match.Always},
	}
}

// isMode reports whether `r-x` may be the mode of a mapping, which stands after an address.
func isMode(line []byte, at int) bool {
	i := scan.BackSpaces(line, 0, at)
	return i < at && (i == 0 || scan.IsHex(line[i-1]))
}

// followsModule reports whether a build ID may be that of a module which is named before it, as systemd-coredump writes.
func followsModule(line []byte, at int) bool { return bytes.Contains(line[:at], moduleHeadline) }

// followsBuildID reports whether ClickHouse's hash stands after a build ID.
func followsBuildID(line []byte, at int) bool { return bytes.Contains(line[:at], clickHouseID) }

var (
	banner    = []byte("*** *** ***")                // Android's
	memoryMap = []byte("Process memory map follows") // after the prefix ==PID==
)

// Words are in the texts that Announces, Heads and BuildID know.
var Words = match.Subscribe(string(banner), string(memoryMap), string(dartBuildID), string(clickHouseHash), string(moduleField)+string(bar),
	string(buildIDWord), string(fuchsiaID))

// Announces returns how many lines after text are to be looked at whatever they hold, 0 for a text that announces nothing. words are those
// that the text holds.
func Announces(text []byte, words match.Words) int {
	switch {
	case !words.Any(Words):
	case bytes.Contains(text, banner):
		return bannerWindow
	case bytes.Contains(text, memoryMap):
		return Window
	}
	return 0
}

// Heads reports whether text is the line before a list.
func Heads(text []byte) bool { return bytes.Contains(text, memoryMap) }

// maxFileName is the length of the longest name of a file.
const maxFileName = 255

var (
	dartBuildID    = []byte("build_id: '")
	moduleHeadline = []byte("Module ")
	buildIDWord    = []byte("build-id")
	bar            = []byte("|")
	moduleField    = []byte("Module")
	fuchsiaID      = []byte("dso: id=")
	clickHouse     = []byte("clickhouse")
	clickHouseID   = []byte(", build id: ")
	clickHouseHash = []byte(", git hash: ")
)

// BuildID reads a build ID that stands elsewhere than at a frame, and the base name of its module:
//
//	build_id: '369f…'                                            above the frames of a Dart program; the name is nil
//	Module libfoo.so from rpm foo-1.2.x86_64, build-id=67f5…     systemd-coredump
//	Module libfoo.so with build-id 67f5…
//	dso: id=773627f59f0eab9eece83b31d05d685e001bd9f2 base=0x65ccdbd16000 name=libfdio.so     Fuchsia, before it had symbolizer markup
//	Module|libfoo.so|1.2|libfoo.so|E774DB…0|0x7f3735d35000|0x7f3735ecefff|0   minidump-stackwalk, for machines
//	(version 24.4.1.2088 (official build), build id: 6D0F…, git hash: …)     ClickHouse, of its only program
//
// words are those that the text holds.
func BuildID(text []byte, words match.Words) (module []byte, id symsrc.BuildID, ok bool) {
	if !words.Any(Words) {
		return nil, "", false
	}
	if i := bytes.Index(text, dartBuildID); i >= 0 {
		digits, _, closed := bytes.Cut(text[i+len(dartBuildID):], []byte("'"))
		id = symsrc.ReadBuildID(digits)
		return nil, id, closed && id != ""
	}
	if before, _, is := bytes.Cut(text, clickHouseHash); is {
		_, digits, stated := bytes.Cut(before, clickHouseID)
		id = symsrc.ReadBuildID(digits)
		return clickHouse, id, stated && id != ""
	}
	if fields := bytes.SplitN(text, bar, 6); len(fields) == 6 && bytes.Equal(fields[0], moduleField) {
		module = fields[1][bytes.LastIndexByte(fields[1], '/')+1:]
		id, ok = symsrc.ParseDebugID(fields[4])
		return module, id, ok && len(module) > 0 && len(module) <= maxFileName
	}
	if _, list, is := bytes.Cut(text, fuchsiaID); is {
		digits, rest, _ := bytes.Cut(list, []byte(" base=0x"))
		_, module, ok = bytes.Cut(rest, []byte(" name="))
		module = bytes.TrimPrefix(bytes.TrimRight(module, "\r\n"), []byte("app:"))
		module = module[bytes.LastIndexByte(module, '/')+1:]
		id = symsrc.ReadBuildID(digits)
		return module, id, ok && id != "" && len(module) > 0 && len(module) <= maxFileName
	}
	i := bytes.Index(text, buildIDWord)
	if i < 0 {
		return nil, "", false
	}
	head := bytes.Index(text[:i], moduleHeadline)
	if head < 0 {
		return nil, "", false
	}
	module, _, _ = bytes.Cut(text[head+len(moduleHeadline):i], []byte(" "))
	module = module[bytes.LastIndexByte(module, '/')+1:]
	stated := text[i+len(buildIDWord):]
	digits := bytes.TrimLeft(stated, "= ")
	if end := bytes.IndexAny(digits, " .,)"); end >= 0 {
		digits = digits[:end]
	}
	id = symsrc.ReadBuildID(digits)
	if _, unread := id.Unread(); unread && !bytes.HasPrefix(stated, []byte("=")) && !bytes.HasSuffix(text[:i], []byte(" with ")) {
		return nil, "", false // other words about a build ID
	}
	return module, id, id != "" && len(module) > 0 && len(module) <= maxFileName
}
