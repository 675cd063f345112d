package symfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/klauspost/compress/zstd"

	"qss-filter/symsrc"
	"qss-filter/symsrc/breakpad"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/gsym"
	"qss-filter/symsrc/mapped"
	"qss-filter/symsrc/pages"
)

// file is an open symbol file, of one kind or the other.
type file struct {
	path  string
	stat  os.FileInfo
	unmap func() error

	sym     *breakpad.File
	gsym    *gsym.File
	text    int      // bytes of what was unpacked, in memory; 0 where the file is mapped
	bases   []uint64 // where linkers put programs of its machine that are loaded at one address
	isLib   bool     // it is of a shared object
	isMachO bool     // it is of a Mach-O file
}

// open reads the head of the file at path.
func open(path string) (*file, error) {
	data, stat, unmap, err := mapped.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f := &file{path: path, stat: stat, unmap: unmap}
	err = guard(func() error {
		if packed(data) {
			text, err := unpack(data)
			if err != nil {
				return err
			}
			data, f.text = text, cap(text)
			f.unmap = func() error { return nil }
			defer unmap()
		}
		return f.read(data, budget.Bytes(stat.Size())-int64(f.text))
	})
	if err != nil {
		f.unmap()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return f, nil
}

// held returns how many bytes of memory the file takes.
func (f *file) held() int64 {
	n := int64(f.text)
	if f.sym != nil {
		n += f.sym.Held()
	}
	return n
}

// read looks at the head of the file; room is what may be kept of it besides.
func (f *file) read(data []byte, room int64) (err error) {
	head, _ := symsrc.IdentifySymbols(data[:min(len(data), symsrc.SymbolFileHead)])
	if head.Kind != symsrc.Breakpad {
		f.gsym, err = gsym.New(data)
		return err
	}
	arch := ""
	if words := strings.Fields(string(data[:bytes.IndexByte(data, '\n')])); len(words) > 2 {
		arch = words[2]
	}
	f.bases, f.isLib = fixedBases[arch], strings.Contains(head.Name, ".so")
	if os := strings.Fields(string(data[:min(len(data), 16)])); len(os) > 1 && (strings.EqualFold(os[1], "mac") || strings.EqualFold(os[1], "ios")) {
		f.bases, f.isLib, f.isMachO = nil, true, true
	}
	f.sym, err = breakpad.New(data, room)
	return err
}

// fixedBases are the addresses to which ld and lld link programs that are not position-independent, by Breakpad's names of
// machines (the linkers' -Ttext-segment and --image-base). An unknown machine has none.
var fixedBases = map[string][]uint64{
	"x86_64":  {0x400000, 0x200000},
	"x86":     {0x8048000, 0x400000},
	"arm":     {0x8000, 0x10000, 0x20000},
	"arm64":   {0x400000, 0x200000, 0x210000},
	"riscv":   {0x10000},
	"riscv64": {0x10000},
	"mips":    {0x400000, 0x20000},
	"mips64":  {0x120000000, 0x20000},
	"ppc":     {0x1800000, 0x10000000},
	"ppc64":   {0x10000000},
}

// errFault is the error of a file that was cut off while it was in use.
var errFault = errors.New("the file was cut off while it was read")

// guard runs read, which may touch memory that the file on disk no longer backs.
func guard(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if err = errFault; !isFault(r) {
			err = fmt.Errorf("damaged in a way that is not understood: %v", r)
		}
	}()
	return read()
}

func isFault(r any) bool {
	_, ok := r.(interface{ Addr() uintptr })
	return ok
}

// frames returns the functions at an address of the module's address space, of which the file is loaded at base.
func (f *file) frames(addr, base uint64) (frames []symsrc.Frame, err error) {
	err = guard(func() (err error) {
		switch {
		case f.gsym != nil:
			frames, err = f.gsym.Frames(addr)
		case addr >= base:
			frames, err = f.sym.Frames(addr - base)
		}
		return err
	})
	return frames, err
}

// unplaced answers a query about a module that there is no ELF file of. Shared objects and position-independent programs are
// linked to the address 0. That a program is one of these nothing says: where an address might be one of a program that is linked
// elsewhere, there is no answer, and placed is false.
func (f *file) unplaced(q symsrc.Addr) (frames []symsrc.Frame, placed bool, err error) {
	if q.Symbol != "" || q.Space != symsrc.Linked && q.Space != symsrc.InImage {
		return nil, false, nil
	}
	if f.gsym != nil {
		if q.Offset < machBase && f.gsym.Base() == machBase {
			frames, err = f.frames(q.Offset+machBase, 0)
			return frames, true, err
		}
		const lowestBase = 0x8000
		if low, ok := f.gsym.Lowest(); q.Space == symsrc.InImage && (!ok || low >= lowestBase) {
			return nil, false, nil
		}
		frames, err = f.frames(q.Offset, 0)
		return frames, true, err
	}
	if f.isMachO && q.Space == symsrc.Linked && q.Offset >= machBase { // addresses in the file count from the base of programs
		q.Offset -= machBase
	}
	if frames, err = f.frames(q.Offset, 0); err != nil || q.Space == symsrc.InImage || f.isLib {
		return frames, true, err
	}
	for _, base := range f.bases {
		if other, err := f.frames(q.Offset, base); err != nil || len(other) > 0 {
			return nil, false, err
		}
	}
	return frames, true, nil
}

// machBase is where ld64 links 64-bit programs to, the base address of their GSYM files. The sanitizers' addresses there count from the
// beginning of the image (the older ones), or are those of the file: none of these is lower.
const machBase = 1 << 32

// maxUnpacked is what a packed file may unpack to, in memory; browsers' largest have a third of that.
const maxUnpacked = 1 << 30

var errUnpacked = errors.New("unpacks to more than a symbol file of its size does")

var (
	gzipMagic = []byte("\x1f\x8b")
	zstdMagic = []byte("\x28\xb5\x2f\xfd")
)

// packed reports whether a file is packed in a way that unpack knows.
func packed(data []byte) bool {
	return bytes.HasPrefix(data, gzipMagic) || bytes.HasPrefix(data, zstdMagic)
}

// unpack returns what a file of gzip or zstd holds.
func unpack(data []byte) ([]byte, error) {
	var in io.Reader
	limit := uint64(min(maxUnpacked, budget.Bytes(int64(len(data)))))
	hint := uint64(0)
	if bytes.HasPrefix(data, gzipMagic) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		in = z
		if n := len(data); n >= 4 { // RFC 1952 §2.3.1: ISIZE
			hint = uint64(binary.LittleEndian.Uint32(data[n-4:]))
		}
	} else {
		z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(1<<27))
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		defer z.Close()
		in = z
		var head zstd.Header
		if head.Decode(data) == nil && head.HasFCS {
			hint = head.FrameContentSize
		}
	}
	if hint > limit {
		return nil, fmt.Errorf("unpack: %w: %d MiB", errUnpacked, hint>>20)
	}
	text := bytes.NewBuffer(pages.Make(int(hint) + bytes.MinRead)[:0])
	n, err := text.ReadFrom(io.LimitReader(in, int64(limit)+1))
	if err == nil && uint64(n) > limit {
		err = fmt.Errorf("%w: over %d MiB", errUnpacked, limit>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return text.Bytes(), nil
}
