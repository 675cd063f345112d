package object

import "time"

// begin notes that a question is being answered.
func (t *twins) begin() {
	if t != nil {
		t.asking.Add(1)
	}
}

// end notes that it was.
func (t *twins) end() {
	if t != nil {
		t.asked.Add(1)
		t.asking.Add(-1)
	}
}

// pace keeps the writer of a twin out of the way of questions: while there are any it takes a tenth of a core, for it would
// take their memory bandwidth and their cores; in between, all of one.
type pace struct {
	t     *twins
	quit  <-chan struct{}
	since time.Time // when the step at hand began; zero before the first
	asked int64     // questions until then
}

const (
	busyShare = 10                    // steps take one part in so many of the time while there are questions
	quiet     = 10 * time.Millisecond // without a question make a pause
)

// wait is for the time before each step. It returns at once when the file is closed.
func (p *pace) wait() {
	took := quiet / (busyShare - 1)
	if !p.since.IsZero() {
		took = time.Since(p.since)
	}
	if p.since.IsZero() || p.t.asking.Load() > 0 || p.t.asked.Load() != p.asked {
		pause := time.NewTimer(max(quiet, took*(busyShare-1)))
		defer pause.Stop()
		p.asked = p.t.asked.Load()
		select {
		case <-pause.C:
		case <-p.quit:
		}
	}
	p.since = time.Now()
}
