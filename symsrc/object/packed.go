package object

import (
	"context"

	"qss-filter/symsrc"
)

// muchPacked is what the sections of a file unpack to, in bytes, that takes longer than another process to be asked.
const muchPacked = 32 << 20

// Packed reports whether the first answer of a module's files takes long because they are compressed and were not unpacked before.
// It opens the files.
func (s *Source) Packed(ctx context.Context, m symsrc.Module) (packed bool) {
	s.with(ctx, m, func(m *module, _ *symsrc.Files) {
		for _, f := range m.opened {
			packed = packed || f.dwarf.UnpackedSize >= muchPacked && (f.twin == nil || f.twin.mapped == nil)
		}
	})
	return packed
}
