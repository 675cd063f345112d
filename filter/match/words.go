package match

import "sync"

// Words are the words that a line holds, as a set: a bit for each reader that has subscribed to some.
type Words uint64

// All are the words of all readers, for a text that was not looked at.
const All = ^Words(0)

// subscribed are the texts of the readers, and the bit of each.
var subscribed struct {
	literals []Literal
	of       []Words
	readers  int
}

// Subscribe returns the bit of a reader for which a line means nothing unless it holds one of the texts, which have two bytes at least. It is
// called while packages are initialized.
func Subscribe(texts ...string) Words {
	bit := Words(1) << subscribed.readers
	if bit == 0 {
		panic("match: more readers than bits")
	}
	subscribed.readers++
	for _, text := range texts {
		subscribed.literals = append(subscribed.literals, Literal{Text: text, When: Always})
		subscribed.of = append(subscribed.of, bit)
	}
	return bit
}

// words finds what readers have subscribed to.
var words = sync.OnceValue(func() *Scan { return NewScan(subscribed.literals, Always) })

// Look returns which readers a line may mean something to, in one pass.
func Look(line []byte) (found Words) {
	words().each(line, func(number, _ int) { found |= subscribed.of[number] })
	return found
}

// Any reports whether the line holds a word of one of the readers.
func (w Words) Any(of Words) bool { return w&of != 0 }
