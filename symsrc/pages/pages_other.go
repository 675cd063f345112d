//go:build !linux

package pages

// Room does nothing: other systems choose the size of pages on their own.
func Room() {}

func makeHuge([]byte) {}
