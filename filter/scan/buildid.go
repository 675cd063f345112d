package scan

import "bytes"

// maxBuildID bounds what is looked at for the end of a build ID, in bytes.
const maxBuildID = 512

// BuildID finds the build ID that a text states at i, spaces before it included, in any of the spellings met. end is after what closes it:
//
//	(BuildId: …)  (Buildid: …)  (Build-id:…)  (Build ID …)  [build_id=…]  (BuildID[sha1]=…)  BuildId: …  , build-id=…
//
// The ID may be anything but spaces and, inside of brackets, may have those, too. Where the line was cut off it ends there: it is another one.
func BuildID(b []byte, i int) (id Span, end int, ok bool) {
	i = Spaces(b, i)
	if i < len(b) && b[i] == ',' {
		i = Spaces(b, i+1)
	}
	if i >= len(b) {
		return Span{}, i, false
	}
	open := b[i]
	bracket := open == '(' || open == '['
	if bracket {
		i = Spaces(b, i+1)
	}
	i, ok = buildIDWord(b, i)
	if !ok || i >= len(b) {
		return Span{}, i, false
	}
	switch c := b[i]; {
	case c == ':', c == '=':
		i++
	case c == '[' && bytes.IndexByte(b[i:min(len(b), i+len("[sha256]="))], '=') > 0: // [sha1]=
		i += bytes.IndexByte(b[i:], '=') + 1
	case !bracket || !IsSpace(c):
		return Span{}, i, false
	}
	if i = Spaces(b, i); bracket && i < len(b) && (b[i] == '=' || b[i] == ':') {
		i = Spaces(b, i+1)
	}
	if bracket {
		if end = closingAt(b, i, open); end >= 0 {
			return Span{i, BackSpaces(b, i, end)}, end + 1, true
		}
	}
	for end = i; end < len(b) && end-i < maxBuildID && b[end] > ' ' && b[end] != ')' && b[end] != ',' && b[end] != '"'; {
		end++
	}
	return Span{i, end}, end, end > i
}

// buildIDWord reads "build ID" in any of its spellings.
func buildIDWord(b []byte, i int) (end int, ok bool) {
	const build, id = "build", "id"
	if !hasFold(b, i, build) {
		return i, false
	}
	if i += len(build); i < len(b) && (b[i] == ' ' || b[i] == '-' || b[i] == '_') {
		i++
	}
	return i + len(id), hasFold(b, i, id)
}

// hasFold reports whether a word in lower case stands at b[i], in whatever case.
func hasFold(b []byte, i int, lower string) bool {
	if i > len(b) || len(b)-i < len(lower) {
		return false
	}
	for k := range len(lower) {
		if b[i+k]|0x20 != lower[k] {
			return false
		}
	}
	return true
}

// closingAt returns where the bracket closes that was opened before i, or -1 if it does not on this line.
func closingAt(b []byte, i int, open byte) int {
	shut := byte(')')
	if open == '[' {
		shut = ']'
	}
	depth := 0
	for end := min(len(b), i+maxBuildID); i < end && b[i] != '\n'; i++ {
		switch b[i] {
		case open:
			depth++
		case shut:
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}
