package retrace

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// format is a version of the format of maps: 202 is 2.2. It is 0 before a map says which it is. R8's documentation has all comments but
// sourceFile ignored then, but no compiler wrote others before it wrote versions: a map that has some has only lost its head.
type format int32

// newest is the newest version whose comments are known, and experimental the one of compilers that were on their way to 2.0.
const (
	newest       = format(202)
	experimental = format(200)
)

// idPrefix stands before the names of comments, but for sourceFile, which is older.
const idPrefix = "com.android.tools.r8."

// knows reports whether comments of an ID mean something in a version.
func (f format) knows(id string) bool { return f == 0 || f >= introduced[id] }

// introduced has the versions in which comments about methods were introduced (doc/retrace.md).
var introduced = map[string]format{"synthesized": 100, "rewriteFrame": 200, "outline": 200, "outlineCallsite": 200}

// formatWord is in a comment that says which version follows it.
var formatWord = []byte(idPrefix + "mapping")

// formatIn returns the version that a comment names.
func formatIn(line []byte) (version string, ok bool) {
	c, ok := parseComment(bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("#"))))
	return c.Version, ok && c.ID == idPrefix+"mapping"
}

// parseFormat parses the text of a version. One that is not understood is none.
func parseFormat(text string) format {
	if text == "experimental" {
		return experimental
	}
	major, minor, _ := strings.Cut(text, ".")
	a, err := strconv.ParseUint(major, 10, 16)
	b, _ := strconv.ParseUint(minor, 10, 16)
	if err != nil {
		return 0
	}
	return format(a)*100 + format(min(b, 99))
}

// String returns a version as maps write it.
func (f format) String() string { return fmt.Sprintf("%d.%d", f/100, f%100) }

// Newer returns the versions in a map that are newer than the newest one that is known.
func (m *Map) Newer() (versions []string) {
	for i := range len(m.index.formats) / entrySize {
		if f := format(m.index.formats.entry(i).hash); f > newest {
			versions = append(versions, f.String())
		}
	}
	return versions
}
