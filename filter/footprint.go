package filter

// Weights of things, in bytes, with what the allocator and the tables that they are in add; measured, not counted.
const filterWeight = 8 << 10

// Footprint returns about how many bytes of memory the filter keeps between lines: what it knows of processes, and what it remembers
// of lines and answers. What several filters share is not in it: the source, and the answers' own strings.
func (f *Filter) Footprint() int64 {
	q := &f.quick
	n := filterWeight + f.resolver.Footprint()
	n += q.known.Footprint() + q.showed.Footprint() + q.tails.Footprint()
	n += f.parser.Footprint() + cap(f.stripped)
	if f.dedupe != nil {
		n += len(f.dedupe.seen) * 200
	}
	return int64(n)
}
