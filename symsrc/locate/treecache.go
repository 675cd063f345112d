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

// content is an ELF file that a file is or contains, or the symbol file that it is.
type content struct {
	id     symsrc.BuildID
	rank   rank
	member *member           // nil if it is the file itself
	kind   symsrc.SymbolKind // of a symbol file that is not an ELF file, otherwise 0
	cut    bool              // for such a file: id is only the beginning of the build ID
	arch   string            // see ident
}

// contents are what is known of the files of a tree. A file without ELF files has no path there.
type contents map[diskcache.Stamp]foundFile

// files returns those that are or contain ELF files, as they were then.
func (known contents) files() (list []foundFile) {
	for _, k := range known {
		if len(k.list) > 0 {
			list = append(list, k)
		}
	}
	sortFound(list)
	return list
}

// A cache file has the contents of one tree. If it is not complete, or is of another user, version or tree, the tree is read
// again.
const (
	cacheMagic = "qss-filter symbol tree 6\n"
	// maxCacheFile bounds one of them: about two million files.
	maxCacheFile = 64 << 20
	// maxCacheFiles bounds the remembered trees.
	maxCacheFiles = 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cacheFile returns the path of a tree's cache file. root is absolute.
func cacheFile(dir, root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, hex.EncodeToString(sum[:12])+".tree")
}

// isCacheFile reports whether a name is that of a cache file.
func isCacheFile(name string) bool { return filepath.Ext(name) == ".tree" }

// loadTree returns the contents of a tree from the cache directory, nil if it has no cache file of the tree.
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

// saveTree writes the contents of a tree, unless they are too large.
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
