package locate

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/unpack"
)

// A bundle is a file that a distribution or a registry of images hands out, with a tree of files in it: a package of Debian, of an RPM
// system or of Arch, the image of a container, or any tar file. It is a stream, so that finding one of its files takes as long as
// unpacking all. It is therefore unpacked once, into the cache, where its ELF files are a tree as others are. What it is, and what the
// files in it are, their first bytes say:
//
//	.deb, .ddeb      ar (deb(5)) with control.tar and data.tar, packed or not
//	.rpm             lead, signature and header, then a packed cpio archive (docs/manual/format_v4.md in its source)
//	.pkg.tar.zst     a packed tar file
//	docker save      a tar file of layers, which are tar files, packed or not
const (
	// bundleDepth bounds the archives in each other: a package, its data, a packed file in it; or an image and its layers.
	bundleDepth = 4
	// maxBundled bounds the ELF files of a bundle.
	maxBundled = 1 << 16
	// largeBundle is the size from which on the user is told that a bundle is unpacked, in bytes.
	largeBundle = 32 << 20
	// peeked is how much of a file tells what it is: tar and boot images have their marks in the middle of the first blocks.
	peeked = 1024
)

// bundleHead are the first bytes of bundles.
var (
	debHead  = []byte("!<arch>\ndebian-binary")
	rpmHead  = []byte("\xed\xab\xee\xdb")
	cpioHead = []byte("070701")
	elfHead  = []byte("\x7fELF")
)

// isTar reports whether a file that begins so is a tar file of POSIX or GNU.
func isTar(head []byte) bool {
	const at = 257
	return len(head) >= at+5 && string(head[at:at+5]) == "ustar"
}

// isBundle reports whether an open file is a bundle.
func isBundle(f *regularFile) bool {
	head := make([]byte, min(f.Size, peeked))
	n, _ := f.ReadAt(head, 0)
	if head = head[:n]; isBundleHead(head) {
		return true
	}
	if !unpack.Packed(head) {
		return false
	}
	in, close, err := unpack.Reader(bufio.NewReader(io.NewSectionReader(f, 0, f.Size)))
	if err != nil {
		return false
	}
	if close != nil {
		defer close()
	}
	head = make([]byte, peeked)
	n, _ = io.ReadFull(in, head)
	return isBundleHead(head[:n])
}

func isBundleHead(head []byte) bool {
	return bytes.HasPrefix(head, debHead) || bytes.HasPrefix(head, rpmHead) || isTar(head)
}

var (
	errBundle   = errors.New("damaged, or of a kind that is not read")
	errTooLarge = errors.New("it unpacks to more than it may")
	errEnded    = errors.New("the run has ended")
)

// bundleDir returns the directory of the cache for the ELF files of a bundle.
func (t *trees) bundleDir(file string, f *regularFile) (dir string, err error) {
	if t.cacheDir == "" {
		return "", errors.New("there is no cache directory to unpack it to")
	}
	parent, err := diskcache.MakeDir(t.cacheDir, "bundles")
	if err != nil {
		return "", err
	}
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%v", file, f.Stamp))
	return filepath.Join(parent, hex.EncodeToString(sum[:12])), nil
}

// unbundledAt returns the directory with the ELF files of a bundle, "" if they are not unpacked.
func (t *trees) unbundledAt(file string) string {
	f, err := openRegular(file, true)
	if err != nil {
		return ""
	}
	defer f.close()
	dir, err := t.bundleDir(file, f)
	if err != nil {
		return ""
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || !diskcache.IsPrivate(info) {
		return ""
	}
	_ = os.Chtimes(dir, time.Now(), time.Now()) // otherwise it is evicted sooner than others
	return dir
}

// unbundle unpacks the ELF files of a bundle, and returns the directory with them.
func (t *trees) unbundle(file string) (dir string, err error) {
	f, err := openRegular(file, true)
	if err != nil {
		return "", err
	}
	defer f.close()
	dir, err = t.bundleDir(file, f)
	if err != nil {
		return "", err
	}
	parent := filepath.Dir(dir)
	if f.Size >= largeBundle {
		t.problem(file + ": unpacking it into the cache, which is done once")
	}
	evictBundles(parent, maxUnpacked-usualRatio*f.Size)
	if !diskcache.HasRoom(parent, usualRatio*f.Size, unpackReserve) {
		return "", errFull
	}
	unfinished, err := os.MkdirTemp(parent, diskcache.TempPrefix)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unfinished)
	b := bundle{ended: t.ended, dir: unfinished, left: f.Size + min(maxUnpacked, budget.Bytes(f.Size))}
	if err := b.read(limited{io.NewSectionReader(f, 0, f.Size), &b}, path.Base(filepath.ToSlash(file)), 0); err != nil {
		return "", err
	}
	if b.files == 0 {
		return "", errors.New("no file of native code is in it")
	}
	if err := os.Rename(unfinished, dir); err != nil && !isDirectory(dir) { // another process may have been faster
		return "", err
	}
	return dir, nil
}

func isDirectory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// isFile reports whether a path is, or leads to, a regular file.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// evictBundles removes the bundles that were used the longest ago, until the others take at most so many bytes, and what processes that
// died have left.
func evictBundles(parent string, most int64) {
	type one struct {
		path string
		size int64
		used time.Time
	}
	entries, _ := os.ReadDir(parent)
	var all []one
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		if strings.HasPrefix(e.Name(), diskcache.TempPrefix) {
			if time.Since(info.ModTime()) > diskcache.Abandoned {
				os.RemoveAll(dir)
			}
			continue
		}
		b := one{path: dir, used: info.ModTime()}
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if info, err := d.Info(); err == nil {
					b.size += info.Size()
				}
			}
			return nil
		})
		total += b.size
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b one) int { return a.used.Compare(b.used) })
	for _, b := range all {
		if total <= max(0, most) {
			return
		}
		if os.RemoveAll(b.path) == nil {
			total -= b.size
		}
	}
}

// bundle is a bundle that is being unpacked.
type bundle struct {
	ended *atomic.Bool // nothing waits for it any more
	dir   string       // where its ELF files go
	left  int64        // bytes that may still be read and unpacked
	files int
}

// limited is a stream of which not more is read than the bundle may take, and nothing after the run has ended.
type limited struct {
	in io.Reader
	b  *bundle
}

func (l limited) Read(p []byte) (int, error) {
	if l.b.ended.Load() {
		return 0, errEnded
	}
	n, err := l.in.Read(p)
	if l.b.left -= int64(n); l.b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// read takes the ELF files of an archive, or the one that a file is. name is its path.
func (b *bundle) read(in io.Reader, name string, depth int) error {
	r := bufio.NewReaderSize(in, 64<<10)
	head, err := r.Peek(peeked)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	switch {
	case bytes.HasPrefix(head, elfHead), isBoot(head):
		return b.write(r, name)
	case depth == bundleDepth:
		return nil
	case unpack.Packed(head):
		unpacked, close, err := unpack.Reader(r)
		if err != nil {
			return nil // a file that is none
		}
		if close != nil {
			defer close()
		}
		m := compressed(name, 1)
		return b.read(limited{unpacked, b}, path.Join(path.Dir(name), m.name), depth+1)
	case isTar(head):
		return b.tar(r, depth)
	case bytes.HasPrefix(head, debHead):
		return b.ar(r, depth)
	case bytes.HasPrefix(head, rpmHead):
		return b.rpm(r, depth)
	case bytes.HasPrefix(head, cpioHead):
		return b.cpio(r, depth)
	}
	return nil
}

// write writes an ELF file to where its path says.
func (b *bundle) write(in io.Reader, name string) error {
	if b.files++; b.files > maxBundled {
		return errTooLarge
	}
	clean := path.Clean("/" + name)
	if clean == "/" || len(clean) > maxPath || strings.ContainsRune(clean, 0) {
		return nil
	}
	to := filepath.Join(b.dir, filepath.FromSlash(clean))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return nil // a file is where an earlier one of the bundle has a directory
	}
	// A later layer of an image has another file of that name.
	for n := 1; n < maxBundled; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = filepath.Join(b.dir, "again-"+strconv.Itoa(n), filepath.FromSlash(clean))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return nil
		}
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, in)
	return cmp.Or(err, file.Close())
}

// tar reads a tar file.
func (b *bundle) tar(in io.Reader, depth int) error {
	t := tar.NewReader(in)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return cmp.Or(b.fatal(err), fmt.Errorf("tar: %w", errBundle))
		}
		if h.Typeflag == tar.TypeReg && h.Size >= smallestELF {
			if err := b.read(t, h.Name, depth+1); err != nil {
				return err
			}
		}
	}
}

// fatal returns an error that is not the archive's.
func (b *bundle) fatal(err error) error {
	if errors.Is(err, errTooLarge) || errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// ar reads a package of Debian: a head of 8 bytes, then members with heads of 60 (ar(5)).
func (b *bundle) ar(in *bufio.Reader, depth int) error {
	if _, err := in.Discard(len("!<arch>\n")); err != nil {
		return err
	}
	for {
		var h [60]byte
		if _, err := io.ReadFull(in, h[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return cmp.Or(b.fatal(err), fmt.Errorf("ar: %w", errBundle))
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(h[48:58])), 10, 64)
		if err != nil || size < 0 || string(h[58:]) != "`\n" {
			return fmt.Errorf("ar: %w", errBundle)
		}
		member := &io.LimitedReader{R: in, N: size}
		if name := strings.TrimSpace(string(h[:16])); strings.HasPrefix(name, "data.tar") {
			if err := b.read(member, name, depth+1); err != nil {
				return err
			}
		}
		if _, err := io.CopyN(io.Discard, in, member.N+size&1); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// rpm reads an RPM package: a lead of 96 bytes, the signature and the header, each an index and a store, of which the first one is filled
// up to 8 bytes, and the payload.
func (b *bundle) rpm(in *bufio.Reader, depth int) error {
	if _, err := in.Discard(96); err != nil {
		return fmt.Errorf("rpm: %w", errBundle)
	}
	for i := range 2 {
		var h [16]byte
		if _, err := io.ReadFull(in, h[:]); err != nil || string(h[:3]) != "\x8e\xad\xe8" {
			return fmt.Errorf("rpm: %w", errBundle)
		}
		n := 16*int64(be32(h[8:])) + int64(be32(h[12:]))
		if i == 0 {
			n = (n + 7) &^ 7
		}
		if n > maxHeaders*8 {
			return fmt.Errorf("rpm: %w", errBundle)
		}
		if _, err := io.CopyN(io.Discard, in, n); err != nil {
			return fmt.Errorf("rpm: %w", errBundle)
		}
	}
	return b.read(in, "payload", depth+1)
}

// cpio reads an archive of the new format (cpio(5)): heads of 110 bytes, in hexadecimal digits.
func (b *bundle) cpio(in io.Reader, depth int) error {
	for {
		var h [110]byte
		if _, err := io.ReadFull(in, h[:]); err != nil || !bytes.HasPrefix(h[:], cpioHead) {
			return cmp.Or(b.fatal(err), fmt.Errorf("cpio: %w", errBundle))
		}
		field := func(i int) int64 {
			v, err := strconv.ParseUint(string(h[6+8*i:14+8*i]), 16, 32)
			if err != nil {
				return -1
			}
			return int64(v)
		}
		mode, size, length := field(1), field(6), field(11)
		if mode < 0 || size < 0 || length <= 0 || length > maxPath {
			return fmt.Errorf("cpio: %w", errBundle)
		}
		name := make([]byte, length+(4-(int64(len(h))+length)%4)%4)
		if _, err := io.ReadFull(in, name); err != nil {
			return fmt.Errorf("cpio: %w", errBundle)
		}
		text := string(bytes.TrimRight(name[:length], "\x00"))
		if text == "TRAILER!!!" {
			return nil
		}
		file := &io.LimitedReader{R: in, N: size}
		const regular = 0o100000
		if mode&0o170000 == regular && size >= smallestELF {
			if err := b.read(file, text, depth+1); err != nil {
				return err
			}
		}
		if _, err := io.CopyN(io.Discard, in, file.N+(4-size%4)%4); err != nil {
			return cmp.Or(b.fatal(err), fmt.Errorf("cpio: %w", errBundle))
		}
	}
}

func be32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
