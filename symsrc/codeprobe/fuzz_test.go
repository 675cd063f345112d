package codeprobe

import (
	stdelf "debug/elf"
	"encoding/binary"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/elf/elftest"
)

// FuzzCallFrames reads damaged call frame information and its table.
func FuzzCallFrames(f *testing.F) {
	cie := append(elftest.LE(uint32(20), uint32(0), uint8(1)), "zRS\x00\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\x00\x00\x00"...)
	binary.LittleEndian.PutUint32(cie, uint32(len(cie)-4))
	fde := elftest.LE(uint32(16), uint32(len(cie)+4), int32(0x100), uint32(32), uint32(0))
	table := append([]byte{1, 0x1b, 3, 0x3b}, elftest.LE(uint32(0x40), uint32(1), uint32(0x100), uint32(0x20))...)
	f.Add(append(cie, fde...), table, uint64(0x1010), true, false)
	f.Add(append(cie, fde...), table[:4], uint64(0x1010), false, false)
	f.Add(append(cie, fde...), table, uint64(0x1010), true, true)
	f.Fuzz(func(t *testing.T, frames, table []byte, addr uint64, is64, big bool) {
		x := New(&elf.File{Header: elf.Header{Format: elf.Format{Is64: is64, Big: big, Machine: stdelf.EM_X86_64}}, Data: table}, &elf.Content{}, nil, nil)
		x.elf.Segments = []elf.Segment{{Type: stdelf.PT_GNU_EH_FRAME, Addr: 0x1000, FileSize: uint64(len(table))}}
		for _, s := range []frameSection{{x.elf.Format, frames, 0x1040, true}, {Format: x.elf.Format, data: frames}} {
			x.lookupFrame(&s, addr)
			if n := len(s.scan()); n > len(frames)/8+1 {
				t.Fatalf("%d ranges in %d bytes", n, len(frames))
			}
		}
	})
}

// FuzzCallSites asks what machine code shows, of every machine and at every place.
func FuzzCallSites(f *testing.F) {
	f.Add([]byte("\xe8\x00\x00\x00\x10\xff\xd0\xff\x14\x25\x00\x00\x00\x00\x90"), uint64(0x1000))
	f.Add([]byte("\x41\xff\x94\xc0\x00\x00\x00\x00\x94\x00\x00\x04\xd6\x3f\x00\x20"), uint64(0))
	f.Add([]byte("\xeb\x00\x00\x02\xf0\x00\xf8\x02\x47\x80\x0d\xe1\xc0\xe5\x00\x00\x00\x08"), ^uint64(0)-8)
	f.Fuzz(func(t *testing.T, code []byte, base uint64) {
		for machine := range callDecoders {
			for _, big := range []bool{false, true} {
				none := func() *elf.SymbolTable { return nil }
				x := New(&elf.File{Header: elf.Header{Format: elf.Format{Is64: base&1 == 0, Big: big, Machine: machine}}, Data: code}, &elf.Content{}, nil, none)
				x.elf.Segments = []elf.Segment{{Type: stdelf.PT_LOAD, Flags: stdelf.PF_X, Addr: base, FileSize: uint64(len(code)), Size: uint64(len(code))}}
				for i := range min(len(code)+8, 64) {
					at := base + uint64(i)
					var p symsrc.Probe
					if x.Calls(at, i%2 != 0, &p); p.Returns && len(code) < 2 {
						t.Fatalf("a call of %d bytes", len(code))
					}
					x.SignalFrame(at)
					x.IsSigreturn(at)
				}
			}
		}
	})
}
