package filter

// absoluteSlots is how many answers for absolute addresses are remembered. Every process has its own addresses, so that
// most are of no use soon: an answer gives way to the next one with the same slot.
const absoluteSlots = 1 << 13

// absoluteMemo holds the answers for absolute addresses.
type absoluteMemo []struct {
	question absoluteQuestion
	answer   *answer
}

func (m absoluteMemo) slot(q *absoluteQuestion) int {
	h := (q.addr ^ q.generation<<40) * 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return int(h>>40) % absoluteSlots
}

// get gives the answer to q, nil where it is not known.
func (m absoluteMemo) get(q absoluteQuestion) *answer {
	if len(m) == 0 {
		return nil
	}
	if s := &m[m.slot(&q)]; s.question == q {
		return s.answer
	}
	return nil
}

// put keeps an answer. The table is made for the first one: most logs have no frames.
func (m *absoluteMemo) put(q absoluteQuestion, a *answer) {
	if len(*m) == 0 {
		*m = make(absoluteMemo, absoluteSlots)
	}
	s := &(*m)[m.slot(&q)]
	s.question, s.answer = q, a
}

// answerSlots is how many answers for addresses of modules are remembered: a log repeats its frames within a short time.
const answerSlots = 1 << 15

// answerMemo holds the answers for addresses of modules.
type answerMemo []struct {
	question question
	answer   *answer
}

// hash spreads questions; its upper bits are good.
func (q *question) hash() uint64 { return (q.off ^ q.mod.number<<44) * 0x9e3779b97f4a7c15 }

// get gives the answer to q, nil where it is not known.
func (m answerMemo) get(q *question) *answer {
	if len(m) == 0 {
		return nil
	}
	i := q.hash() >> 40 % answerSlots
	if s := &m[i]; s.question == *q {
		return s.answer
	}
	if s := &m[i^1]; s.question == *q {
		return s.answer
	}
	return nil
}

func (m *answerMemo) put(q *question, a *answer) {
	if len(*m) == 0 {
		*m = make(answerMemo, answerSlots)
	}
	// Two slots are neighbours: the one that was there goes next door.
	i := q.hash() >> 40 % answerSlots
	s := &(*m)[i]
	if s.answer != nil && s.question != *q {
		(*m)[i^1] = *s
	}
	s.question, s.answer = *q, a
}
