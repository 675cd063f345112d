package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readAndroid reads a frame of debuggerd, logcat and tombstones:
//
//	#00 pc 000610bc  /apex/com.android.runtime/lib/bionic/libc.so (abort+172) (BuildId: 316c4e23)
//	#00 pc 0000000000b1c034  base.apk!libbergamot-sys.so (offset 0x1b70000) (f+20)
//	#00 pc 0000000000b1c034  /data/app/base.apk (offset 0x1b70000)
//	#00 pc 0000000000b1c034 (offset 0x1b70000)  /data/app/base.apk (f+20)      Android 9
//	Stack frame #00 pc 00000000000752cc  /data/app/lib.so (f+144): Routine …   the oldest
//	#00 pc 0x000000000069992d /data/app/libbase.cr.so                         Chromium
//	#03 pc 000000000008ffb0 /system/lib64/libx.z.so(f(int)+240)(287a71fb…)    OpenHarmony, also with spaces before the parentheses
//	#02    pc 000000000028ea14    /data/app/lib/arm64/libx.so (f+20) [arm64-v8a::6ce3e25e…]    Bugly
//
// pc counts in the ELF's own address space since Android 11; see androidSpace for the versions before. With the offset before the path
// it is an offset in the file, and in the oldest one into the executable mapping. Return addresses lie in the call already
// (Unwinder::FillInFrame in libunwindstack's Unwinder.cpp subtracts GetPcAdjustment), those that a signal interrupted are as they are. The
// Play console writes 0x before the digits, and tools for feedback collapse spaces or put U+200B between words. Chromium writes 0x and one
// space, and nothing after the path but the offset of a mapping of an archive: 1 is taken from every address, and it counts from the mapping
// (StackTrace::OutputToStream in its base/debug/stack_trace_android.cc).
func readAndroid(s *Search, line []byte, at, from int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok {
		return false
	}
	p := skipWide(line, numEnd)
	if p == numEnd || !scan.Has(line, p, "pc") {
		return false
	}
	start := skipWide(line, p+2)
	if start == p+2 {
		return false
	}
	off, e, ok := scan.Address(line, start)
	if !ok {
		if off, e, ok = scan.Hex(line, start); !ok {
			return false
		}
	}
	p = skipWide(line, e)
	if p == e {
		return false
	}
	*f = Frame{Whole: span(at, e), Num: span(at+1, numEnd), Number: n, Off: span(start, e), Offset: off, Convention: Moved}
	if scan.EndsWith(line, from, at, "Stack frame ") {
		f.Space = symsrc.InText
	}
	if f.answer(s, line, e); f.Done {
		return true
	}
	if v, q, ok := offsetGroup(line, p); ok {
		f.Space, f.InArchive = symsrc.InFile, v
		p = skipWide(line, q)
	}
	if p >= len(line) || !s.androidModule(line, p, f) {
		f.Shape = NumberOnly
	} else if f.Space == symsrc.Linked {
		f.Space = androidSpace(f.Module.Of(line), f)
	}
	if line[start] == '0' && scan.Has(line, start+1, "x") && p == e+1 && f.BuildID.Empty() && f.Hint.Empty() {
		f.Space, f.Convention = symsrc.InText, OneLess
	}
	return true
}

// skipWide skips spaces, tabs and U+200B.
func skipWide(b []byte, i int) int {
	for {
		if i = scan.Spaces(b, i); !scan.Has(b, i, "\u200b") {
			return i
		}
		i += len("\u200b")
	}
}

// offsetGroup reads `(offset 0xHEX)` at i.
func offsetGroup(b []byte, i int) (v uint64, end int, ok bool) {
	const word = "(offset "
	if !scan.Has(b, i, word) {
		return 0, i, false
	}
	v, end, ok = scan.Address(b, i+len(word))
	if !ok || end >= len(b) || b[end] != ')' {
		return 0, i, false
	}
	return v, end + 1, true
}

// androidModule reads the path at start and the parentheses after it. It fails where the path names no file.
func (s *Search) androidModule(line []byte, start int, f *Frame) bool {
	limit := min(s.textEnd(line, start), start+2*maxModule)
	end := s.androidPathEnd(line[:limit], start)
	f.Module = span(start, end)
	f.Whole.End = end
	inner := false
	for p := end; ; {
		p = skipWide(line[:limit], p)
		if v, e, ok := offsetGroup(line[:limit], p); ok {
			f.InArchive, p, inner = v, e, true
		} else if id, e, ok := scan.BuildID(line[:limit], p); ok {
			f.BuildID, p = id, e
		} else if id, e, ok := closedID(line[:limit], p); ok {
			f.BuildID, p = id, e
		} else if e := s.closing(line[:limit], p); e > 0 {
			if f.Hint.Empty() && e > p+2 {
				f.Hint = span(p+1, e-1)
			}
			p = e
		} else {
			break
		}
		f.Whole.End = p
	}
	return androidFile(line, f, inner)
}

// androidFile splits the archive's name from its member's. It fails where the module is no file.
func androidFile(line []byte, f *Frame, inner bool) bool {
	path := f.Module.Of(line)
	switch {
	case len(path) == 0, path[0] == '<', path[0] == '[', path[0] == '(', bytes.HasPrefix(path, []byte("/memfd:")),
		bytes.HasPrefix(path, []byte("anon_inode:")), bytes.HasPrefix(path, []byte("/dev/ashmem/")), string(path) == "Not mapped":
		f.Module = Span{}
		return false
	}
	k := bytes.LastIndexByte(path, '!')
	if k > 0 && k+1 < len(path) {
		member := span(f.Module.Start+k+1, f.Module.End)
		f.Module.End = f.Module.Start + k
		if name := f.Module.Of(line); !bytes.Equal(name[bytes.LastIndexByte(name, '/')+1:], member.Of(line)) {
			f.Member = member
			return true
		}
	}
	if inner && bytes.HasSuffix(f.Module.Of(line), []byte(".so")) {
		// `libc.so!libc.so (offset 0x1000)`: the offset of a mapping, not of a file in an archive. Without the `!`, up to Android 8 pc
		// counts from that mapping, and in 9 from the file (libbacktrace's Backtrace::FormatFrameData): the line does not say which.
		f.InArchive = 0
		return k > 0 || !f.BuildID.Empty()
	}
	return true
}

// androidSpace returns what the pc of a frame in that file counts from. Android 9 and 10 take the bias of the segment at the beginning of
// the file, so that it counts in the file if the code is in another one (ElfInterface::ReadProgramHeaders and Elf::GetRelPc in
// libunwindstack: `pc - map_info->start + load_bias_ + map_info->elf_offset`). 11 took that of the code, and put applications into directories
// that begin with ~~. Build IDs are there since 10.
func androidSpace(path []byte, f *Frame) symsrc.Space {
	switch {
	case bytes.HasPrefix(path, []byte("/data/app/~~")), bytes.HasPrefix(path, []byte("/apex/com.android.art/")):
	case f.BuildID.Empty(), bytes.HasPrefix(path, []byte("/data/app/")):
		return symsrc.InFileOrLinked
	}
	return symsrc.Linked
}

// androidPathEnd finds the end of the path at start: before the first parenthesis after a space that has nothing but more
// of them, a colon or the end after it. "(deleted)" belongs to the path.
func (s *Search) androidPathEnd(b []byte, start int) int {
	if end := s.identifiedEnd(b, start); end > 0 {
		return end
	}
	for i := start; i < len(b); {
		k := bytes.IndexByte(b[i:], ' ')
		if k < 0 {
			return len(b)
		}
		i += k
		p := scan.Spaces(b, i)
		if p-i >= 2 {
			// Nothing but a suffix of the log's stands after two spaces.
			return i
		}
		if p < len(b) && b[p] == '[' && b[len(b)-1] == ']' {
			// A reason, of a log that was filtered before.
			return i
		}
		if e := s.closing(b, p); e > 0 && (e == len(b) || scan.IsSpace(b[e]) || b[e] == ':') && !scan.Has(b, p, "(deleted)") {
			return i
		}
		i = p
	}
	return len(b)
}

// closedID reads a build ID at b[i] that no word says to be one, in the brackets of OpenHarmony or of Bugly.
func closedID(b []byte, i int) (id Span, end int, ok bool) {
	if i >= len(b) || b[i] != '(' && b[i] != '[' {
		return Span{}, i, false
	}
	start, closed := i+1, byte(')')
	if b[i] == '[' {
		closed = ']'
		k := bytes.Index(b[i:min(len(b), i+len("[armeabi-v7a::"))], abiEnd)
		if k < 0 {
			return Span{}, i, false
		}
		start = i + k + len(abiEnd)
	}
	end = scan.HexEnd(b, start)
	if n := end - start; n < leastIDDigits || n > maxIDDigits || n%2 != 0 || end >= len(b) || b[end] != closed {
		return Span{}, i, false
	}
	return span(start, end), end + 1, true
}

// abiEnd stands between the ABI and the build ID of Bugly's frames.
var abiEnd = []byte("::")

// identifiedEnd finds the end of the path at start that closedID's build ID follows, perhaps after a function in parentheses; 0 where none
// does.
func (s *Search) identifiedEnd(b []byte, start int) int {
	if s.closedIDs == unsearched {
		s.closedIDs = closedIDs(s.line)
	}
	if s.closedIDs == absent {
		return 0
	}
	for i := start; i < len(b) && b[i] != '\t' && s.spend(1); i++ {
		if b[i] != '(' && b[i] != '[' {
			continue
		}
		p := i
		if e := s.closing(b, p); e > 0 && e < len(b) {
			if _, _, ok := closedID(b, p); !ok {
				p = skipWide(b, e)
			}
		}
		if _, _, ok := closedID(b, p); ok {
			return scan.BackSpaces(b, start, i)
		}
		if b[i] == '(' && b[max(start, i-1)] != ' ' { // the first one after a name
			return 0
		}
	}
	return 0
}

// closedIDs reports whether a line holds a build ID that closedID reads.
func closedIDs(line []byte) presence {
	for at := range line {
		if _, _, ok := closedID(line, at); ok {
			return present
		}
	}
	return absent
}

// closing returns the end of the balanced parenthesis that opens at b[i], the end of the text where it was cut off before it
// closed, 0 where none opens.
func (s *Search) closing(b []byte, i int) int {
	if i >= len(b) || b[i] != '(' {
		return 0
	}
	depth := 0
	for ; i < len(b) && s.spend(1); i++ {
		switch b[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}
