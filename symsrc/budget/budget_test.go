package budget

import (
	"errors"
	"testing"
)

func TestWork(t *testing.T) {
	w := NewWork(1)
	for range 10000 { // of honest questions there may be any number
		q, err := w.Question()
		if err := errors.Join(err, q.Spend(unnoticed/2), q.Spend(unnoticed/2)); err != nil {
			t.Fatal(err)
		}
	}
	costly := 0
	for ; ; costly++ {
		q, err := w.Question()
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
	if want := leastSteps / (1<<20 - unnoticed); costly != want {
		t.Errorf("%d costly questions, want %d", costly, want)
	}
	if _, err := w.Question(); !errors.Is(err, ErrExceeded) {
		t.Errorf("beyond its budget: %v", err)
	}
	if large := NewWork(1 << 30); large.left.Load() != stepsPerByte<<30 {
		t.Errorf("%d steps", large.left.Load())
	}
}

func TestSay(t *testing.T) {
	q, err := NewWork(0).Question()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Say(maxAnswer); err != nil {
		t.Error(err)
	}
	if err := q.Say(1); !errors.Is(err, ErrTooLong) {
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
