package javamap

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"qss-filter/symsrc/retrace"
)

const (
	// headLen is how many bytes of a file are read to know a map, and its ID.
	headLen = 4 << 10
	// maxFiles bounds the files below the places that are looked at, and maxMaps the maps.
	maxFiles = 1 << 18
	maxMaps  = 1 << 10
	// maxMember is the size of a map in an archive that is read, in bytes.
	maxMember = 1 << 30
)

// candidate is a map that was found and may be opened.
type candidate struct {
	// path is that of the file, and member its name in an archive, "" for none.
	path, member string
	id           string
	// m is the open map, nil before that and for one that cannot be read; tried is set then.
	m     *Map
	tried bool
}

// name returns the path with the member.
func (c *candidate) name() string {
	if c.member == "" {
		return c.path
	}
	return c.path + "!" + c.member
}

// Is reports whether a file is a map, by its content.
func Is(path string) bool {
	if isArchive(path) {
		return false // it is a place
	}
	head := headOf(path)
	return isMap(head)
}

// headOf returns how a regular file begins, unpacked if it is compressed with gzip. It is empty for any other.
func headOf(path string) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return begin(f)
}

// begin returns how a text begins.
func begin(in io.Reader) []byte {
	head := make([]byte, headLen)
	n, _ := io.ReadFull(in, head) // it may be shorter
	head = head[:n]
	if !bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		return head
	}
	z, err := gzip.NewReader(io.MultiReader(bytes.NewReader(head), in))
	if err != nil {
		return nil
	}
	text := make([]byte, headLen)
	n, _ = io.ReadFull(z, text)
	return text[:n]
}

// isMap reports whether a file that begins so is a map: its first line that is no comment is `a.Class -> b:`, or the comments are R8's.
func isMap(head []byte) bool {
	head = bytes.TrimPrefix(head, byteOrderMark)
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case bytes.HasPrefix(line, []byte("# compiler: R8")), bytes.HasPrefix(line, idWord), bytes.HasPrefix(line, []byte(`# {"id":"com.android.tools.r8.mapping"`)):
			return true
		case line[0] == '#':
		default:
			before, after, found := bytes.Cut(line, []byte(" -> "))
			return found && bytes.HasSuffix(after, []byte(":")) && bytes.IndexByte(before, ' ') < 0 && bytes.IndexByte(after, ' ') < 0
		}
	}
	return false
}

// idWord stands before the ID of a map.
var idWord = []byte("# pg_map_id:")

// idOf returns the ID in the head of a map, "" if it has none.
func idOf(head []byte) string {
	head = bytes.TrimPrefix(head, byteOrderMark)
	for line := range bytes.Lines(head) {
		if id, found := bytes.CutPrefix(line, idWord); found {
			return string(bytes.TrimSpace(id))
		}
		if len(line) > 0 && line[0] != '#' {
			break
		}
	}
	return ""
}

// isArchive reports whether a file may be an archive with maps in it, by its name.
func isArchive(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".zip", ".apk", ".aab", ".aar", ".jar":
		return true
	}
	return false
}

// mayBeMap reports whether a file may be a map, by its name: Gradle writes mapping.txt, ProGuard what its user says, bundles proguard.map.
func mayBeMap(name string) bool {
	name = strings.ToLower(name)
	name = strings.TrimSuffix(name, ".gz")
	switch filepath.Ext(name) {
	case ".txt", ".map", ".pgmap", ".mapping":
		return true
	}
	return strings.Contains(name, "mapping") && filepath.Ext(name) == ""
}

// byteOrderMark may stand before a text in UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

var errEnough = errors.New("enough")

// find returns the maps in the places, which are not opened yet.
func (m *Maps) find(ctx context.Context) (found []*candidate) {
	files := 0
	for _, place := range m.opt.Places {
		err := filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
			if err != nil || ctx.Err() != nil {
				return ctx.Err() // what cannot be read is said by who looks for other files
			}
			if d.IsDir() {
				if name := d.Name(); path != place && (name == ".git" || name == ".hg" || name == ".svn") {
					return fs.SkipDir
				}
				return nil
			}
			if files++; files > maxFiles || len(found) >= maxMaps {
				return errEnough
			}
			switch {
			case isArchive(path):
				found = append(found, members(path)...)
			case mayBeMap(d.Name()):
				if head := headOf(path); isMap(head) {
					found = append(found, &candidate{path: path, id: idOf(head)})
				}
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			m.problem("search " + place + " for maps of Java: there are too many files")
		}
	}
	return found
}

// members returns the maps in an archive: that of a bundle is BUNDLE-METADATA/com.android.tools.build.obfuscation/proguard.map.
func members(archive string) (found []*candidate) {
	if info, err := os.Stat(archive); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil
	}
	defer z.Close()
	for _, f := range z.File {
		base := path.Base(f.Name)
		if base != "proguard.map" && !strings.HasPrefix(base, "mapping.txt") || f.UncompressedSize64 > maxMember || len(found) >= maxMaps {
			continue
		}
		in, err := f.Open()
		if err != nil {
			continue
		}
		head := begin(in)
		in.Close()
		if isMap(head) {
			found = append(found, &candidate{path: archive, member: f.Name, id: idOf(head)})
		}
	}
	return found
}

// open opens a map that was found. It is nil if it cannot be read.
func (m *Maps) open(ctx context.Context, c *candidate) *Map {
	if c.tried {
		return c.m
	}
	c.tried = true
	one, err := m.read(ctx, c)
	if err != nil {
		m.problem(c.name() + ": " + err.Error())
		return nil
	}
	c.m = m.of(c.name(), one)
	return c.m
}

// read reads a map.
func (m *Maps) read(ctx context.Context, c *candidate) (*retrace.Map, error) {
	if c.member == "" {
		return retrace.Open(ctx, c.path, m.opt.Cache)
	}
	z, err := zip.OpenReader(c.path)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	in, err := z.Open(c.member)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxMember))
	if err != nil {
		return nil, err
	}
	return retrace.Read(c.name(), text)
}
