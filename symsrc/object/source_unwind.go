package object

import (
	"context"
	"slices"

	"qss-filter/symsrc"
	"qss-filter/symsrc/codeprobe"
)

// Unwind goes over the call frame information of a module: that of .debug_frame, and for what is not there that of .eh_frame. An
// error of each, which must not ask the Source, ends it. The Unwinding is Unwind's own until the next one.
func (s *Source) Unwind(ctx context.Context, key symsrc.Module, each func(*codeprobe.Unwinding) error) (err error) {
	err = errNoFile
	s.with(ctx, key, func(m *module, _ *symsrc.Files) {
		if m.file == nil {
			return
		}
		err = nil
		m.file.guard(func() { err = codeprobe.Unwind(m.file.codes(), each) })
		if fault := m.file.fault.Load(); fault != nil && err == nil {
			err = fault
		}
	})
	return err
}

// codes returns the code of the files of a program: of this one, of the one that belongs with it, and of the one that is loaded.
func (f *File) codes() (all []*codeprobe.Code) {
	for _, file := range [...]*File{f, f.other, f.runtime()} {
		if file != nil && !slices.Contains(all, file.code) {
			all = append(all, file.code)
		}
	}
	return all
}
