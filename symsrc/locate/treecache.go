package locate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// content is an ELF file that a file is or holds, or the symbol file that it is.
type content struct {
	id     symsrc.BuildID
	rank   rank
	member *member           // nil where it is the file itself
	kind   symsrc.SymbolKind // of a symbol file that is no ELF file, 0 of one that is
	cut    bool              // of such a file: id is only the beginning of the build ID
}

// contents are the ELF files of the files of a tree; none for a file that has none.
type contents map[diskcache.Stamp][]content

// A cache file holds what is known of the files of one tree. It is of this user, of this version and of this tree, and it
// is whole, or it is no cache file: then the tree is read again.
const (
	cacheMagic = "qss-filter symbol tree 3\n"
	// maxCacheFile bounds one of them: two million files, or so.
	maxCacheFile = 64 << 20
	// maxCacheFiles bounds the trees remembered.
	maxCacheFiles = 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cacheFile is the path of a tree's cache file. root is absolute.
func cacheFile(dir, root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, hex.EncodeToString(sum[:12])+".tree")
}

// isCacheFile reports whether a file of the trees' directory is called as cache files are.
func isCacheFile(name string) bool { return filepath.Ext(name) == ".tree" }

// loadTree returns what the cache directory knows of a tree: nothing where it has no cache file of it.
func loadTree(cacheDir, root string) contents {
	if cacheDir == "" {
		return nil
	}
	dir, err := diskcache.MakeDir(cacheDir, "trees")
	if err != nil {
		return nil
	}
	path := cacheFile(dir, root)
	f, fi, err := diskcache.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if fi.Size() > maxCacheFile || fi.Size() < int64(len(cacheMagic)+4) {
		return nil
	}
	b := make([]byte, fi.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil
	}
	head, body := b[:len(cacheMagic)+4], b[len(cacheMagic)+4:]
	if string(head[:len(cacheMagic)]) != cacheMagic ||
		binary.LittleEndian.Uint32(head[len(cacheMagic):]) != crc32.Checksum(body, castagnoli) {
		return nil
	}
	r := treeReader{b: body}
	if r.text() != root {
		return nil
	}
	diskcache.Touch(path, fi)
	return r.contents()
}

// saveTree writes what is known of a tree. Trees that are too large are not remembered.
func saveTree(cacheDir, root string, known contents) error {
	if cacheDir == "" {
		return nil
	}
	dir, err := diskcache.MakeDir(cacheDir, "trees")
	if err != nil {
		return err
	}
	b := appendTree(append([]byte(cacheMagic), 0, 0, 0, 0), root, known)
	path := cacheFile(dir, root)
	if len(b) > maxCacheFile {
		os.Remove(path)
		return nil
	}
	sum := crc32.Checksum(b[len(cacheMagic)+4:], castagnoli)
	binary.LittleEndian.PutUint32(b[len(cacheMagic):], sum)
	if err := diskcache.WriteFile(path, b); err != nil {
		return err
	}
	diskcache.Evict(dir, isCacheFile, maxCacheFiles, math.MaxInt64)
	return nil
}
