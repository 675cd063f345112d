package index

import (
	"sync"
	"sync/atomic"
)

// numbered has what was made of the texts of some numbers. It is a hash table and no array by number: of the names of a large program a few
// thousand are used, and an array would take a page of memory for each. Its methods are safe for concurrent use.
type numbered[T any] struct {
	slots atomic.Pointer[[]atomic.Pointer[numberedSlot[T]]] // of which at most half are used

	mu   sync.Mutex // of writers
	used int
}

type numberedSlot[T any] struct {
	number uint32
	is     *T
}

// firstNumbered is the number of slots at the start, a power of two.
const firstNumbered = 64

// get returns what was put for a number, or nil.
func (t *numbered[T]) get(number uint32) *T {
	slots := t.slots.Load()
	if slots == nil {
		return nil
	}
	if s := slotOf(*slots, number).Load(); s != nil {
		return s.is
	}
	return nil
}

// size returns the number of slots.
func (t *numbered[T]) size() int {
	if slots := t.slots.Load(); slots != nil {
		return len(*slots)
	}
	return 0
}

// put keeps what was made for a number. What another goroutine has put for it before may go.
func (t *numbered[T]) put(number uint32, is *T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.slots.Load()
	if old == nil || 2*(t.used+1) > len(*old) {
		old = t.grow(old)
	}
	at := slotOf(*old, number)
	if at.Load() == nil {
		t.used++
	}
	at.Store(&numberedSlot[T]{number, is})
}

// grow doubles the table.
func (t *numbered[T]) grow(old *[]atomic.Pointer[numberedSlot[T]]) *[]atomic.Pointer[numberedSlot[T]] {
	size := firstNumbered
	if old != nil {
		size = 2 * len(*old)
	}
	slots := make([]atomic.Pointer[numberedSlot[T]], size)
	if old != nil {
		for i := range *old {
			if s := (*old)[i].Load(); s != nil {
				slotOf(slots, s.number).Store(s)
			}
		}
	}
	t.slots.Store(&slots)
	return &slots
}

// slotOf returns the slot of a number, or the free one where it belongs.
func slotOf[T any](slots []atomic.Pointer[numberedSlot[T]], number uint32) *atomic.Pointer[numberedSlot[T]] {
	for i := uint64(number) * 0x9e3779b97f4a7c15 >> 32; ; i++ { // Fibonacci hashing
		at := &slots[i&uint64(len(slots)-1)]
		if s := at.Load(); s == nil || s.number == number {
			return at
		}
	}
}
