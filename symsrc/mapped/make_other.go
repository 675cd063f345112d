//go:build !linux

package mapped

// adviseHuge does nothing: other systems choose the size of pages on their own.
func adviseHuge([]byte) {}
