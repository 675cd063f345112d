//go:build !linux

package mapped

// Release does nothing: not every system keeps the bytes of a mapping whose memory is given back.
func Release([]byte) {}
