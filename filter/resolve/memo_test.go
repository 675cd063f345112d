package resolve

import (
	"testing"

	"qss-filter/symsrc"
)

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

// TestMemoOfOneFrame holds that the queries of one frame, under several rules and in several spaces, and those of several functions with the same
// offset, do not drive each other out: each of them would be asked again for each frame.
func TestMemoOfOneFrame(t *testing.T) {
	var m answerMemo
	mod := &Module{number: 1}
	var queries []query
	for _, off := range []uint64{0x10, 0xc6f, 0x12345678} {
		for space := symsrc.Linked; space <= symsrc.InFileOrLinked; space++ {
			for _, rule := range []Rule{exact, afterCall, probing, probingFirst} {
				queries = append(queries, query{mod: mod, off: off, space: space, Rule: rule})
			}
		}
	}
	for i := range uint64(16) {
		queries = append(queries, query{mod: mod, off: 0x10, Rule: afterCall, from: &symbol{number: i + 1}})
	}
	m.fill(steadySlots)
	for i := range queries {
		m.put(&queries[i], &Answer{})
	}
	for i := range queries {
		if m.get(&queries[i]) == nil {
			t.Errorf("%+v has left", queries[i])
		}
	}
}
