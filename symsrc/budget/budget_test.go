package budget

import (
	"errors"
	"testing"
)

func TestWork(t *testing.T) {
	w := NewWork(1)
	for range 10000 { // there may be any number of cheap queries
		q, err := w.Query()
		if err := errors.Join(err, q.Spend(uncounted/2), q.Spend(uncounted/2)); err != nil {
			t.Fatal(err)
		}
	}
	expensive := 0
	for ; ; expensive++ {
		q, err := w.Query()
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Spend(1 << 20); err != nil {
			if !errors.Is(err, ErrExceeded) {
				t.Error(err)
			}
			break
		}
	}
	if want := minSteps / (1<<20 - uncounted); expensive != want {
		t.Errorf("%d expensive queries, want %d", expensive, want)
	}
	if _, err := w.Query(); !errors.Is(err, ErrExceeded) {
		t.Errorf("beyond its budget: %v", err)
	}
	if large := NewWork(1 << 30); large.left.Load() != stepsPerByte<<30 {
		t.Errorf("%d steps", large.left.Load())
	}
}

func TestAddBytes(t *testing.T) {
	q, err := NewWork(0).Query()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.AddBytes(maxAnswer); err != nil {
		t.Error(err)
	}
	if err := q.AddBytes(1); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

func TestBytes(t *testing.T) {
	for size, want := range map[int64]int64{0: 64 << 20, 1 << 20: 64 << 20, 1 << 30: 16 << 30} {
		if got := Bytes(size); got != want {
			t.Errorf("%d bytes: %d, want %d", size, got, want)
		}
	}
}
