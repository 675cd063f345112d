package pages

import (
	"sync"
	"syscall"
	"unsafe"
)

// Advice of madvise (include/uapi/asm-generic/mman-common.h), which a kernel that does not know it refuses.
const (
	populateWrite = 23 // since Linux 5.14
	collapse      = 25 // since 6.1
)

const (
	page      = 4 << 10
	variables = 512 << 10 // more than all that hold pointers or are small
)

var (
	first = &set // The linker puts small variables first: of those that hold pointers, and then of those that the file holds no value for.
	set   bool
	heap  *[16]byte // where the heap begins, or soon after; nil if faults are fast
)

// init has the variables of packages copied from the file by one call, and backs the beginning of the heap by huge pages. Where faults are
// fast it does not pay: the second call waits for all processors.
func init() {
	if !slow() {
		return
	}
	madvise(uintptr(unsafe.Pointer(&first))&^(page-1), variables, populateWrite)
	heap = new([16]byte)
	begin := uintptr(unsafe.Pointer(heap)) &^ (hugePage - 1)
	madvise(begin, 2*hugePage, syscall.MADV_HUGEPAGE)
	madvise(begin, hugePage, collapse)
}

// probe is memory that nothing else uses.
var probe [6 * page]byte

// slow reports whether a fault takes more than five microseconds, from four.
func slow() bool {
	var begin, end syscall.Timeval
	for range 2 { // the first call has faults of its own
		_ = syscall.Gettimeofday(&begin)
	}
	for i := page; i < len(probe)-page; i += page {
		probe[i] = 1
	}
	_ = syscall.Gettimeofday(&end)
	return end.Nano()-begin.Nano() > 4*5000
}

// makeHuge asks for huge pages behind memory that is not written yet.
func makeHuge(memory []byte) {
	if heap != nil {
		adviseHuge(uintptr(unsafe.Pointer(unsafe.SliceData(memory))), uintptr(len(memory)))
	}
}

// adviseHuge asks for the huge pages that lie in memory whole: a part would have one that others use split.
func adviseHuge(begin, size uintptr) {
	end := (begin + size) &^ (hugePage - 1)
	begin = (begin + hugePage - 1) &^ (hugePage - 1)
	if begin < end {
		madvise(begin, end-begin, syscall.MADV_HUGEPAGE)
	}
}

func madvise(begin, size, advice uintptr) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, begin, size, advice)
}

// Room lets the heap grow into huge pages where faults are slow. Only memory that the heap had already can be prepared, and only garbage
// collection frees what was allocated from it, but for the stacks of goroutines that have ended: one has a large stack for a moment, of which
// little is written.
var Room = sync.OnceFunc(func() {
	if heap == nil {
		return
	}
	top := make(chan uintptr)
	go func() { top <- tall(false) }()
	if end := <-top; end > stack {
		adviseHuge(end-stack, stack)
	}
})

// stack is the size of the stack of a goroutine that has called tall, in bytes: a power of 2.
const stack = 32 << 20

// tall needs room for the argument of a call, and returns an address near the top of the stack.
//
//go:noinline
func tall(call bool) uintptr {
	var here byte
	if call {
		filled([stack / 2]byte{})
	}
	return uintptr(unsafe.Pointer(&here))
}

//go:noinline
func filled([stack / 2]byte) {}
