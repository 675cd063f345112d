package resolve

import "testing"

// TestMemoGrows puts answers in a table that come once each, and others in one that come again later than a table of steadySlots would
// have them.
func TestMemoGrows(t *testing.T) {
	mod := &Module{number: 1}
	for _, step := range []uint64{1, 4, 13, 16, 1 << 12} {
		var once answerMemo
		for i := range uint64(100000) {
			once.put(&query{mod: mod, off: i * step}, &Answer{})
		}
		if len(once.slots) != steadySlots {
			t.Errorf("%d slots for answers that come once, %d bytes from each other, want %d", len(once.slots), step, steadySlots)
		}
	}
	const distinct = 3 * steadySlots
	var again answerMemo
	hits := 0
	for i := range 6 * distinct {
		q := query{mod: mod, off: uint64(i%distinct) * 13}
		switch again.get(&q) {
		case nil:
			again.put(&q, &Answer{Offset: q.off})
		default:
			if i >= 5*distinct {
				hits++
			}
		}
	}
	if hits < distinct*9/10 || len(again.slots) > answerSlots {
		t.Errorf("%d of %d answers were there again, with %d slots", hits, distinct, len(again.slots))
	}
}
