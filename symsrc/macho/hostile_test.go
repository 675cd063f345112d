package macho_test

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
	own "qss-filter/symsrc/macho"
	"qss-filter/symsrc/names"
)

// withoutStarts returns a file without its list of the starts of functions: the tables of the unwinder are read then.
func withoutStarts(b []byte) []byte {
	b = bytes.Clone(b)
	le := binary.LittleEndian
	for at, n := uint32(32), le.Uint32(b[16:]); n > 0; n-- {
		if le.Uint32(b[at:]) == 0x26 {
			le.PutUint32(b[at+12:], 0)
		}
		at += le.Uint32(b[at+4:])
	}
	return b
}

// readLying reads a file whose numbers lie, and looks up addresses. Nothing but a budget that is exceeded may panic.
func readLying(t *testing.T, b []byte) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			if err, ok := r.(error); !ok || !isBudget(err) {
				panic(r)
			}
		}
	}()
	limits := budget.NewFile(len(b))
	f, err := own.New(b, limits, elf.Rules{})
	if err != nil {
		return
	}
	for _, typ := range [...]stdelf.SectionType{stdelf.SHT_SYMTAB, stdelf.SHT_DYNSYM} {
		if table, err := f.ELF.SymbolTable(typ, &names.Table{Budget: limits}); err == nil && table != nil {
			for addr := range uint64(8) {
				table.At(0x1000003d0 + addr*0x20)
			}
		}
	}
}

// TestLying replaces each number of the headers and tables of small files by others.
func TestLying(t *testing.T) {
	good := read(t, programFile)
	for i, b := range [][]byte{good, withoutStarts(good), trieFile()} {
		size := uint32(len(b))
		for at := 4; at+4 <= len(b); at += 4 {
			was := binary.LittleEndian.Uint32(b[at:])
			for _, v := range [...]uint32{0, 1, was + 1, was - 1, was * 2, size, size - 4, 0x7fffffff, 0x80000000, 0xffffffff} {
				binary.LittleEndian.PutUint32(b[at:], v)
				var before, after runtime.MemStats
				begin := time.Now()
				isMeasured := at%64 == 4 && v > size
				if isMeasured {
					runtime.ReadMemStats(&before)
				}
				readLying(t, b)
				if isMeasured {
					runtime.ReadMemStats(&after)
				}
				if took, used := time.Since(begin), after.TotalAlloc-before.TotalAlloc; took > 2*time.Second || used > 64<<20 {
					t.Errorf("file %d, %#x at %#x: %v, %d bytes", i, v, at, took, used)
				}
			}
			binary.LittleEndian.PutUint32(b[at:], was)
		}
	}
}

// TestUnwindPages reads a table of the unwinder whose index has the same page, of as many entries as one can have, for each of its functions.
func TestUnwindPages(t *testing.T) {
	le := binary.LittleEndian
	const count, entries = 1 << 18, 1<<16 - 1
	page := le.AppendUint32(nil, 2) // regular
	page = le.AppendUint16(le.AppendUint16(page, 8), entries)
	for i := range uint32(entries) {
		page = le.AppendUint32(le.AppendUint32(page, 0x400+i), 0x40000000)
	}
	info := []byte{}
	for _, v := range []uint32{1, 28, 0, 28, 0, 28, count} {
		info = le.AppendUint32(info, v)
	}
	for i := range uint32(count) {
		info = le.AppendUint32(le.AppendUint32(le.AppendUint32(info, i), 28+12*count), 0)
	}
	info = append(info, page...)
	b := withoutStarts(read(t, programFile))
	at := bytes.Index(b, []byte("__unwind_info"))
	le.PutUint64(b[at+40:], uint64(len(info)))
	le.PutUint32(b[at+48:], uint32(len(b)))
	b = append(b, info...)
	var before, after runtime.MemStats
	begin := time.Now()
	runtime.ReadMemStats(&before)
	readLying(t, b)
	runtime.ReadMemStats(&after)
	const most = 2 << 30 // in all, of which little is in use at a time
	if took, used := time.Since(begin), after.TotalAlloc-before.TotalAlloc; took > 20*time.Second || used > most {
		t.Errorf("%v, %d bytes", took, used)
	} else {
		t.Log(took, used)
	}
}
