package symsrc

import (
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxProbed bounds the bytes that fixUnresolved has parsed for one name. Real names, of up to 100 back-references behind
// an unresolved name, take less than a tenth.
const maxProbed = 256 << 10

// fixUnresolved works around a defect of the demangling library: in an unresolved name (`sr16has_ScalarTraitsIT_EE5value`,
// Itanium ABI §5.1.6.1 <unresolved-name>) it counts the template's name as a substitution candidate, which the ABI does
// not, so that every later back-reference (`S4_`) names the wrong type. fixUnresolved raises the numbers of these
// back-references by the candidates that are too many. It fails where that takes too long.
//
// Where back-references stand, and how many candidates there are, only a parser knows. So the library is asked: the name
// up to the place in question, followed by a reference that is out of range, fails with both in its message.
func fixUnresolved(name string) (string, bool) {
	i := strings.Index(name, "sr")
	if i < 0 {
		return name, true
	}
	var extra []int // the library's number of each wrong candidate, ascending
	probed := 0
	out := make([]byte, i, len(name)+8)
	copy(out, name)
	for i < len(name) {
		switch {
		case len(extra) > 0 && name[i] == 'S':
			digits, seq, ok := seqID(name[i+1:])
			if !ok || countCandidates(out, "S", &probed) < 0 {
				break
			}
			for _, k := range extra {
				if seq >= k {
					seq++
				}
			}
			out = appendSeqID(append(out, 'S'), seq)
			i += 1 + digits
			continue
		case strings.HasPrefix(name[i:], "sr") && templateName(name[i+2:]):
			// Inside an identifier that happens to hold "sr", other letters would do as well.
			k := countCandidates(out, "srS", &probed)
			if k >= 0 && countCandidates(out, "xxS", &probed) < 0 {
				extra = append(extra, k)
			}
		}
		out = append(out, name[i])
		i++
	}
	return string(out), probed <= maxProbed
}

// countCandidates says how many substitution candidates the library has after prefix, -1 if lead, the begin of a
// construct up to and with the S of a back-reference, cannot follow there.
func countCandidates(prefix []byte, lead string, probed *int) (n int) {
	const outOfRange = "ZZZZ_"
	if *probed += len(prefix); *probed > maxProbed {
		return -1
	}
	defer func() {
		if recover() != nil {
			n = -1
		}
	}()
	_, err := demangle.ToAST(string(prefix) + lead + outOfRange)
	if err == nil {
		return -1
	}
	// "substitution index out of range (1727604 >= 7) at 33"
	_, rest, ok := strings.Cut(err.Error(), "substitution index out of range (")
	if !ok {
		return -1
	}
	_, rest, _ = strings.Cut(rest, ">= ")
	number, _, _ := strings.Cut(rest, ")")
	for i := range len(number) {
		n = n*10 + int(number[i]-'0')
	}
	return n
}

// templateName tells whether s begins with length-prefixed names of which the last has template arguments: a template
// (`16has_ScalarTraitsI`), or one in a namespace (`3std24__is_bitwise_relocatableI`).
func templateName(s string) bool {
	for {
		n, k := 0, 0
		for k < len(s) && k < 5 && s[k]-'0' < 10 {
			n = n*10 + int(s[k]-'0')
			k++
		}
		if n == 0 || k+n >= len(s) {
			return false
		}
		if s = s[k+n:]; s[0] == 'I' {
			return true
		}
	}
}

// seqID reads what follows the S of a numbered back-reference, `_` (0), `0_` (1), … `10_` (37): its length and value.
func seqID(s string) (length, value int, ok bool) {
	for i := range min(len(s), 4) {
		switch c := s[i]; {
		case c == '_' && i == 0:
			return 1, 0, true
		case c == '_':
			return i + 1, value + 1, true
		case c >= '0' && c <= '9':
			value = value*36 + int(c-'0')
		case c >= 'A' && c <= 'Z':
			value = value*36 + int(c-'A') + 10
		default:
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// appendSeqID is the reverse of seqID.
func appendSeqID(dst []byte, value int) []byte {
	if value == 0 {
		return append(dst, '_')
	}
	return append(append(dst, strings.ToUpper(strconv.FormatInt(int64(value-1), 36))...), '_')
}
