package importer

import (
	"cmp"
	"slices"
)

// siblings gives the children of one node by their start, those with the same start in the reverse order of the file: the
// recorder puts a new call before the older ones, so that mostly the file has to be read backwards and nothing to be
// sorted.
type siblings struct {
	t        *tree
	first, n int64
	// backwards is set where the reverse order of the file is that of time; given counts those that were given.
	backwards bool
	given     int64
	// batch holds the next ones otherwise, at most maxBatch; last is the last one of the batches before.
	batch []sibling
	last  sibling
}

type sibling struct{ start, index int64 }

func (a sibling) compare(b sibling) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.index, a.index))
}

// maxBatch is how many siblings are sorted at once, for a new tree. More of them are gone through again for each batch.
const maxBatch = 1 << 18

// childrenOf begins to give the children of n, as far as they can be read.
func (t *tree) childrenOf(n *node) (siblings, error) {
	s := siblings{t: t, first: n.firstChild, n: n.children}
	s.n = max(0, min(s.n, t.n-s.first))
	if s.n == 0 {
		return s, nil
	}
	s.backwards = true
	for i := s.n - 1; i >= 0; i-- {
		c, err := t.node(s.first + i)
		if err != nil {
			return s, err
		}
		if i < s.n-1 && c.start < s.last.start {
			s.backwards = false
			break
		}
		s.last.start = c.start
	}
	s.last = sibling{}
	return s, nil
}

// next returns the index of the next child, −1 behind the last one.
func (s *siblings) next() (int64, error) {
	if s.given == s.n {
		return -1, nil
	}
	s.given++
	if s.backwards {
		return s.first + s.n - s.given, nil
	}
	if len(s.batch) == 0 {
		if err := s.fill(); err != nil {
			return -1, err
		}
	}
	s.last = s.batch[0]
	s.batch = s.batch[1:]
	return s.last.index, nil
}

// fill collects the next batch: the smallest of those beyond the last one.
func (s *siblings) fill() error {
	began := s.given > 1
	batch := make([]sibling, 0, min(2*s.t.maxBatch, s.n))
	smallest := func() {
		slices.SortFunc(batch, sibling.compare)
		batch = batch[:min(int64(len(batch)), s.t.maxBatch)]
	}
	for i := s.n - 1; i >= 0; i-- {
		c, err := s.t.node(s.first + i)
		if err != nil {
			return err
		}
		if k := (sibling{c.start, c.index}); !began || k.compare(s.last) > 0 {
			if batch = append(batch, k); int64(len(batch)) == 2*s.t.maxBatch {
				smallest()
			}
		}
	}
	smallest()
	s.batch = batch
	return nil
}
