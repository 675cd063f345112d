package diskcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"qss-filter/symsrc/pages"
)

// Kept are indexes of maps that are kept in a directory for the next run: what was found out of a large file of text. A file there has a
// line with the stamp of the map, a checksum, and the index. A nil *Kept keeps none.
type Kept struct{ dir string }

// NewKept returns the indexes below a directory of a cache, nil if that is "".
func NewKept(dir string) *Kept {
	if dir == "" {
		return nil
	}
	return &Kept{dir}
}

const (
	keptName = ".map"
	// maxKept bounds the bytes of one that is read, and maxKeptFiles how many are kept.
	maxKept      = 256 << 20
	maxKeptFiles = 64
	// settled is how long a map must be unchanged before its times identify it: the clock of a file system may have steps of two seconds.
	settled = 2 * time.Second
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// file returns the path of the file that keeps the index of the map at path, and the stamp of the map.
func (k *Kept) file(path string) (name, stamp string, ok bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", "", false
	}
	now, err := StampAt(abs, true)
	if err != nil || time.Since(time.Unix(0, max(now.Mtime, now.Ctime))) < settled {
		return "", "", false
	}
	dir, err := MakeDir(k.dir, "maps")
	if err != nil {
		return "", "", false
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(dir, hex.EncodeToString(sum[:12])+keptName), now.String(), true
}

// Load returns the index of the map at path, if it is kept and the map has not changed.
func (k *Kept) Load(path string) (content []byte, ok bool) {
	if k == nil {
		return nil, false
	}
	name, stamp, ok := k.file(path)
	if !ok {
		return nil, false
	}
	f, info, err := Open(name)
	if err != nil || info.Size() > maxKept {
		return nil, false
	}
	defer f.Close()
	text := pages.Make(int(info.Size()))
	if _, err := io.ReadFull(f, text); err != nil {
		return nil, false
	}
	head, content, ok := bytes.Cut(text, []byte("\n"))
	if !ok || string(head) != headOfKept(stamp, content) {
		return nil, false
	}
	return content, true
}

// headOfKept returns the line before an index.
func headOfKept(stamp string, content []byte) string {
	sum := crc32.Checksum(content, castagnoli)
	return stamp + " " + hex.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// Store keeps the index of the map at path. It is only a cache: if that is not possible, the map is read again.
func (k *Kept) Store(path string, content []byte) {
	if k == nil {
		return
	}
	name, stamp, ok := k.file(path)
	if !ok {
		return
	}
	if err := WriteFile(name, slices.Concat([]byte(headOfKept(stamp, content)+"\n"), content)); err != nil {
		return
	}
	evictKept(filepath.Dir(name))
}

// evictKept removes the oldest of too many indexes.
func evictKept(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	for _, e := range list {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), keptName) {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i := maxKeptFiles; i < len(files); i++ {
		_ = os.Remove(filepath.Join(dir, files[i].Name())) // another process may have been faster
	}
}
