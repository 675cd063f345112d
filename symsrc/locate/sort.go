package locate

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLook bounds the entries of a directory that are read to recognize its layout.
const maxLook = 64

// sorted returns the options with each path of Symbols where it belongs by its content. A file is an object, an archive or a symbol
// file, which all count as Objects, or a list of files, or a bundle, which is a tree. A directory is a build-ID tree, a store of Breakpad's
// layout, or any tree. A tree with a .build-id is a debug root, too.
func (o Options) sorted() (Options, error) {
	paths := o.Symbols
	o.Symbols = nil
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return o, wrong("Symbols", &fs.PathError{Op: "open", Path: path, Err: cause(err)})
		}
		switch {
		case isBundleAt(path, info): // a tree, which is unpacked when it is read
			o.Symbols, o.bundled = append(o.Symbols, path), true
		case !info.IsDir():
			f, err := openRegular(path, true)
			if err != nil {
				return o, wrong("Symbols", &fs.PathError{Op: "open", Path: path, Err: cause(err)})
			}
			if isList(f) {
				o.IDsTxt = append(slices.Clip(o.IDsTxt), path)
			} else {
				o.Objects, o.files = append(slices.Clip(o.Objects), path), append(slices.Clip(o.files), path)
			}
			f.close()
		case isBuildIDTree(path):
			o.BuildIDDirs = append(slices.Clip(o.BuildIDDirs), path)
		case isStore(path):
			o.BreakpadDirs = append(slices.Clip(o.BreakpadDirs), path)
		default:
			if info, err := os.Stat(filepath.Join(path, ".build-id")); err == nil && info.IsDir() {
				o.DebugRoots = append(slices.Clip(o.DebugRoots), path)
			}
			o.Symbols = append(o.Symbols, path)
		}
	}
	return o, nil
}

// isBundleAt reports whether the file at path is a bundle.
func isBundleAt(path string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	f, err := openRegular(path, true)
	if err != nil {
		return false
	}
	defer f.close()
	return isBundle(f)
}

// IsPackage reports whether a file is a package of split DWARF, of which .debug_cu_index is the index (DWARF 5 §7.3.5).
func IsPackage(path string) bool {
	f, err := openRegular(path, true)
	if err != nil {
		return false
	}
	defer f.close()
	file, err := elf.NewFile(f)
	return err == nil && file.Section(".debug_cu_index") != nil
}

// isList reports whether a file begins as ids.txt or a symbol-index file does: with a build ID, an absolute path, or JSON.
func isList(f *regularFile) bool {
	head := make([]byte, min(f.Size, maxIDLine))
	n, _ := f.ReadAt(head, 0)
	head = bytes.TrimSpace(head[:n])
	line, _, _ := bytes.Cut(head, []byte("\n"))
	_, _, ok := readIDLine(line)
	return bytes.IndexByte(head, 0) < 0 && (ok || filepath.IsAbs(string(line)) || bytes.HasPrefix(line, []byte("{")))
}

// isBuildIDTree reports whether all that a directory has are directories xx of the first byte of build IDs.
func isBuildIDTree(dir string) bool {
	return looksLike(dir, func(e os.DirEntry) bool {
		_, err := hex.DecodeString(e.Name())
		return err == nil && len(e.Name()) == 2 && isDir(dir, e)
	})
}

// isStore reports whether a directory has directories NAME/DEBUGID, as the symbol stores of Breakpad have them.
func isStore(dir string) bool {
	return looksLike(dir, func(e os.DirEntry) bool {
		name := filepath.Join(dir, e.Name())
		return isDir(dir, e) && looksLike(name, func(id os.DirEntry) bool {
			return len(id.Name()) >= debugIDLength && len(id.Name()) < debugIDLength+8 && strings.Trim(id.Name(), "0123456789abcdefABCDEF") == "" &&
				isDir(name, id)
		})
	})
}

// debugIDLength is the length of a GUID and an age in hexadecimal digits.
const debugIDLength = 33

// looksLike reports whether a directory has entries, and all that are looked at fit.
func looksLike(dir string, fits func(os.DirEntry) bool) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	list, _ := d.ReadDir(maxLook)
	return len(list) > 0 && !slices.ContainsFunc(list, func(e os.DirEntry) bool { return !fits(e) })
}

// isDir reports whether an entry is a directory or a link to one.
func isDir(dir string, e os.DirEntry) bool {
	if e.Type()&os.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}
