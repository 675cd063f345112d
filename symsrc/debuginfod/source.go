package debuginfod

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// Source is the kind of a source file, by its absolute path in the debug information.
func Source(path string) Kind { return Kind(sourceKind + path) }

const sourceKind = "source"

// maxSource bounds a source file, in bytes.
const maxSource = 16 << 20

// isSource tells a source file, of which nothing can be verified here, from ELF files.
func (k Kind) isSource() bool { return strings.HasPrefix(string(k), sourceKind) }

// urlPath is the kind as servers want it (debuginfod(8), WEBAPI): a source's path is percent-encoded.
func (k Kind) urlPath() string {
	segments := strings.Split(string(k), "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.Join(segments, "/")
}

// maxName is how long the name of a file may be.
const maxName = 255 - len(".XXXXXXXXXX")

// fileName is the kind as elfutils names its file in the cache: a source's path with ## for slashes and #_ for # (by observation
// of elfutils 0.188). A name that no directory takes is cut, with a hash of it all in front.
func (k Kind) fileName() string {
	name := strings.NewReplacer("/", "##", "#", "#_").Replace(string(k))
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := sourceKind + "-" + hex.EncodeToString(sum[:8]) + "-"
	return hash + name[len(name)-maxName+len(hash):]
}

// shown is the kind for a person to read; the path of a source could be anything.
func (k Kind) shown() string {
	if k.isSource() {
		return sourceKind
	}
	return string(k)
}
