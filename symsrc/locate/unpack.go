package locate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// maxUnpacked bounds the bytes of unpacked members in the cache directory. The least recently used ones are evicted.
const maxUnpacked = 8 << 30

// unpackReserve is the space that must stay free on the disk, in bytes.
const unpackReserve = 256 << 20

// usualRatio is how much larger than the packed file its content may be taken for.
const usualRatio = 8

var errFull = errors.New("the disk would be nearly full")

// unpackedExt is the extension of unpacked members.
const unpackedExt = ".elf"

// unpack returns the path of a file with the content of a deflated member, which is kept in the cache directory between
// runs. archive is the open archive, and path its path. The error is a *fileError.
func (l *Locator) unpack(ctx context.Context, archive *regularFile, path string, m *member) (string, error) {
	what := path + "!" + m.name
	if l.opt.CacheDir == "" {
		return "", &fileError{symsrc.UnsupportedCompressed, "packed",
			fmt.Errorf("unpack %s: there is no cache directory to unpack it to", what)}
	}
	failed := func(err error) (string, error) {
		return "", &fileError{symsrc.ReadError, "cannot unpack", fmt.Errorf("unpack %s: %w", what, err)}
	}
	dir, err := diskcache.MakeDir(l.opt.CacheDir, "members")
	if err != nil {
		return failed(err)
	}
	to := filepath.Join(dir, unpackedName(path, archive.Stamp, m))
	if fi, err := os.Lstat(to); err == nil && fi.Mode().IsRegular() && diskcache.IsPrivate(fi) && (fi.Size() == m.size || m.packing == whole && fi.Size() > 0) {
		diskcache.Touch(to, fi)
		return to, nil
	}
	size := m.size
	if m.packing == whole {
		size = min(size, usualRatio*m.packed)
	}
	if !diskcache.HasRoom(dir, size, unpackReserve) {
		return failed(fmt.Errorf("to %d bytes: %w", size, errFull))
	}
	diskcache.Evict(dir, isUnpacked, math.MaxInt, maxUnpacked-size) // if that fails, the limit is exceeded for a while
	switch err := unpackTo(ctx, to, archive, m); {
	case errors.Is(err, errContent):
		return "", &fileError{symsrc.Corrupted, "corrupted archive", fmt.Errorf("unpack %s: %w", what, err)}
	case err != nil:
		return failed(err)
	}
	return to, nil
}

// unpackedName returns a name that is unique for a member of an archive.
func unpackedName(path string, s diskcache.Stamp, m *member) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%v\x00%s\x00%d\x00%d\x00%d\x00%08x",
		path, s, m.name, m.header, m.packed, m.size, m.crc))
	return hex.EncodeToString(sum[:16]) + unpackedExt
}

// isUnpacked reports whether a name is that of an unpacked member.
func isUnpacked(name string) bool { return filepath.Ext(name) == unpackedExt }

// errContent is the error of a content that differs from the archive's directory.
var errContent = errors.New("its content differs from what the archive says")

// unpackTo writes the member's content to a temporary file, and renames it when it is complete.
func unpackTo(ctx context.Context, to string, archive io.ReaderAt, m *member) error {
	tmp, err := diskcache.Create(to)
	if err != nil {
		return err
	}
	defer tmp.Abort()
	if err := inflate(ctx, tmp, archive, m); err != nil {
		return err
	}
	return tmp.Commit()
}

// inflate writes the member's content and checks what the archive says of it. It never writes more than the expected size.
func inflate(ctx context.Context, out io.Writer, archive io.ReaderAt, m *member) error {
	in, close, err := m.unpacked(archive)
	if err != nil {
		return fmt.Errorf("%w: %w", errContent, err)
	}
	defer close()
	sum := crc32.NewIEEE()
	if m.packing == deflated {
		out = io.MultiWriter(out, sum)
	}
	const step = 4 << 20
	for left := m.size; left > 0; left -= step {
		if err := ctx.Err(); err != nil {
			return err
		}
		from := &source{Reader: in}
		n, err := io.CopyN(out, from, min(left, step))
		switch {
		case err == nil:
		case m.packing == whole && errors.Is(from.err, io.EOF) && (left < m.size || n > 0):
			return nil
		case from.err != nil:
			return fmt.Errorf("%w: %w", errContent, from.err)
		default:
			return err
		}
	}
	var more [1]byte
	if n, _ := in.Read(more[:]); n > 0 || m.packing == deflated && sum.Sum32() != m.crc {
		return errContent
	}
	return nil
}

// source tells errors of what is read from those of what is written.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil {
		s.err = err
	}
	return n, err
}
