package symsrc

import (
	"slices"
	"strings"
)

// maxFolded bounds the names of a folded function that Unfold puts together.
const maxFolded = 8

// foldedMark follows the names of a folded function.
const foldedMark = " (folded)"

// Unfold returns the frames at an address as they are or, if the function there is folded, one frame with all its names, `a, b (folded)`: nothing
// says which of these was called, so that neither lines nor inlined functions are known. The line stays if all are instances of one template.
func Unfold(frames []Frame) []Frame {
	last := len(frames) - 1
	if last < 0 || frames[last].Folded == "" {
		return frames
	}
	names := strings.Split(frames[last].Folded, "\n")
	one := Frame{Origin: frames[last].Origin}
	if sameTemplate(names) {
		one = frames[last]
		one.Linkage, one.Folded = "", ""
	}
	if len(names) > maxFolded {
		names = append(slices.Clone(names[:maxFolded]), "…")
	}
	one.Func = strings.Join(names, ", ") + foldedMark
	return []Frame{one}
}

// sameTemplate reports whether all names are those of instances of one template.
func sameTemplate(names []string) bool {
	plain := withoutArguments(names[0])
	for _, name := range names[1:] {
		if withoutArguments(name) != plain {
			return false
		}
	}
	return strings.Contains(names[0], "<")
}

// withoutArguments returns a name without its template's arguments and its parameters, which may depend on these, and its type.
func withoutArguments(name string) string {
	var b strings.Builder
	depth := 0
	for _, c := range name {
		switch c {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 {
				return b.String()[strings.LastIndexByte(b.String(), ' ')+1:]
			}
		default:
			if depth == 0 {
				b.WriteRune(c)
			}
		}
	}
	return b.String()[strings.LastIndexByte(b.String(), ' ')+1:]
}
