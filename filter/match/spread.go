package match

import (
	"cmp"
	"math/bits"
	"slices"
)

// halves are the low and the high halves of the bytes that a set has at each place, as bits.
type halves [Width][2]uint16

// with returns them after a literal has joined the set, whose bytes from an offset on are searched for.
func (h halves) with(l *Literal, at int) halves {
	for pos := range h {
		for _, c := range l.Bytes(at + pos) {
			h[pos][0] |= 1 << (c & 15)
			h[pos][1] |= 1 << (c >> 4)
		}
	}
	return h
}

// share returns which share of all texts has bytes with such halves. Columns of logs are filled with blanks.
func (h *halves) share() float64 {
	n, blank := 1.0, true
	for pos := range h {
		n *= float64(bits.OnesCount16(h[pos][0])*bits.OnesCount16(h[pos][1])) / 256
		blank = blank && h[pos][0]>>(' '&15)&1 != 0 && h[pos][1]>>(' '>>4)&1 != 0
	}
	if blank {
		n++
	}
	return n
}

// mostTried is how many offsets of a literal are tried.
const mostTried = 8

// spread divides literals into sets for which no log has been asked: each into the one that it widens least, the shortest first, since anything may
// follow these.
func spread(all []chosen) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(all[a].literal.Text), len(all[b].literal.Text)) })
	var groups [Sets]halves
	for _, i := range order {
		c, least := &all[i], 2.0
		for at := 0; at == 0 || at < mostTried && at+Width <= len(c.literal.Text); at++ {
			alone := halves{}.with(c.literal, at)
			for k := range groups {
				joined := groups[k]
				for pos := range joined {
					joined[pos][0] |= alone[pos][0]
					joined[pos][1] |= alone[pos][1]
				}
				if more := joined.share() - groups[k].share(); more < least {
					least, c.at, c.set = more, at, k
				}
			}
		}
		groups[c.set] = groups[c.set].with(c.literal, c.at)
	}
}
