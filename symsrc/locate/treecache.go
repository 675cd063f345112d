package locate

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"qss-filter/symsrc"
)

// stamp tells a file from others, and from what it was before it changed.
type stamp struct {
	inode        uint64
	size         int64
	mtime, ctime int64 // nanoseconds since 1970; the second is of the last change of anything, be it only the name
}

// content is an ELF file that a file is or holds, or the symbol file that it is.
type content struct {
	id     symsrc.BuildID
	rank   rank
	member *member           // nil where it is the file itself
	kind   symsrc.SymbolKind // of a symbol file that is no ELF file, 0 of one that is
	cut    bool              // of such a file: id is only the beginning of the build ID
}

// contents are the ELF files of the files of a tree; none for a file that has none.
type contents map[stamp][]content

// A cache file holds what is known of the files of one tree. It is of this user, of this version and of this tree, and it
// is whole, or it is no cache file: then the tree is read anew.
const (
	cacheMagic = "qss-filter symbol tree 2\n"
	// maxCacheFile bounds one of them: two million files, or so.
	maxCacheFile = 64 << 20
	// maxCacheFiles bounds the trees remembered.
	maxCacheFiles = 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errNotPrivate = errors.New("not a private directory")

// privateDir makes the directory name in the cache directory, and fails unless it is the user's own and nobody else's.
func privateDir(cacheDir, name string) (string, error) {
	dir := filepath.Join(cacheDir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if !isPrivateDir(dir) {
		return "", &os.PathError{Op: "use", Path: dir, Err: errNotPrivate}
	}
	return dir, nil
}

// cacheFile is the path of a tree's cache file. root is absolute.
func cacheFile(dir, root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, hex.EncodeToString(sum[:12])+".tree")
}

// loadTree gives what the cache directory knows of a tree: nothing where it has no cache file of it.
func loadTree(cacheDir, root string) contents {
	if cacheDir == "" {
		return nil
	}
	dir, err := privateDir(cacheDir, "trees")
	if err != nil {
		return nil
	}
	f, err := openListed(cacheFile(dir, root))
	if err != nil {
		return nil
	}
	defer f.close()
	if !f.private || f.size > maxCacheFile || f.size < int64(len(cacheMagic)+4) {
		return nil
	}
	b := make([]byte, f.size)
	if n, _ := f.ReadAt(b, 0); n < len(b) {
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
	return r.contents()
}

// saveTree writes what is known of a tree in one step: a reader sees the old file or the new one. Trees that are too large
// are not remembered.
func saveTree(cacheDir, root string, known contents) error {
	if cacheDir == "" {
		return nil
	}
	dir, err := privateDir(cacheDir, "trees")
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
	if err := replaceFile(path, b); err != nil {
		return err
	}
	dropOldest(dir, ".tree", maxCacheFiles)
	return nil
}

// replaceFile puts a file of that content, readable by nobody else, in the place of what is at path.
func replaceFile(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// dropOldest removes the files of a directory that were changed the longest ago, beyond the first keep.
func dropOldest(dir, ext string, keep int) {
	files := listFiles(dir, ext)
	for _, f := range files[:max(len(files)-keep, 0)] {
		os.Remove(f.path)
	}
}

// listed is a file of a cache directory.
type listed struct {
	path string
	stamp
}

// listFiles gives the files of that extension in a directory, the one changed the longest ago first.
func listFiles(dir, ext string) []listed {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []listed
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if s, err := stampAt(path, false); err == nil && filepath.Ext(path) == ext {
			files = append(files, listed{path, s})
		}
	}
	slices.SortFunc(files, func(a, b listed) int { return cmp.Compare(a.mtime, b.mtime) })
	return files
}
