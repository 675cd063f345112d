package elf

import (
	"bytes"
	"debug/elf"
	"math/bits"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// wordIndex finds the entries of a symbol table by the words in their names: those that are written with their length in mangled
// names, and runs of letters and digits in others.
type wordIndex struct {
	touched atomic.Bool
	once    sync.Once
	shift   int      // of a hash, to its bucket
	starts  []uint32 // where the entries of each bucket begin, and their number
	entries []uint32 // in the table's order, perhaps more than once
	long    []uint32 // whose names are too long to be taken apart
}

// hashWord is the hash of a word: of its length and how it begins.
func hashWord(word []byte) uint32 {
	hash := uint32(len(word)) * 0x9e3779b1
	for _, c := range word[:min(len(word), 32)] {
		hash = (hash ^ uint32(c)) * 16777619
	}
	return hash * 0x85ebca6b
}

// words calls word with those of a name, of which some may be none.
func words(name []byte, word func([]byte)) {
	if bytes.HasPrefix(name, []byte("_")) {
		number := 0 // where the digits began
		for i, c := range name {
			if c-'0' <= 9 {
				continue
			}
			for from := number; from < i; from++ {
				if n := decimal(name[from:i]); n > 0 && n <= len(name)-i {
					word(name[i : i+n])
				}
			}
			number = i + 1
		}
		if bytes.HasPrefix(name, []byte("_Z")) || bytes.HasPrefix(name, []byte("_R")) || bytes.HasPrefix(name, []byte("__Z")) {
			return
		}
	}
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && isWordByte(name[i]) {
			continue
		}
		if i > start {
			word(name[start:i])
		}
		start = i + 1
	}
}

// decimal returns a number as it is written before a word; 0 where it is none.
func decimal(digits []byte) (n int) {
	if digits[0] == '0' || len(digits) > 4 {
		return 0
	}
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	return n
}

// makeWords fills the index.
func (t *SymbolTable) makeWords() {
	x := &t.words
	size := t.entrySize()
	n := len(t.raw) / size
	x.shift = 32 - bits.Len(uint(n))
	x.starts = make([]uint32, 1<<(32-x.shift)+1)
	t.table.Budget.Hold(4 * len(x.starts))
	count := budget.Tally{Of: t.table.Budget}
	each := func(do func(bucket, entry uint32)) {
		for i := 1; i < n; i++ {
			off, _ := bin.Uint(t.raw, i*size, 4, t.Big)
			name := t.str(uint32(off))
			if len(name) > longName {
				continue
			}
			count.Add(1+len(name), 0)
			words(name, func(word []byte) {
				count.Add(min(len(word), 32), 0)
				do(hashWord(word)>>x.shift, uint32(i))
			})
		}
	}
	each(func(bucket, _ uint32) { x.starts[bucket+1]++ })
	for i := 1; i < len(x.starts); i++ {
		x.starts[i] += x.starts[i-1]
	}
	all := x.starts[len(x.starts)-1]
	count.Flush()
	t.table.Budget.Hold(4 * int(all))
	x.entries = make([]uint32, all)
	next := slices.Clone(x.starts)
	each(func(bucket, entry uint32) {
		x.entries[next[bucket]] = entry
		next[bucket]++
	})
	count.Flush()
	for i := 1; i < n; i++ {
		off, _ := bin.Uint(t.raw, i*size, 4, t.Big)
		if len(t.str(uint32(off))) > longName {
			x.long = append(x.long, uint32(i))
		}
	}
	t.table.Budget.Hold(4 * len(x.long))
}

// withWord returns the entries whose names may have a word, and perhaps others, in the table's order.
func (t *SymbolTable) withWord(word string) []uint32 {
	x := &t.words
	x.once.Do(t.makeWords)
	bucket := hashWord([]byte(word)) >> x.shift
	found := x.entries[x.starts[bucket]:x.starts[bucket+1]]
	if len(x.long) > 0 {
		found = slices.Sorted(slices.Values(slices.Concat(found, x.long)))
	}
	return slices.Compact(slices.Clone(found))
}

// FunctionsNamed calls add with the functions of a table whose plain name is plain, of which token is the last word, as isNamed tells by the raw
// name. tries is how many mangled names may be asked for, below 0 where that is too few. The first name is looked for in the table as
// it is, the second one makes an index.
func (t *SymbolTable) FunctionsNamed(plain, token string, tries *int, isNamed func(raw string) bool, add func(addr, size uint64)) {
	mangled := []byte(strconv.Itoa(len(token)) + token)
	window := Span{0, ^uint64(0)}
	take := func(s *symbol) {
		raw := t.str(s.name)
		if len(raw) > longName {
			t.table.Budget.Answer(len(raw))
		}
		switch {
		case *tries < 0 || len(raw) > bin.MaxString || !t.isFunction(s):
			return
		case bytes.HasPrefix(raw, []byte("_")) && bytes.Contains(raw, mangled):
			*tries--
		case !bytes.HasPrefix(raw, []byte(plain)):
			return
		}
		if isNamed(string(raw)) {
			add(s.addr, s.size)
		}
	}
	none := func(fileSymbol) {}
	if token[0]-'0' <= 9 || !t.words.touched.Load() && t.words.touched.CompareAndSwap(false, true) {
		t.each(&window, take, none)
		return
	}
	var s symbol
	size := t.entrySize()
	for _, entry := range t.withWord(token) {
		t.look(int(entry), t.raw[int(entry)*size:], &s, &window, take, none)
	}
}

// longName is the length of a name from which on it counts what it takes to look at it.
const longName = 1 << 10

// isFunction reports whether a symbol may be that of code.
func (t *rawSymbols) isFunction(s *symbol) bool {
	_, info := t.entryAddr(t.raw[int(s.index)*t.entrySize():])
	return elf.SymType(info&15) != elf.STT_OBJECT
}

// LastWord returns the last identifier of a plain name, "" where it does not end in one.
func LastWord(plain string) string {
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
