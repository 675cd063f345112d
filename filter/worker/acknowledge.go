package worker

import (
	"cmp"
	"slices"
)

// delivery is a line as the server has handed it over.
type delivery struct {
	reply  string // where it is acknowledged
	seq    uint64 // of the line
	number uint64 // of the delivery
	again  bool   // it has been handed over before, perhaps to another worker
}

// acknowledged is what a server is told of a message that is done.
var acknowledged = []byte("+ACK")

// acknowledge tells the server of the lines whose messages are stored, with all before them.
func (p *partition) acknowledge() {
	safe := p.done
	for _, one := range p.processes {
		if one.waiting != nil {
			safe = min(safe, one.waiting.seq-1)
		}
	}
	slices.SortStableFunc(p.unacked, func(a, b delivery) int { return cmp.Compare(a.seq, b.seq) })
	n, _ := slices.BinarySearchFunc(p.unacked, safe+1, func(d delivery, seq uint64) int { return cmp.Compare(d.seq, seq) })
	if n == 0 {
		return
	}
	if err := p.w.nc.Publish(p.unacked[n-1].reply, acknowledged); err != nil {
		p.log.Warn("acknowledge", "error", err) // then the lines come again
	}
	p.unacked = slices.Delete(p.unacked, 0, n)
}
