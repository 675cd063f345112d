package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// entry is a value of a bucket.
type entry struct {
	jetstream.KeyValueEntry
	key, value string
	created    time.Time
}

func (e entry) Key() string        { return e.key }
func (e entry) Value() []byte      { return []byte(e.value) }
func (e entry) Created() time.Time { return e.created }

// TestBalance lets workers that hear of each other even out what one of them has got, one wish at a time.
func TestBalance(t *testing.T) {
	for _, c := range []struct{ partitions, workers int }{{16, 2}, {16, 3}, {5, 4}, {1, 2}, {2, 3}} {
		var all []*balance
		released := map[int]bool{}
		for i := range c.workers {
			all = append(all, &balance{name: fmt.Sprint("w", i), owners: map[int]string{}, asked: map[int]time.Time{},
				release: func(n int) { released[n] = true }})
		}
		tell := func(key, value string) {
			for _, b := range all {
				b.note(entry{key: key, value: value, created: time.Now()})
			}
		}
		for n := range c.partitions {
			tell(fmt.Sprint(ownerPrefix, n), "w0")
		}
		now := time.Now()
		for range 10 * c.partitions {
			now = now.Add(wishAge)
			for _, b := range all {
				if n, ok := b.wanted(now); ok {
					clear(released)
					tell(fmt.Sprint(wishPrefix, n), b.name)
					if released[n] {
						tell(fmt.Sprint(ownerPrefix, n), b.name)
					}
				}
			}
		}
		least, most := c.partitions, 0
		for _, b := range all {
			least, most = min(least, b.ours()), max(most, b.ours())
		}
		if most-least > 1 {
			t.Errorf("%d partitions, %d workers: one has %d, another one %d", c.partitions, c.workers, least, most)
		}
	}
}

// TestWishes holds which wishes count.
func TestWishes(t *testing.T) {
	released := 0
	b := &balance{name: "me", owners: map[int]string{0: "me", 1: "me", 2: "me", 3: "you", 4: "you"}, asked: map[int]time.Time{},
		release: func(int) { released++ }}
	for _, e := range []entry{
		{key: "wish.0", value: "you", created: time.Now()},                 // has enough
		{key: "wish.3", value: "other", created: time.Now()},               // not ours
		{key: "wish.1", value: "other", created: time.Now().Add(-wishAge)}, // too old
		{key: "wish.x", value: "other", created: time.Now()},
	} {
		if b.note(e); released != 0 {
			t.Fatalf("the wish %v is fulfilled", e)
		}
	}
	if b.note(entry{key: "wish.1", value: "other", created: time.Now()}); released != 1 || b.ours() != 2 {
		t.Errorf("a good wish is not fulfilled")
	}
	if n, ok := b.wanted(time.Now()); ok {
		t.Errorf("partition %d is wished for though no worker has more", n)
	}
}
