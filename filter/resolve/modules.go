package resolve

import (
	"encoding/binary"

	"qss-filter/symsrc"
)

// memoLimit is how many entries each table of the memo has at most, and memoBytes how many bytes of names. A full table is
// emptied: a log repeats its frames within a short time.
const (
	memoLimit = 1 << 15
	memoBytes = 16 << 20
)

// memo remembers modules and answers, and knows which answers are stale.
type memo struct {
	modules map[string]*Module
	frames  map[string]*Module // by name and build ID as the log writes them at frames
	answers answerMemo
	symbols map[symbolKey]*symbol
	// bytes is the length of all names of modules, and symbolBytes that of symbols.
	bytes, symbolBytes int
	// numbered is the number of symbols that there were.
	numbered uint64
	// absolute has the answers for addresses of processes.
	absolute addressMemo
	// agreed has the outcome of agreeing, and refused that of admitted.
	agreed  map[hinted]*Answer
	refused map[refusal]*Answer
	// piece is the number of the piece of input at hand.
	piece uint64
	key   []byte // scratch memory
}

// Module is one binary of the log, with its frames that have no name.
type Module struct {
	symsrc.Module
	number   uint64 // for the hash of queries
	nameless []nameless
	// explained has a bit for each outcome of which ExplainFirst was asked.
	explained uint64
	// Files is how the search for its files ended. It is nil before that.
	Files *symsrc.Files
	// Shown is the name as it is written into text.
	Shown string
	// generation counts the changes of the files, and watched is the last piece of input for which they were checked.
	generation, watched uint64
	// refutations counts the processes that have refuted the files.
	refutations uint64
	// ran is the generation of the files that a program of the log was seen with, plus 1, and looked the last piece of input for which that
	// was asked.
	ran, looked uint64
	// replaced is the generation of the files that came to the path of one that such a program was seen with, plus 1.
	replaced uint64
	// fixed is set for a program or a library that the log does not name, at addresses where others may have code, too.
	fixed bool
}

// assumed reports whether the files are this machine's own, and neither the user has pointed at them nor a program was seen with them. What
// another program has at fixed addresses is no matter of the files.
func (m *Module) assumed() bool {
	return m.Files != nil && (m.fixed || m.Files.Assumed && m.ran != m.generation+1)
}

// byPath reports whether the files were found by their path or name alone.
func (m *Module) byPath() bool { return m.Files != nil && m.Files.Unverified }

// unverified is Answer.Unverified of the module's answers.
func (m *Module) unverified() bool { return m.byPath() && !m.Files.Assumed }

// symbol is a function that a log names.
type symbol struct {
	symbolKey
	number uint64 // for the hash of queries
}

// symbolKey is its name, and its size if the log has that.
type symbolKey struct {
	name string
	size uint64
}

// init empties the memo.
func (o *memo) init() {
	o.modules = map[string]*Module{}
	o.frames = map[string]*Module{}
	o.bytes = 0
	o.answers, o.absolute, o.agreed, o.refused = answerMemo{}, addressMemo{}, nil, nil
}

// module returns the module of that name and build ID.
func (o *memo) module(name []byte, id symsrc.BuildID) *Module { return o.member(name, nil, 0, id) }

// member returns the module that is a member of an archive, by its name, the place where it begins, or both. The key in the memo
// has the lengths of its parts: a log may put any byte into names and build IDs, and modules must not be confused.
func (o *memo) member(name, member []byte, at uint64, id symsrc.BuildID) *Module {
	key := append(binary.AppendUvarint(o.key[:0], uint64(len(name))), name...)
	key = append(binary.AppendUvarint(key, uint64(len(id))), id...)
	if len(member) > 0 || at > 0 {
		key = binary.BigEndian.AppendUint64(append(key, member...), at)
	}
	o.key = key
	m := o.modules[string(key)]
	if m == nil {
		if len(o.modules) >= memoLimit || o.bytes > memoBytes {
			o.init()
		}
		o.bytes += 2 * len(key)
		kept := string(key)
		_, start := binary.Uvarint(key)
		own := kept[start : start+len(name)] // shared with the key, since a name may be long
		m = &Module{Module: symsrc.Module{Name: own, BuildID: id, Member: string(member), InArchive: at}, number: uint64(len(o.modules)),
			Shown: symsrc.Visible(own)}
		o.modules[kept] = m
	}
	return m
}

// fixed returns the module of a program or a library at such addresses.
func (o *memo) fixed(name []byte) *Module {
	m := o.member(name, []byte("\x00fixed"), 0, "")
	m.Member, m.fixed = "", true
	return m
}

// apple returns the module of a frame of Darwin without a UUID.
func (o *memo) apple(name []byte, arch string) *Module {
	key := append(append(append(o.key[:0], name...), 0), "\x00Mach-O "...)
	key = append(key, arch...)
	o.key = key
	if m := o.frames[string(key)]; m != nil {
		return m
	}
	if len(o.modules) >= memoLimit || o.bytes > memoBytes {
		o.init()
	}
	written := string(key)
	own := written[:len(name)]
	m := &Module{Module: symsrc.Module{Name: own, Arch: arch}, number: uint64(len(o.modules)), Shown: symsrc.Visible(own)}
	o.modules[written] = m
	if len(o.frames) >= memoLimit {
		clear(o.frames)
	}
	o.bytes += 2 * len(written)
	o.frames[written] = m
	return m
}

// written returns the module of a frame. digits are its build ID as written, and may be empty.
func (o *memo) written(name, digits []byte) *Module {
	key := append(o.key[:0], name...)
	key = append(append(key, 0), digits...)
	o.key = key
	if m := o.frames[string(key)]; m != nil {
		return m
	}
	written := string(key)
	m := o.module(name, symsrc.ReadBuildID(digits))
	if len(o.frames) >= memoLimit {
		clear(o.frames)
	}
	o.bytes += len(written)
	o.frames[written] = m
	return m
}

// symbol returns the symbol of that name and size.
func (o *memo) symbol(name []byte, size uint64) *symbol {
	s := o.symbols[symbolKey{string(name), size}]
	if s == nil {
		if o.symbols == nil || len(o.symbols) >= memoLimit || o.symbolBytes > memoBytes {
			o.symbols, o.symbolBytes = map[symbolKey]*symbol{}, 0
		}
		o.symbolBytes += len(name)
		o.numbered++
		s = &symbol{symbolKey{string(name), size}, o.numbered}
		o.symbols[s.symbolKey] = s
	}
	return s
}

// A file that was found by its path alone may be replaced by another build's while the filter runs: a program is compiled again
// and started again. Its answers, also those of a missing file, are stale after that. The file is checked at most once for each
// piece of input, before the first frame of its module in it.

// isCurrent reports whether a is an answer that is not stale.
func (o *memo) isCurrent(a *Answer) bool {
	if a == nil || a.retry != nil && a.retry() {
		return false
	}
	if a.Module == nil {
		return true
	}
	o.watch(a.Module)
	return a.state() == a.Module.generation+a.Module.refutations
}

// watch checks whether the files of a module are still those that were found.
func (o *memo) watch(m *Module) {
	if m.watched == o.piece {
		return
	}
	m.watched = o.piece
	if files := m.Files; files != nil && (m.BuildID == "" || files.Unverified || !files.Usable()) && files.Watch.Look() {
		m.generation++
	}
}

// found notes how a search for the module's files has ended, and returns that.
func (m *Module) found(files *symsrc.Files) *symsrc.Files {
	old := m.Files
	switch {
	case old == files, old != nil && old.Watch == files.Watch && old.Same(files):
		return old // answers keep it in memory
	case old != nil && old.Watch != nil && files.Watch == nil:
		return files // of an answer that was kept, which says what there was
	}
	m.Files = files
	return files
}
