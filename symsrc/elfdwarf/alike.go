package elfdwarf

import (
	"bytes"
	"debug/elf"
	"strconv"
	"strings"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// maxAlike bounds the names that are remembered, and those that are made readable for one.
const maxAlike = 1 << 12

// alikes are the functions of a file by their plain names, as far as they were asked for.
type alikes struct {
	mu sync.Mutex
	m  map[string][]symsrc.Frame
}

// Named returns the functions whose plain name is that of name, as a question of that kind is answered.
func (f *File) Named(name string, addr uint64) (frames []symsrc.Frame) {
	f.guard(func() {
		addr = f.codeAddr(addr)
		frames = f.alike(demangle.PlainName(name))
	})
	if len(frames) == 0 || f.fault.Load() != nil {
		return nil
	}
	frames = append([]symsrc.Frame(nil), frames...)
	for i := range frames {
		frames[i].Offset = addr - frames[i].Offset
	}
	return frames
}

// alike gives them with their addresses as offsets.
func (f *File) alike(plain string) []symsrc.Frame {
	token := lastWord(plain)
	if token == "" {
		return nil
	}
	f.alikes.mu.Lock()
	defer f.alikes.mu.Unlock()
	frames, known := f.alikes.m[plain]
	if known {
		return frames
	}
	tries := maxAlike
	for _, file := range [...]*File{f, f.other} {
		if file == nil {
			continue
		}
		for _, t := range [...]*symbolTable{file.symtab, file.dynsym, file.miniSymbols()} {
			if t != nil {
				frames = t.alike(frames, plain, token, &tries)
			}
		}
	}
	if tries < 0 || len(frames) > maxAlike {
		frames = nil
	}
	if f.alikes.m == nil || len(f.alikes.m) >= maxAlike {
		f.alikes.m = make(map[string][]symsrc.Frame)
	}
	f.alikes.m[plain] = frames
	return frames
}

// alike appends the functions of a table. tries is how many names may be made readable, below 0 where that is too few. The first name
// is looked for in the table as it is, the second one makes an index.
func (t *symbolTable) alike(frames []symsrc.Frame, plain, token string, tries *int) []symsrc.Frame {
	mangled := []byte(strconv.Itoa(len(token)) + token)
	window := span{0, ^uint64(0)}
	take := func(s *symbol) {
		raw := t.str(s.name)
		if len(raw) > longName {
			t.table.left.Answer(len(raw))
		}
		switch {
		case *tries < 0 || len(raw) > maxName || !t.isFunction(s):
			return
		case bytes.HasPrefix(raw, []byte("_")) && bytes.Contains(raw, mangled):
			*tries--
		case !bytes.HasPrefix(raw, []byte(plain)):
			return
		}
		if demangle.PlainName(string(raw)) == plain {
			t.table.left.Hold(frameWeight)
			frames = append(frames, symsrc.Frame{Func: plain, Offset: s.addr, Size: s.size})
		}
	}
	none := func(fileSymbol) {}
	if token[0]-'0' <= 9 || !t.words.touched.Load() && t.words.touched.CompareAndSwap(false, true) {
		t.each(&window, take, none)
		return frames
	}
	var s symbol
	size := t.entrySize()
	for _, entry := range t.withWord(token) {
		t.look(int(entry), t.raw[int(entry)*size:], &s, &window, take, none)
	}
	return frames
}

// longName is the length of a name from which on it counts what it takes to look at it, and frameWeight what an answer takes in
// memory, in bytes.
const longName, frameWeight = 1 << 10, 160

// isFunction reports whether a symbol may be that of code.
func (t *symbolTable) isFunction(s *symbol) bool {
	_, info := t.entryAddr(t.raw[int(s.index)*t.entrySize():])
	return elf.SymType(info&15) != elf.STT_OBJECT
}

// lastWord returns the last identifier of a plain name, "" where it does not end in one.
func lastWord(plain string) string {
	for strings.HasSuffix(plain, ">") {
		depth, at := 0, len(plain)
		for at > 0 {
			at--
			if plain[at] == '>' {
				depth++
			} else if plain[at] == '<' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		plain = plain[:at]
	}
	start := len(plain)
	for start > 0 && isWordByte(plain[start-1]) {
		start--
	}
	return plain[start:]
}

func isWordByte(c byte) bool {
	return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c >= 0x80
}
