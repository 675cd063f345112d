package worker

import (
	"slices"
)

// All partitions of a worker share one budget of memory for the processes that they hold. A partition beyond its share of it puts
// those aside that have not written for longest, as long as all together are beyond the budget: they are restored from what is kept of
// them, and the lines after that, when they write again.

// footprint is about how many bytes a process takes.
func (p *process) footprint() int64 {
	const itself = 1 << 10
	return p.filter.Footprint() + int64(cap(p.text)) + itself
}

// weigh takes note of how many bytes a process takes.
func (p *partition) weigh(one *process, bytes int64) {
	p.weight += bytes - one.weight
	p.w.memory.Add(bytes - one.weight)
	one.weight = bytes
}

// shed puts processes aside as long as there is too little memory, but for those that are needed and those that hold text back. It
// reports whether the partition has more than its share nevertheless.
func (p *partition) shed(needed map[*process]bool) (tight bool) {
	budget := p.w.opt.Memory
	over := p.w.memory.Load() - budget
	if over <= 0 {
		return false
	}
	share := budget / int64(max(1, p.w.balance.ours()))
	for _, one := range p.oldest(needed) {
		if p.weight <= share-share/8 || over <= -budget/8 {
			break
		}
		over -= one.weight
		p.drop(one)
	}
	return over > 0 && p.weight > share
}

// oldest gives the processes that may be put aside, those that have not written for longest first.
func (p *partition) oldest(needed map[*process]bool) (all []*process) {
	for _, one := range p.processes {
		if one.waiting == nil && !needed[one] {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *process) int { return a.used.Compare(b.used) })
	return all
}

// tidy takes processes out of memory of which there are too many, and counts frames.
func (p *partition) tidy() {
	if limit := max(1, p.w.opt.Filters/p.w.streams.partitions); len(p.processes) > limit {
		all := p.oldest(nil)
		for _, one := range all[:min(len(all), len(p.processes)-limit*3/4)] {
			p.drop(one)
		}
	}
	p.shed(nil)
	for _, one := range p.processes {
		p.w.counts.tally(one)
	}
	p.report()
}

// report tells how many processes are in memory.
func (p *partition) report() {
	p.w.held.Add(int64(len(p.processes) - p.reported))
	p.reported = len(p.processes)
}
