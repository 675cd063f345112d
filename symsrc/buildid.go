package symsrc

import "encoding/hex"

// maxBuildID bounds the bytes of a build ID: the longest in use are 20 (SHA-1) and 32 (SHA-256).
const maxBuildID = 64

// BuildID is the payload of an ELF file's NT_GNU_BUILD_ID note: raw bytes in a string, so that it compares and is a key.
type BuildID string

// ParseBuildID reads hexadecimal digits of either case. An odd number of digits is padded with a zero on the left, as
// llvm does. It fails on no digits, on anything else than digits, and on more than 64 bytes.
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

// String is the ID in lower-case hexadecimal digits.
func (b BuildID) String() string { return hex.EncodeToString([]byte(b)) }
