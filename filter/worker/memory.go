package worker

import (
	"context"
	"slices"
)

// All partitions of a worker share one budget of memory for the processes that they hold. A partition beyond its share of it puts
// those aside that have not written for longest, as long as all together are beyond the budget: they are restored from what is kept of
// them, and the lines after that, when they write again. Where that is not enough, text that is held back leaves early.
//
// The lines on their way have a budget of their own, lineMemory, in equal shares for the partitions. Whatever holds lines, before or
// after they are annotated, holds no more than a share, and one line or its annotated form where that alone is longer.

// lineMemory is the memory, in bytes, for the lines of all partitions at each place where lines are held: asked for and not taken, taken
// and not annotated, annotated and not stored.
const lineMemory = 32 << 20

// share is how many bytes of lines a partition may hold at each such place.
func (s *streams) share() int { return lineMemory / max(1, s.partitions) }

// footprint is about how many bytes a process takes.
func (p *process) footprint() int64 {
	const itself = 1 << 10
	return p.filter.Footprint() + p.feed.Footprint() + int64(cap(p.text)) + itself
}

// held are the processes of a partition that are in memory.
type held struct {
	w         *worker
	processes map[string]*process // by the subjects of their lines
	reported  int                 // how many of them were reported
	weight    int64               // bytes that they take
}

// weigh notes how many bytes a process takes.
func (h *held) weigh(one *process, bytes int64) {
	h.weight += bytes - one.weight
	h.w.memory.Add(bytes - one.weight)
	one.weight = bytes
}

// shed puts processes aside as long as there is too little memory, but for those that are needed and those that hold text back. It
// reports whether the partition has more than its share nevertheless.
func (h *held) shed(needed map[*process]bool) (tight bool) {
	budget := h.w.opt.Memory
	over := h.w.memory.Load() - budget
	if over <= 0 {
		return false
	}
	share := h.fair()
	for _, one := range h.oldest(func(one *process) bool { return one.waiting == nil && !needed[one] }) {
		if h.weight <= share-share/8 || over <= -budget/8 {
			break
		}
		over -= one.weight
		h.drop(one)
	}
	return over > 0 && h.weight > share
}

// fair is the partition's share of the memory for processes.
func (h *held) fair() int64 { return h.w.opt.Memory / int64(max(1, h.w.balance.ours())) }

// relieve lets text go that is held back, of processes that have not written for longest, where there is too little memory for it.
func (p *partition) relieve(ctx context.Context) error {
	if !p.shed(nil) {
		return nil
	}
	share := p.fair()
	spare := p.weight - (share - share/8)
	var some []*process
	for _, one := range p.oldest(func(one *process) bool { return one.waiting != nil }) {
		if spare <= 0 {
			break
		}
		spare -= one.weight
		some = append(some, one)
	}
	err := p.letGo(ctx, some)
	p.shed(nil)
	return err
}

// oldest returns some of the processes, those that have not written for longest first.
func (h *held) oldest(which func(*process) bool) (all []*process) {
	for _, one := range h.processes {
		if which(one) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *process) int { return a.used.Compare(b.used) })
	return all
}

// tidy takes processes out of memory of which there are too many, and counts frames.
func (h *held) tidy() {
	if limit := max(1, h.w.opt.Filters/h.w.streams.partitions); len(h.processes) > limit {
		all := h.oldest(func(one *process) bool { return one.waiting == nil })
		for _, one := range all[:min(len(all), len(h.processes)-limit*3/4)] {
			h.drop(one)
		}
	}
	h.shed(nil)
	for _, one := range h.processes {
		h.w.counts.tally(one)
	}
	h.report()
}

// report counts how many processes are in memory.
func (h *held) report() {
	h.w.held.Add(int64(len(h.processes) - h.reported))
	h.reported = len(h.processes)
}

// drop takes one process out of memory.
func (h *held) drop(one *process) {
	if one.since >= stateRetry {
		h.w.keep(one)
	}
	h.w.counts.tally(one)
	h.weigh(one, 0)
	delete(h.processes, one.subject)
}
