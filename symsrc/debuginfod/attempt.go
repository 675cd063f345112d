package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// phase is how far a request has got.
type phase uint8

const (
	idle       phase = iota // not begun
	connecting              // to be sent as soon as there is a connection
	asked                   // no answer yet
	receiving
	over
)

// verdict is what one server's part in a fetch comes to.
type verdict uint8

const (
	verdictTrouble  verdict = iota // something went wrong that may not do so again
	verdictDown                    // the server cannot be reached
	verdictPaused                  // the server is not asked for a while
	verdictUseless                 // the answer is of no use, and will not be
	verdictTooLarge                // the file is larger than is allowed
	verdictMissing                 // the server does not have the file
	verdictGood
)

const (
	retryFailed  = time.Minute            // a server is asked again for a file after trouble
	firstBackoff = 200 * time.Millisecond // between two tries, then twice as long each time
	maxBackoff   = 5 * time.Second
)

// failure is why a request brought nothing.
type failure struct {
	verdict verdict
	reason  string
	after   time.Duration // what the server asks to wait for before the next try
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

	// moved counts the bytes of the current try as they came, total is what is to come, 0 unknown.
	moved, total atomic.Int64
	// stored is set once all has come, and is being verified.
	stored atomic.Bool

	settled bool // before it began: by the fetch before
	full    bool // the cache took nothing, which is no fault of the server
	verdict verdict
	reason  string
	again   time.Time // when to ask this server again; zero for never
	elf     *elfInfo
}

// String says which server was asked and what came of it.
func (a *attempt) String() string {
	text := a.server.name + a.f.urlPath()
	if a.reason != "" {
		text += " (" + a.reason + ")"
	}
	return text
}

// inherit takes over what an earlier fetch learned from the server, while that holds.
func (a *attempt) inherit(old *fetch, now time.Time) {
	for _, o := range old.attempts {
		if o.server == a.server && o.phase == over && (o.again.IsZero() || now.Before(o.again)) {
			a.settled, a.phase, a.verdict, a.reason, a.again = true, over, o.verdict, o.reason, o.again
		}
	}
}

// enter notes how far the request has got. Callers that wait for the fetch look again whether that is worth it.
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

// patience is how long to wait for news of the attempt; 0 where it is not worth it. Client.mu is held.
func (a *attempt) patience(now time.Time) time.Duration {
	s := a.server
	if a.phase == over {
		return 0
	}
	left := a.c.share() - s.vain.shows(now)
	if a.phase == connecting && !s.reached {
		return min(left, s.hope.Sub(now))
	}
	return left
}

// run asks the server, several times if that may help. lead is held by the attempt that writes to store.
func (a *attempt) run(ctx context.Context, store *entry, lead chan struct{}) {
	if a.settled {
		return
	}
	defer func() {
		a.rate(ctx)
		if a.elf == nil { // otherwise the file is here, and the fetch is about to end
			a.enter(over)
		}
	}()
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

// judge keeps what a failed try says.
func (a *attempt) judge(err *failure) {
	a.verdict, a.reason = err.verdict, err.reason
	now := a.c.now()
	switch a.again = now.Add(retryFailed); err.verdict {
	case verdictUseless, verdictTooLarge:
		a.again = time.Time{}
		a.c.warn(a.server.prefix+" useless", a.server.name+a.f.urlPath()+": "+err.reason)
	case verdictPaused:
		a.c.mu.Lock()
		a.again = a.server.broken
		a.c.mu.Unlock()
	case verdictMissing:
		a.again = now.Add(a.c.cache.missAge())
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

// rate keeps what the attempt's end says of the server. One of which nothing of use comes is left alone for a while, so that
// the many modules of a log do not each ask it several times.
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
	switch {
	case a.verdict == verdictGood, a.verdict == verdictMissing, a.verdict == verdictTooLarge:
		s.useful(now)
	case a.verdict == verdictUseless, a.verdict == verdictTrouble && !a.full:
		s.failures++
	}
	tired := s.failures >= maxFailures && !now.Before(s.broken)
	if tired {
		s.rest(now, a.reason)
		if a.verdict == verdictTrouble {
			a.again = s.broken
		}
	}
	pause := s.pause
	a.c.mu.Unlock()
	if tired {
		a.c.warn(s.prefix+" tired", fmt.Sprintf("%s: %s; it is not asked for %v", s.name, a.reason, pause))
	}
}

// errSlow ends a request whose answer does not come on.
var errSlow = errors.New("too slow")

// try makes one request.
func (a *attempt) try(ctx context.Context, store *entry, lead chan struct{}) *failure {
	if err := a.closed(); err != nil {
		return err
	}
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
	resp, err := a.c.request(traced, a.server.prefix+a.f.urlPath())
	if err != nil {
		return a.noAnswer(ctx, err, connected.Load())
	}
	defer resp.Body.Close()
	a.enter(receiving)
	if err := checkStatus(resp); err != nil {
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

// Of several servers that send a file at once, one is written to the cache. It gives way to the next one where it brings less than
// trickle bytes in trickleTime.
const (
	trickleTime = time.Second
	trickle     = 4 << 10
)

// leader is the attempt that writes to the cache, and how to end its request.
type leader struct {
	*attempt
	end context.CancelCauseFunc
}

// takeLead waits until the attempt may write. It is false where ctx ended before.
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

// closed returns why the server is not to be asked now, nil where it is. One that was of no use is asked for one file at a time.
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

// noAnswer explains a request that got none.
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

// ended explains a request that we have ended.
func (a *attempt) ended(cause error) *failure {
	if errors.Is(cause, errSlow) {
		return trouble("less than %d KiB within %v", enough>>10, a.c.opt.Timeout)
	}
	return trouble("%v", cause)
}

// enough is what a server has to give within the timeout, in bytes (debuginfod-client-config(7), DEBUGINFOD_TIMEOUT).
const enough = 100 << 10

// guard ends a request that brings too little in a time.
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
