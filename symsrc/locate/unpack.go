package locate

import (
	"compress/flate"
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

// maxUnpacked bounds the bytes that unpacked members take in the cache directory. Those used the longest ago go first.
const maxUnpacked = 8 << 30

// unpackReserve is what is left free on the disk, in bytes.
const unpackReserve = 256 << 20

var errFull = errors.New("the disk would be nearly full")

// unpackedExt is what the names of unpacked members end with.
const unpackedExt = ".elf"

// unpack returns the path of a file with the content of a deflated member, kept in the cache directory from one run to the
// next. archive is the open archive, and path that by which it was opened. It fails with a *fileError.
func (l *Locator) unpack(ctx context.Context, archive *regularFile, path string, m *member) (string, error) {
	what := path + "!" + m.name
	if l.opt.CacheDir == "" {
		return "", &fileError{symsrc.UnsupportedCompressed, "deflated member of an archive",
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
	if fi, err := os.Lstat(to); err == nil && fi.Mode().IsRegular() && diskcache.IsPrivate(fi) && fi.Size() == m.size {
		diskcache.Touch(to, fi)
		return to, nil
	}
	if !diskcache.HasRoom(dir, m.size, unpackReserve) {
		return failed(fmt.Errorf("to %d bytes: %w", m.size, errFull))
	}
	diskcache.Evict(dir, isUnpacked, math.MaxInt, maxUnpacked-m.size) // where that fails, it takes more for a time
	switch err := unpackTo(ctx, to, archive, m); {
	case errors.Is(err, errContent):
		return "", &fileError{symsrc.Corrupted, "corrupted archive", fmt.Errorf("unpack %s: %w", what, err)}
	case err != nil:
		return failed(err)
	}
	return to, nil
}

// unpackedName is the same only for the same member of the same archive.
func unpackedName(path string, s diskcache.Stamp, m *member) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%v\x00%s\x00%d\x00%d\x00%d\x00%08x",
		path, s, m.name, m.header, m.packed, m.size, m.crc))
	return hex.EncodeToString(sum[:16]) + unpackedExt
}

// isUnpacked reports whether a file of the members' directory is called as unpacked members are.
func isUnpacked(name string) bool { return filepath.Ext(name) == unpackedExt }

// errContent is content other than the archive's directory says.
var errContent = errors.New("its content is not what the archive says")

// unpackTo writes the member's content to a new file and gives it its name when it is whole.
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

// inflate writes the member's content and checks its size and checksum. It writes no byte more than it should have.
func inflate(ctx context.Context, out io.Writer, archive io.ReaderAt, m *member) error {
	in := flate.NewReader(io.NewSectionReader(archive, m.data, m.packed))
	sum := crc32.NewIEEE()
	out = io.MultiWriter(out, sum)
	const step = 4 << 20
	for left := m.size; left > 0; left -= step {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, min(left, step)); err != nil {
			if _, bad := errors.AsType[flate.CorruptInputError](err); bad || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return fmt.Errorf("%w: %w", errContent, err)
			}
			return err
		}
	}
	var more [1]byte
	if n, _ := in.Read(more[:]); n > 0 || sum.Sum32() != m.crc {
		return errContent
	}
	return nil
}
