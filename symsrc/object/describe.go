package object

import (
	"context"
	"errors"
	"fmt"

	"qss-filter/symsrc"
)

// Place returns the address that a question is about, in the address space of the module's file, and where that file is loaded by
// its own headers: the address of its first segment, from which Breakpad's symbol files count. ok is false where there is no such file.
func (s *Source) Place(ctx context.Context, q symsrc.Addr) (addr, base uint64, ok bool) {
	type place struct {
		addr, base uint64
		ok         bool
	}
	at, _, _ := inTime(ctx, s, q.Module, nil, func(m *module, _ *symsrc.Files) (at place) {
		if m.file == nil {
			return at
		}
		if at.addr, at.ok = m.file.Address(q); at.ok {
			m.file.guard(func() { at.addr = m.file.codeAddr(at.addr) })
			at.base, at.ok = m.file.elf.LoadAddress()
		}
		return at
	})
	return at.addr, at.base, at.ok
}

// Describe returns what a module's file is: its build ID, its machine in Breakpad's words, and the address of its first segment.
func (s *Source) Describe(ctx context.Context, key symsrc.Module) (id symsrc.BuildID, machine string, base uint64, err error) {
	err = errNoFile
	files, _ := s.with(ctx, key, func(m *module, _ *symsrc.Files) {
		if m.file == nil {
			return
		}
		var ok bool
		if base, ok = m.file.elf.LoadAddress(); !ok {
			err = errNotLoaded
			return
		}
		id, machine, err = m.file.elf.ID, m.file.elf.MachineName(), nil
	})
	if err != nil && files != nil && files.Note != "" {
		err = fmt.Errorf("%w: %s", err, files.Note)
	}
	return id, machine, base, err
}

var (
	errNoFile    = errors.New("no such file can be read")
	errNotLoaded = errors.New("it is not linked")
)

// muchPacked is the size that the sections of a file unpack to, in bytes, from which on unpacking takes longer than to ask another
// process.
const muchPacked = 32 << 20

// Packed reports whether the first answer of a module's files takes long because they are compressed and were not unpacked before.
// It opens the files.
func (s *Source) Packed(ctx context.Context, m symsrc.Module) (packed bool) {
	s.with(ctx, m, func(m *module, _ *symsrc.Files) {
		for _, f := range m.opened {
			packed = packed || f.dwarf.UnpackedSize >= muchPacked && !f.unpacked.isMapped()
		}
	})
	return packed
}
