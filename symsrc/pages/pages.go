// Package pages makes memory cost fewer page faults. One takes less than a microsecond, but 10 to 50 in many virtual machines, where they were
// two thirds of the time of a start and a third of that of the first thousand answers.
//
// It imports so little that it is initialized before most packages of a program, whose variables and heap it prepares.
package pages

// hugePage is the size of a huge page on most machines, in bytes.
const hugePage = 2 << 20

// Make returns size zero bytes, backed by huge pages where they are many, faults are slow, and the system gives huge pages on request.
func Make(size int) []byte {
	b := make([]byte, size)
	if size >= hugePage {
		makeHuge(b)
	}
	return b
}
