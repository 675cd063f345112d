package batch

import (
	"sync"
	"time"
)

// Limits of Recent: how long it keeps answers, which is as long as a change of a file on disk may go unnoticed, their number, and their size
// in bytes.
const (
	recentTime  = time.Second
	maxRecent   = 1 << 15
	recentBytes = 4 << 20
)

// Recent keeps answers for a moment, because profilers ask about the same addresses again and again. The zero Recent is empty. It may be
// used by several goroutines at once.
type Recent struct {
	mu      sync.Mutex
	answers map[string]string
	size    int
	since   time.Time // when the first of the answers was kept
}

// Append appends the answer to a request to dst. It returns false if none is kept.
func (r *Recent) Append(dst, request []byte) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer, ok := r.answers[string(request)]
	if !ok || time.Since(r.since) >= recentTime {
		return dst, false
	}
	return append(dst, answer...), true
}

// Keep keeps the answer to a request.
func (r *Recent) Keep(request, answer []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	size := len(request) + len(answer)
	if r.answers == nil {
		r.answers = make(map[string]string)
	}
	if r.size+size > recentBytes || len(r.answers) == maxRecent || now.Sub(r.since) >= recentTime {
		clear(r.answers)
		r.size, r.since = 0, now
	}
	if size <= recentBytes {
		r.answers[string(request)] = string(answer)
		r.size += size
	}
}
