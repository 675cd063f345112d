//go:build !linux

package pages

// adviseHuge does nothing: other systems choose the size of pages on their own.
func adviseHuge([]byte) {}
