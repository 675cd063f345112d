package object

import (
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/gopclntab"
)

// goSection is the table of a file, read when the first address is asked for; nil where there is none that can be read.
type goSection struct {
	once  sync.Once
	table *gopclntab.Table
}

// goCode answers from the Go program's own table, where that is all there is.
func (f *File) goCode(addr uint64) []symsrc.Frame {
	other := f.other
	if other == nil {
		other = f
	}
	if f.by.symbolsOnly || f.HasDebug() || other.HasDebug() || f.symtab != nil || other.symtab != nil {
		return nil
	}
	f.goTab.once.Do(func() { f.goTab.table = gopclntab.Read(f.elf) })
	if f.goTab.table == nil {
		return nil
	}
	return f.goTab.table.Frames(addr)
}
