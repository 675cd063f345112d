package symsrc

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// maxBuildID bounds the bytes of a build ID: the longest in use are 20 (SHA-1) and 32 (SHA-256).
const maxBuildID = 64

// BuildID is the payload of an ELF file's NT_GNU_BUILD_ID note: raw bytes in a string, so that it can be compared and used as a key.
// It may also be one that cannot be read; see Unread.
type BuildID string

// ParseBuildID reads hexadecimal digits of either case. An odd number of digits is padded with a zero on the left, as
// llvm does. It returns false for an empty text, for other characters, and for more than 64 bytes.
func ParseBuildID[T string | []byte](digits T) (BuildID, bool) {
	n := len(digits)
	if n == 0 || n > 2*maxBuildID {
		return "", false
	}
	var padded [2 * maxBuildID]byte
	var raw [maxBuildID]byte
	k := n & 1
	padded[0] = '0'
	copy(padded[k:], digits)
	m, err := hex.Decode(raw[:], padded[:n+k])
	if err != nil {
		return "", false
	}
	return BuildID(raw[:m]), true
}

// ParseUUID is ParseBuildID for a text that may be a UUID with hyphens, too.
func ParseUUID(text string) (BuildID, bool) {
	const hyphens = 4
	if plain := strings.ReplaceAll(text, "-", ""); len(text) == 2*cutID+hyphens && len(plain) == 2*cutID {
		text = plain
	}
	return ParseBuildID(text)
}

// unread begins a BuildID whose text cannot be read. It is longer than any that a linker makes of its own accord.
const unread = "\x00a build ID that cannot be read, and which no file has, therefore: \x00"

// maxUnread is how much of such a text is kept.
const maxUnread = 128

// ReadBuildID reads a build ID as people and programs write them. It is "" if text is empty, and Unread if it is none of these:
//
//	529039C4 877F 2B56…, 52:90:39:c4…           digits of either case, in groups
//	11223344-5566-7788-9900-112233445566, {…}   a UUID, which is the first 16 bytes
//	0x529039c4…, sha1:…, BuildID[sha1]=…        after a prefix
//	'529039c4…', "…", `…`                       in quotes
func ReadBuildID(text []byte) BuildID {
	text = bytes.TrimSpace(text)
	if id, ok := ParseBuildID(text); ok {
		return id
	}
	if len(text) == 0 {
		return ""
	}
	inner := text
	for {
		next := unwrapID(inner)
		if len(next) == len(inner) || len(next) == 0 {
			break
		}
		inner = next
	}
	if id, ok := ParseBuildID(ungroup(inner)); ok {
		return id
	}
	return BuildID(unread + string(text[:min(len(text), maxUnread)]))
}

// idPrefixes are the words before the digits of a build ID, in lower case: what it is, and by which sum it was made.
var idPrefixes = [...]string{"buildid", "build-id", "build id", "build_id", "gnu", "sha1", "sha-1", "sha256", "sha-256", "md5", "uuid", "guid", "hex", "id"}

// unwrapID takes a prefix or a pair of quotes or braces off a build ID.
func unwrapID(text []byte) []byte {
	if n := len(text); n >= 2 {
		switch string(text[:1]) + string(text[n-1:]) {
		case `''`, `""`, "``", "{}", "[]":
			return bytes.TrimSpace(text[1 : n-1])
		}
	}
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		return text[2:]
	}
	for _, word := range idPrefixes {
		if len(text) <= len(word) || !strings.EqualFold(string(text[:len(word)]), word) {
			continue
		}
		if rest := bytes.TrimLeft(text[len(word):], " \t:=/[]"); len(rest) < len(text)-len(word) {
			return rest
		}
	}
	if text[0] == '[' { // [sha1]=…
		return text[1:]
	}
	return text
}

// ungroup returns the digits of groups of at least two, with one separator between them. It is nil for another text.
func ungroup(text []byte) []byte {
	var digits []byte
	for len(text) > 0 {
		n := bytes.IndexAny(text, "- :_")
		if n < 0 {
			n = len(text)
		}
		if n < 2 || n%2 == 1 || len(digits)+n > 2*maxBuildID {
			return nil
		}
		digits = append(digits, text[:n]...)
		text = text[n:]
		if len(text) == 1 {
			return nil
		}
		text = text[min(1, len(text)):]
	}
	return digits
}

// MachO stands for the build ID of a Mach-O file where the log has none. No ELF file is one, whatever its name.
const MachO BuildID = unread + "\x00"

// Unread reports whether the ID is one that cannot be read. No file has it. written is the text in its place, or the beginning of that.
func (b BuildID) Unread() (written string, is bool) {
	return strings.CutPrefix(string(b), unread)
}

// String returns the ID in lower-case hexadecimal digits.
func (b BuildID) String() string { return hex.EncodeToString([]byte(b)) }

// Text returns the ID as String does, and one that cannot be read as it is written.
func (b BuildID) Text() string { return string(b.Append(nil)) }

// Append appends what Text returns.
func (b BuildID) Append(dst []byte) []byte {
	if b == MachO {
		return dst
	}
	if written, is := b.Unread(); is {
		return AppendVisible(dst, written)
	}
	return hex.AppendEncode(dst, []byte(b))
}

// Unreadable returns the result of the search for a file whose build ID cannot be read, nil for another ID.
func (b BuildID) Unreadable() *Files {
	written, is := b.Unread()
	if !is {
		return nil
	}
	if b == MachO {
		return &Files{ElfStatus: NotFound, DebugStatus: NotFound, Note: "a Mach-O file of Darwin, and the log has no UUID of it"}
	}
	return &Files{ElfStatus: MismatchBuildID, DebugStatus: MismatchBuildID, Note: "the build ID in the log cannot be read: " + Visible(written)}
}
