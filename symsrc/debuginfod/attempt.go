package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// phase is the progress of a request.
type phase uint8

const (
	idle       phase = iota // not started
	connecting              // to be sent as soon as there is a connection
	asked                   // no answer yet
	receiving
	over
)

// verdict is the result of one server's part in a fetch.
type verdict uint8

const (
	verdictTrouble  verdict = iota // a fault that may be temporary
	verdictDown                    // the server cannot be reached
	verdictPaused                  // the server is not asked for a while
	verdictUseless                 // the answer is useless, and would be again
	verdictTooLarge                // the file is too large
	verdictMissing                 // the server does not have the file
	verdictGood
)

const (
	retryFailed  = time.Minute            // a server is asked again for a file after trouble
	firstBackoff = 200 * time.Millisecond // between the first two tries, doubled each time
	maxBackoff   = 5 * time.Second
)

// failure says why a request failed.
type failure struct {
	verdict verdict
	reason  string
	after   time.Duration // the wait before the next try that the server asks for
	final   bool          // another try would not help
}

func (e *failure) Error() string { return e.reason }

func trouble(format string, args ...any) *failure {
	return &failure{verdict: verdictTrouble, reason: fmt.Sprintf(format, args...)}
}

func useless(format string, args ...any) *failure {
	return &failure{verdict: verdictUseless, reason: fmt.Sprintf(format, args...)}
}

func tooLarge(format string, args ...any) *failure {
	return &failure{verdict: verdictTooLarge, reason: fmt.Sprintf(format, args...)}
}

// attempt is one server's part in a fetch.
type attempt struct {
	c      *Client
	f      *fetch
	server *server
	phase  phase // under Client.mu

	// moved counts the received bytes of the current try; total is the expected number, 0 if it is unknown.
	moved, total atomic.Int64
	// stored is set when everything was received and is being verified.
	stored atomic.Bool

	settled bool // before it began: by the fetch before, or by an earlier run
	full    bool // the cache could not be written, which is not the server's fault
	verdict verdict
	reason  string
	again   time.Time // when to ask this server again; zero for never
	elf     *elfInfo
}

// path returns where the server has the file, as far as that is known.
func (a *attempt) path() string {
	if all := a.server.paths(a.f.key); len(all) > 0 {
		return all[0]
	}
	return a.f.urlPath()
}

// String returns the server and the result.
func (a *attempt) String() string {
	text := a.server.name + a.path()
	if a.reason != "" {
		text += " (" + a.reason + ")"
	}
	return text
}

// inherit takes over what an earlier fetch learned from the server, while that is valid.
func (a *attempt) inherit(old *fetch, now time.Time) {
	for _, o := range old.attempts {
		if o.server == a.server && o.phase == over && (o.again.IsZero() || now.Before(o.again)) {
			a.settled, a.phase, a.verdict, a.reason, a.again = true, over, o.verdict, o.reason, o.again
		}
	}
}

// enter records the progress of the request. Callers that wait for the fetch then check again whether to wait.
func (a *attempt) enter(p phase) {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	now := a.c.now()
	switch a.phase = p; p {
	case connecting:
		a.server.dial(now)
	case asked, receiving:
		a.server.reached = true
	}
	close(a.f.news)
	a.f.news = make(chan struct{})
}

// patience returns how long to wait for news of the attempt, 0 for not at all. Client.mu is held.
func (a *attempt) patience(now time.Time) time.Duration {
	s := a.server
	if a.phase == over || s.old && s.shun.holds(now) {
		return 0
	}
	left := a.c.share() - s.vain.shows(now)
	if a.phase == connecting && !s.reached {
		return min(left, s.hope.Sub(now))
	}
	return left
}

// run asks the server, repeatedly if that may help. lead is held by the attempt that writes to store.
func (a *attempt) run(ctx context.Context, store *entry, lead chan struct{}) {
	if a.settled {
		return
	}
	defer func() {
		if !a.settled { // otherwise the server was not asked
			a.rate(ctx)
		}
		if a.elf == nil { // otherwise the file is here, and the fetch is about to end
			a.enter(over)
		}
	}()
	if a.recall() {
		return
	}
	a.enter(connecting)
	select {
	case a.server.slots <- struct{}{}:
		defer func() { <-a.server.slots }()
	case <-ctx.Done():
		a.verdict, a.reason, a.again = verdictPaused, context.Cause(ctx).Error(), a.c.now().Add(retryFailed)
		return
	}
	pause := firstBackoff
	for try := 0; ; try++ {
		err := a.try(ctx, store, lead)
		if err == nil {
			a.verdict, a.reason = verdictGood, ""
			a.c.noteHit(a.server, a.f.key)
			return
		}
		a.judge(err)
		if a.verdict != verdictTrouble || err.final || try >= a.c.opt.Retries || ctx.Err() != nil {
			return
		}
		wait := time.NewTimer(max(pause, min(err.after, time.Minute)))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
		pause = min(2*pause, maxBackoff)
	}
}

// recall takes over that the server was found not to have the file, as long as that is remembered.
func (a *attempt) recall() bool {
	if len(a.server.paths(a.f.key)) == 0 {
		a.settled, a.verdict, a.reason = true, verdictMissing, "it has no such files"
		return true
	}
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	m, until, ok := a.c.lacks(a.server, a.f.key)
	if ok {
		a.settled, a.verdict, a.again = true, verdictMissing, until
		a.reason = "it had no such file at " + m.Last.Local().Format(time.DateTime)
	}
	return ok
}

// judge records the result of a failed try.
func (a *attempt) judge(err *failure) {
	a.verdict, a.reason = err.verdict, err.reason
	now := a.c.now()
	switch a.again = now.Add(retryFailed); err.verdict {
	case verdictUseless, verdictTooLarge:
		a.again = time.Time{}
		a.c.warn(a.server.prefix+" useless", a.server.name+a.path()+": "+err.reason)
	case verdictPaused:
		a.c.mu.Lock()
		a.again = a.server.broken
		a.c.mu.Unlock()
	case verdictMissing:
		a.again = a.c.noteMiss(a.server, a.f.key)
	case verdictDown:
		a.c.mu.Lock()
		a.server.reached = false
		a.server.rest(now, err.reason)
		a.again = a.server.broken
		a.c.mu.Unlock()
		a.c.warn(a.server.prefix+" down", a.server.name+": "+err.reason)
	}
	if !a.again.IsZero() && a.again.Before(now.Add(time.Second)) {
		a.again = now.Add(time.Second)
	}
}

// rate records what the end of the attempt says about the server. A server that sends nothing useful is not asked for a while, so
// that it is not asked repeatedly for each of the many modules of a log.
func (a *attempt) rate(ctx context.Context) {
	a.c.mu.Lock()
	if a.server.trial == a {
		a.server.trial = nil
	}
	if cause := context.Cause(ctx); a.elf == nil && (errors.Is(cause, errBeaten) || errors.Is(cause, errClosed)) {
		a.c.mu.Unlock()
		return
	}
	now, s := a.c.now(), a.server
	var changed []*server
	switch {
	case a.verdict == verdictGood, a.verdict == verdictMissing, a.verdict == verdictTooLarge:
		if s.useful(now); s.shun != (shun{}) {
			s.shun, changed = shun{}, append(changed, s)
		}
	case a.verdict == verdictUseless, a.verdict == verdictTrouble && !a.full:
		s.failures++
	}
	tired := s.failures >= maxFailures && !now.Before(s.broken)
	if tired {
		s.rest(now, a.reason)
		changed = s.avoid(now, a.reason)
		if a.verdict == verdictTrouble {
			a.again = s.broken
		}
	}
	pause := s.pause
	a.c.mu.Unlock()
	a.c.remember(changed...)
	if tired {
		a.c.warn(s.prefix+" tired", fmt.Sprintf("%s: %s; not asking it again for %v", s.name, a.reason, pause))
	}
}

// errSlow ends a request that receives too little.
var errSlow = errors.New("too slow")

// try asks for the file, at each path where the server may have it.
func (a *attempt) try(ctx context.Context, store *entry, lead chan struct{}) *failure {
	if err := a.closed(); err != nil {
		return err
	}
	var fail *failure
	for _, path := range a.server.paths(a.f.key) {
		if fail = a.tryAt(ctx, path, store, lead); fail == nil {
			a.server.has(a.f.key, path)
			return nil
		}
		if fail.verdict != verdictMissing && fail.verdict != verdictUseless || ctx.Err() != nil {
			break // otherwise it may be at another path
		}
	}
	return fail
}

// tryAt makes one request.
func (a *attempt) tryAt(ctx context.Context, path string, store *entry, lead chan struct{}) *failure {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.moved.Store(0)
	a.total.Store(0)
	a.stored.Store(false)
	paused := new(atomic.Bool)
	if a.c.opt.Timeout > 0 {
		go a.guard(ctx, cancel, paused)
	}
	connected := new(atomic.Bool)
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		connected.Store(true)
		a.enter(asked)
	}})
	a.enter(connecting)
	resp, err := a.c.request(traced, a.server, path)
	if err != nil {
		return a.noAnswer(ctx, err, connected.Load())
	}
	defer resp.Body.Close()
	a.enter(receiving)
	if err := checkStatus(resp); err != nil {
		if a.server.refused(resp) {
			return refusal(resp)
		}
		return err
	}
	b, fail := a.body(resp)
	if fail == nil {
		paused.Store(true)
		if a.takeLead(ctx, cancel, lead) {
			paused.Store(false)
			if fail = a.receive(b, store); fail != nil {
				a.f.leader.Store(nil)
				<-lead
			}
		}
	}
	if cause := context.Cause(ctx); cause != nil && a.elf == nil {
		return a.ended(cause)
	}
	return fail
}

// If several servers send a file at the same time, one of them is written to the cache. If it sends less than trickle bytes in
// trickleTime, the next one takes over.
const (
	trickleTime = time.Second
	trickle     = 4 << 10
)

// leader is the attempt that writes to the cache, and the function that ends its request.
type leader struct {
	*attempt
	end context.CancelCauseFunc
}

// takeLead waits until the attempt may write. It returns false if ctx ended before.
func (a *attempt) takeLead(ctx context.Context, cancel context.CancelCauseFunc, lead chan struct{}) bool {
	look := time.NewTicker(trickleTime)
	defer look.Stop()
	var before int64
	var of *leader
	for {
		select {
		case lead <- struct{}{}:
			a.f.leader.Store(&leader{a, cancel})
			return true
		case <-ctx.Done():
			return false
		case <-look.C:
		}
		l := a.f.leader.Load()
		if l != nil && l == of && l.moved.Load()-before < trickle && !l.stored.Load() {
			l.end(errSlow)
		}
		if of = l; l != nil {
			before = l.moved.Load()
		}
	}
}

// closed returns why the server must not be asked now, or nil. A server that was useless is asked for one file at a time.
func (a *attempt) closed() *failure {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	s := a.server
	tired := s.failures >= maxFailures
	if a.c.now().Before(s.broken) || tired && s.trial != nil && s.trial != a {
		return &failure{verdict: verdictPaused, reason: s.because}
	}
	if tired {
		s.trial = a
	}
	return nil
}

// noAnswer explains a request without an answer.
func (a *attempt) noAnswer(ctx context.Context, err error, connected bool) *failure {
	switch {
	case context.Cause(ctx) != nil:
		return a.ended(context.Cause(ctx))
	case errors.Is(err, errRedirect):
		return useless("%v", cause(err))
	case !connected:
		return &failure{verdict: verdictDown, reason: cause(err).Error()}
	}
	return trouble("%v", cause(err))
}

// ended explains a request that was canceled here.
func (a *attempt) ended(cause error) *failure {
	if errors.Is(cause, errSlow) {
		return trouble("less than %d KiB within %v", enough>>10, a.c.opt.Timeout)
	}
	return trouble("%v", cause)
}

// enough is how many bytes a server must send within the timeout (debuginfod-client-config(7), DEBUGINFOD_TIMEOUT).
const enough = 100 << 10

// guard cancels a request that receives too little within the timeout.
func (a *attempt) guard(ctx context.Context, cancel context.CancelCauseFunc, paused *atomic.Bool) {
	tick := time.NewTicker(a.c.opt.Timeout)
	defer tick.Stop()
	before := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		moved := a.moved.Load()
		if !paused.Load() && moved-before < enough {
			cancel(errSlow)
			return
		}
		before = moved
	}
}
