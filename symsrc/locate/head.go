package locate

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"qss-filter/symsrc"
	"qss-filter/symsrc/macho"
)

// Head is information from the headers of an ELF file.
type Head struct {
	// ID is its build ID, "" if it has none.
	ID symsrc.BuildID
	// Debug reports whether it has .debug_info.
	Debug bool
	// Link is the file name in its .gnu_debuglink, "" without one.
	Link string
}

// IsObject reports whether a file that begins so is an ELF file, or a Mach-O file of one architecture.
func IsObject(head []byte) bool { return bytes.HasPrefix(head, []byte("\x7fELF")) || macho.Is(head) }

// ErrCutOff is the error of a truncated ELF file.
var ErrCutOff = errors.New("cut off: the file is shorter than its headers say")

// ReadHead reads the headers and notes of the ELF file of size bytes in r, no more than 20 MiB of it. The error wraps ErrCutOff
// if a section is beyond the end.
func ReadHead(r io.ReaderAt, size int64) (Head, error) {
	f := elfFile{r: r, size: uint64(max(size, 0))}
	if err := f.all(); err != nil {
		return Head{}, err
	}
	if f.end > f.size {
		return Head{}, fmt.Errorf("%w: %d of %d bytes", ErrCutOff, f.size, f.end)
	}
	return Head{f.id, f.rank == debugInfo, f.link}, nil
}

// beyondError is damage that a missing end of the file may explain.
type beyondError string

func (e beyondError) Error() string { return string(e) }

// Is reports whether target is ErrCutOff.
func (e beyondError) Is(target error) bool { return target == ErrCutOff }

func beyond(format string, args ...any) *fileError {
	return &fileError{symsrc.Corrupted, "corrupted elf file", beyondError(fmt.Sprintf(format, args...))}
}
