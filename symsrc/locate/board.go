package locate

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"qss-filter/symsrc"
)

// Board returns the only ELF file that Objects and Symbols name, or nil if there are none or several, or if the file may be loaded elsewhere
// than where it is linked. Files in directories do not count.
func (o *Options) Board() *symsrc.Board {
	var only *symsrc.Board
	n := 0
	for _, paths := range [][]string{o.Objects, o.Symbols} {
		for _, path := range paths {
			if b, isELF := board(path); isELF {
				only = b
				n++
			}
		}
	}
	if n != 1 {
		return nil
	}
	return only
}

// board reads the headers of a file. The result is nil if it is no program of a board.
func board(path string) (b *symsrc.Board, isELF bool) {
	f, err := openRegular(path, true)
	if err != nil {
		return nil, false
	}
	defer f.close()
	header, err := elf.NewFile(f)
	if err != nil {
		return nil, false
	}
	id, err := identify(f, f.Size)
	hosted := header.Type == elf.ET_DYN && slices.ContainsFunc(header.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if err != nil || header.Type != elf.ET_EXEC && !hosted {
		return nil, true
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, true
	}
	b = &symsrc.Board{Module: symsrc.Module{Name: path, BuildID: id.id}, Hosted: hosted, Machine: header.Machine}
	for _, p := range header.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Memsz > 0 {
			b.Code = append(b.Code, struct{ Start, End uint64 }{p.Vaddr, p.Vaddr + p.Memsz})
		}
	}
	b.Sum = sync.OnceValue(func() string { return sumOf(path) })
	return b, true
}

// sumOf returns the SHA-256 of a file, in hexadecimal digits, or "".
func sumOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
