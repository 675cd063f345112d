package inflate

import "encoding/binary"

// copyNear copies length bytes, at most maxMatch, from src to dst, which is distance bytes behind it, fewer than 16: what
// is copied is copied again. It may write up to 7 bytes more; dst has that room.
func copyNear(src, dst []byte, distance, length int) {
	switch {
	case distance >= 8:
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(src[i:]))
		}
	case distance == 1:
		v := uint64(src[0]) * 0x0101010101010101
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], v)
		}
	default:
		for i := range length {
			dst[i] = src[i]
		}
	}
}
