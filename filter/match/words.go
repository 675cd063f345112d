package match

import (
	"math"
	"sync"
)

// Words are the words that a line holds, as a set: a bit for each reader that has subscribed to some.
type Words uint64

// All are the words of all readers, for a text that was not looked at.
const All = ^Words(0)

// subscribed are the texts of each reader.
var subscribed [][]string

// Subscribe returns the bit of a reader for which a line means nothing unless it holds one of the texts, which have two bytes at least. It is
// called while packages are initialized.
func Subscribe(texts ...string) Words {
	bit := Words(1) << len(subscribed)
	if bit == 0 {
		panic("match: more readers than bits")
	}
	subscribed = append(subscribed, texts)
	return bit
}

// words finds what readers have subscribed to.
var words = sync.OnceValue(func() *Lines { return NewLines(math.MaxInt, subscribed...) })

// Look returns which readers a line may mean something to, in one pass.
func Look(line []byte) (found Words) { return words().Look(line) }

// Any reports whether the line holds a word of one of the readers.
func (w Words) Any(of Words) bool { return w&of != 0 }
