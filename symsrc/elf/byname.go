package elf

import (
	"bytes"
	"cmp"
	"debug/elf"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
)

// Function returns the address of the function with a name and, unless size is 0, a size. unique is false if there are several at
// different addresses. The first lookup scans the table, the second one builds an index.
func (t *SymbolTable) Function(name string, size uint64) (addr uint64, unique, found bool) {
	n := namedFunction{t: t, want: append([]byte(name), 0), size: size}
	step := t.entrySize()
	if !t.byName.touched.Load() && t.byName.touched.CompareAndSwap(false, true) {
		for b := t.raw; len(b) >= step && n.add(b); b = b[step:] {
		}
		return n.addr, n.unique, n.found
	}
	t.byName.once.Do(func() { t.byName.entries = t.hashNames() })
	hash := hashName([]byte(name))
	all := t.byName.entries
	first, _ := slices.BinarySearchFunc(all, hash, func(e hashedName, hash uint32) int { return cmp.Compare(e.hash, hash) })
	last := first
	for last < len(all) && all[last].hash == hash && n.add(t.raw[int(all[last].entry)*step:]) {
		last++
	}
	t.table.Budget.Answer(last - first)
	return n.addr, n.unique, n.found
}

// namedFunction is a search for a function by its name.
type namedFunction struct {
	t             *SymbolTable
	want          []byte // the name and a NUL
	size          uint64
	addr          uint64
	unique, found bool
}

// add checks one entry of the table. It returns false if the search is over.
func (n *namedFunction) add(b []byte) bool {
	t := n.t
	var s symbol
	section := t.entry(b, &s)
	if section == 0 || uint64(s.name) >= uint64(len(t.names)) || !bytes.HasPrefix(t.names[s.name:], n.want) {
		return true
	}
	at, info := t.entryAddr(b)
	switch elf.SymType(info & 15) {
	case elf.STT_FUNC, elf.STT_NOTYPE, elf.STT_GNU_IFUNC:
	default:
		return true
	}
	if n.size != 0 && s.size != n.size {
		return true
	}
	if t.opd != nil {
		at = t.opd.code(at)
	}
	if t.Machine == elf.EM_ARM {
		at &^= 1
	}
	if n.found && at != n.addr {
		n.unique = false
		return false
	}
	n.addr, n.unique, n.found = at, true, true
	return true
}

// nameHashes is an index of a symbol table by name.
type nameHashes struct {
	touched atomic.Bool
	once    sync.Once
	entries []hashedName // sorted by hash, then by index in the table
}

// hashedName is the hash of the name of a symbol, and the symbol's index in the table.
type hashedName struct{ hash, entry uint32 }

// hashedBytes is the number of bytes of a name that are hashed.
const hashedBytes = 256

// hashName returns the FNV-1a hash of the first bytes of a name.
func hashName(name []byte) uint32 {
	hash := uint32(2166136261)
	for _, c := range name[:min(len(name), hashedBytes)] {
		hash = (hash ^ uint32(c)) * 16777619
	}
	return hash
}

// hashNames returns the index of the table by name.
func (t *SymbolTable) hashNames() []hashedName {
	n := len(t.raw) / t.entrySize()
	t.table.Budget.Hold(n * 8)
	kept := budget.Tally{Of: t.table.Budget}
	all := make([]hashedName, n)
	for i := range all {
		off, _ := bin.Uint(t.raw, i*t.entrySize(), 4, t.Big)
		b := t.names[min(off, uint64(len(t.names))):]
		b = b[:min(len(b), hashedBytes)]
		if end := bytes.IndexByte(b, 0); end >= 0 {
			b = b[:end]
		}
		all[i] = hashedName{hashName(b), uint32(i)}
		kept.Add(1+len(b), 0)
	}
	kept.Flush()
	slices.SortFunc(all, func(a, b hashedName) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.entry, b.entry)) })
	return all
}

// wordIndex is an index of a symbol table by the words in the names: length-prefixed identifiers in mangled names, and runs of word
// characters in others.
type wordIndex struct {
	touched   atomic.Bool
	once      sync.Once
	shift     int      // right shift from a hash to the number of its bucket
	starts    []uint32 // for each bucket, the index in entries of its first one; then len(entries)
	entries   []uint32 // indexes in the table, increasing in each bucket, with duplicates
	longNames []uint32 // indexes of the symbols whose names are too long to be split
}

// hashWord returns the hash of a word, of its length and its first bytes.
func hashWord(word []byte) uint32 {
	hash := uint32(len(word)) * 0x9e3779b1
	for _, c := range word[:min(len(word), 32)] {
		hash = (hash ^ uint32(c)) * 16777619
	}
	return hash * 0x85ebca6b
}

// words calls word with the words of a name. In a mangled name some of them are not identifiers.
func words(name []byte, word func([]byte)) {
	if bytes.HasPrefix(name, []byte("_")) {
		number := 0 // start of the digits before i
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

// decimal returns the value of a length prefix, or 0 if it is not valid.
func decimal(digits []byte) (n int) {
	if digits[0] == '0' || len(digits) > 4 {
		return 0
	}
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	return n
}

// makeWords builds the index.
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
			x.longNames = append(x.longNames, uint32(i))
		}
	}
	t.table.Budget.Hold(4 * len(x.longNames))
}

// withWord returns the indexes of all symbols whose names contain a word, and possibly of others, in increasing order.
func (t *SymbolTable) withWord(word string) []uint32 {
	x := &t.words
	x.once.Do(t.makeWords)
	bucket := hashWord([]byte(word)) >> x.shift
	found := x.entries[x.starts[bucket]:x.starts[bucket+1]]
	if len(x.longNames) > 0 {
		found = slices.Sorted(slices.Values(slices.Concat(found, x.longNames)))
	}
	return slices.Compact(slices.Clone(found))
}

// FunctionsNamed calls add with the functions for which isNamed reports that their plain name is plain. isNamed gets the name in the
// table; token is the last word of plain. tries is the number of mangled names for which isNamed may be called; it is below 0 afterwards
// if that was not enough. The first lookup scans the table, the second one builds an index.
func (t *SymbolTable) FunctionsNamed(plain, token string, tries *int, isNamed func(raw string) bool, add func(addr, size uint64)) {
	mangled := []byte(strconv.Itoa(len(token)) + token)
	window := Span{0, ^uint64(0)}
	check := func(s *symbol) {
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
		t.each(&window, check, none)
		return
	}
	var s symbol
	size := t.entrySize()
	for _, entry := range t.withWord(token) {
		t.visit(int(entry), t.raw[int(entry)*size:], &s, &window, check, none)
	}
}

// longName is the length of a name, in bytes, above which its comparison is counted as work.
const longName = 1 << 10

// isFunction reports whether a symbol may be a function.
func (t *rawSymbols) isFunction(s *symbol) bool {
	_, info := t.entryAddr(t.raw[int(s.index)*t.entrySize():])
	return elf.SymType(info&15) != elf.STT_OBJECT
}

// LastWord returns the last identifier of a plain name without its template arguments, or "" if the name does not end with one.
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

// isWordByte reports whether c is a byte of an identifier.
func isWordByte(c byte) bool {
	return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c >= 0x80
}
