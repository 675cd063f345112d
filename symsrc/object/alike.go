package object

import (
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/elf"
)

// maxAlike bounds the names that are remembered, and those that are made readable for one.
const maxAlike = 1 << 12

// alikes are the functions of a file by their plain names, as far as they were asked for.
type alikes struct {
	mu sync.Mutex
	m  map[string][]symsrc.Frame
}

// Named returns the functions whose plain name is that of name, as a question of that kind is answered.
func (f *File) Named(name string, addr uint64) (frames []symsrc.Frame) {
	f.guard(func() {
		addr = f.codeAddr(addr)
		frames = f.alike(demangle.PlainName(name))
	})
	if len(frames) == 0 || f.fault.Load() != nil {
		return nil
	}
	frames = append([]symsrc.Frame(nil), frames...)
	for i := range frames {
		frames[i].Offset = addr - frames[i].Offset
	}
	return frames
}

// alike gives them with their addresses as offsets.
func (f *File) alike(plain string) []symsrc.Frame {
	token := elf.LastWord(plain)
	if token == "" {
		return nil
	}
	f.alikes.mu.Lock()
	defer f.alikes.mu.Unlock()
	frames, known := f.alikes.m[plain]
	if known {
		return frames
	}
	tries := maxAlike
	isNamed := func(raw string) bool { return demangle.PlainName(raw) == plain }
	for _, file := range [...]*File{f, f.other} {
		if file == nil {
			continue
		}
		add := func(addr, size uint64) {
			file.elf.Budget.Hold(frameWeight)
			frames = append(frames, symsrc.Frame{Func: plain, Offset: addr, Size: size})
		}
		for _, t := range [...]*elf.SymbolTable{file.symtab, file.dynsym, file.miniSymbols()} {
			if t != nil {
				t.FunctionsNamed(plain, token, &tries, isNamed, add)
			}
		}
	}
	if tries < 0 || len(frames) > maxAlike {
		frames = nil
	}
	if f.alikes.m == nil || len(f.alikes.m) >= maxAlike {
		f.alikes.m = make(map[string][]symsrc.Frame)
	}
	f.alikes.m[plain] = frames
	return frames
}

// frameWeight is what an answer takes in memory, in bytes.
const frameWeight = 160
