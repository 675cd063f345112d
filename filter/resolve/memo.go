package resolve

// The caches of answers are tables in which an answer replaces the one in its slot. They begin small, since most logs have few
// frames, and one program may have thousands of filters. A table that has taken half as many answers as it has slots grows, since two
// that come again and again may be in the way of each other: one of steadySlots only if answers were asked for again that had left it.
// Logs of addresses that come once each need no more of them.
const (
	firstSlots  = 1 << 6 // a power of two, as growth is
	growth      = 4
	steadySlots = 1 << 12
	// absoluteSlots is how many answers for absolute addresses are remembered at most. Every process has its own addresses, so
	// most answers are soon of no use.
	absoluteSlots = 1 << 14
	// answerSlots is how many answers for addresses of modules are remembered at most: a log repeats its frames within a short time.
	answerSlots = 1 << 16
	// answerBytes is about how many bytes the answers of a table take at most.
	answerBytes = 64 << 20
)

// recurrence finds out whether a larger table would have had answers that were asked for.
type recurrence struct {
	// puts are the answers that the table has taken since it grew, of which again had been there before.
	puts, again int
	// were has a bit for each answer that was there, by the hash of its query, and count is how many are set.
	were  []uint64
	count int
}

// wereBits is the number of bits of recurrence.were, as a power of two. They begin anew once an eighth is set, so that few are set by chance.
const wereBits = 19

// put notes that a table of that many slots takes an answer, and reports whether it should grow first, to at most that many.
func (r *recurrence) put(hash uint64, slots, most int) (grow bool) {
	if slots >= steadySlots && slots < most {
		r.note((hash ^ hash>>32) * 0xbf58476d1ce4e5b9 >> (64 - wereBits)) // addresses may have a constant distance
	}
	if r.puts++; r.puts <= slots/2 || slots >= most {
		return false
	}
	grow = slots < steadySlots || growth*r.again > r.puts
	r.puts, r.again = 0, 0
	return grow
}

// note notes the answer of that bit.
func (r *recurrence) note(bit uint64) {
	switch {
	case r.were == nil:
		r.were = make([]uint64, 1<<wereBits/64)
	case r.count > 1<<wereBits/8:
		clear(r.were)
		r.count = 0
	}
	if word := &r.were[bit/64]; *word&(1<<(bit%64)) != 0 {
		r.again++
	} else {
		*word |= 1 << (bit % 64)
		r.count++
	}
}

// addressMemo holds the answers for absolute addresses.
type addressMemo struct {
	slots []addressSlot
	puts  int
}

// addressSlot is an answer for an absolute address.
type addressSlot struct {
	query  address
	answer *Answer
}

// slot returns the slot of a query.
func (m *addressMemo) slot(q *address) *addressSlot {
	h := (q.addr ^ q.generation<<40) * 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return &m.slots[h>>40&uint64(len(m.slots)-1)]
}

// get returns the answer to q, or nil.
func (m *addressMemo) get(q address) *Answer {
	if len(m.slots) == 0 {
		return nil
	}
	if s := m.slot(&q); s.query == q {
		return s.answer
	}
	return nil
}

// put keeps an answer. There are no more slots than others has, in which the answers are, too: that one grows only if they come again.
func (m *addressMemo) put(q address, a *Answer, others int) {
	if m.puts++; m.puts > 2*len(m.slots) && len(m.slots) < min(absoluteSlots, max(steadySlots, others)) {
		old := m.slots
		m.slots, m.puts = make([]addressSlot, max(firstSlots, growth*len(old))), 0
		for i := range old {
			if old[i].answer != nil {
				*m.slot(&old[i].query) = old[i]
			}
		}
	}
	*m.slot(&q) = addressSlot{q, a}
}

// answerMemo holds the answers for addresses of modules.
type answerMemo struct {
	slots []answerSlot
	recurrence
	bytes int // of the answers
}

// answerSlot is an answer for an address of a module.
type answerSlot struct {
	query  query
	answer *Answer
	size   int32 // of the answer, whose memory is far away by the time it leaves
}

// hash returns a hash of the query. Its upper bits are the good ones. One frame has several queries, by what its address may count from and by
// the rules under which it is asked and proven, and the functions of a stack have few offsets: each of these has a slot of its own.
func (q *query) hash() uint64 {
	h := q.off ^ q.mod.number<<44 ^ (uint64(q.Rule)<<4|uint64(q.space))<<32
	if q.from != nil {
		h ^= q.from.number << 16
	}
	return h * 0x9e3779b97f4a7c15
}

// get returns the answer to q, or nil.
func (m *answerMemo) get(q *query) *Answer {
	if len(m.slots) == 0 {
		return nil
	}
	i := q.hash() >> 40 & uint64(len(m.slots)-1)
	if s := &m.slots[i]; s.query == *q {
		return s.answer
	}
	if s := &m.slots[i^1]; s.query == *q {
		return s.answer
	}
	return nil
}

// put keeps an answer.
func (m *answerMemo) put(q *query, a *Answer) {
	if m.recurrence.put(q.hash(), len(m.slots), answerSlots) {
		m.fill(max(firstSlots, growth*len(m.slots)))
	} else if m.bytes > answerBytes {
		clear(m.slots)
		m.bytes = 0
	}
	size := a.size()
	if q.from != nil {
		size += len(q.from.name)
	}
	m.set(answerSlot{*q, a, int32(min(size, answerBytes))})
}

// fill replaces the table by one of that many slots with the same answers.
func (m *answerMemo) fill(slots int) {
	old := m.slots
	m.slots, m.bytes = make([]answerSlot, slots), 0
	for _, s := range old {
		if s.answer != nil {
			m.set(s)
		}
	}
}

// set puts an answer in its slot. Slots are neighbors in pairs: the answer that was there moves to the neighbor.
func (m *answerMemo) set(is answerSlot) {
	i := is.query.hash() >> 40 & uint64(len(m.slots)-1)
	s := &m.slots[i]
	switch next := &m.slots[i^1]; {
	case s.answer == nil:
	case s.query == is.query:
		m.bytes -= int(s.size)
	default:
		m.bytes -= int(next.size)
		*next = *s
	}
	m.bytes += int(is.size)
	*s = is
}

// Weights of an answer, in bytes, as measured with the overhead of the allocator.
const (
	answerWeight = 640 // without its texts
	frameWeight  = 160
)

// size returns about how many bytes an answer takes, with its text.
func (a *Answer) size() int {
	n := answerWeight
	for i := range a.Frames {
		n += 2*frameWeight + len(a.Frames[i].Func) + len(a.Frames[i].File)
	}
	return n
}
