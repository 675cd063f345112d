package mapped

// hugePage is the size of a huge page on most machines, in bytes.
const hugePage = 2 << 20

// Make returns size zero bytes, backed by huge pages where they are many and the system gives them on request: each page that is written for
// the first time costs a fault, which takes as long as unpacking 4 KiB, or ten times as long in a virtual machine.
func Make(size int) []byte {
	b := make([]byte, size)
	if size >= hugePage {
		adviseHuge(b)
	}
	return b
}
