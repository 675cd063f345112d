package resolve

import "slices"

// descends reports whether the frames of a stack are numbered, and the outermost one came first.
func (s *Stack) descends() bool {
	return s.numbered && len(s.sites) > 1 && s.sites[0].number > s.sites[1].number
}

// innermostFirst returns the frames in that order.
func (s *Stack) innermostFirst() []site {
	if !s.descends() {
		return s.sites
	}
	sites := slices.Clone(s.sites)
	slices.Reverse(sites)
	for i := range sites {
		sites[i].called = i > 0 && sites[i-1].number+1 == sites[i].number
	}
	return sites
}
