package debuginfod

import (
	"net/url"
	"strings"
	"time"
)

// How servers that cannot be reached, or are of no use, are treated.
const (
	// patience is how long a server may hold up a caller in all before it accepts a connection for the first time.
	patience = 700 * time.Millisecond
	// A server that cannot be reached, or of which maxFailures files in a row were of no use, is not asked for firstBreak, then
	// for twice as long as the time before.
	firstBreak, maxBreak = 30 * time.Second, 10 * time.Minute
	maxFailures          = 4
	// perServer bounds the requests to one server at a time.
	perServer = 8
)

// server is one server and what is known of it. What changes does so under Client.mu.
type server struct {
	prefix string // without a slash at its end
	name   string // for a person to read: no password
	slots  chan struct{}

	reached  bool      // the last try to connect to it was successful
	hope     time.Time // where it was not reached yet: until when it is worth to wait for it; zero before the first try
	vain     stopwatch // while callers wait for it, since its last answer of use
	failures int       // files asked for in vain since then
	trial    *attempt  // that asks nevertheless, where these are too many
	broken   time.Time // it is not asked before then
	pause    time.Duration
	because  string // why it is broken
}

func newServer(u *url.URL) *server {
	return &server{
		prefix: strings.TrimRight(u.String(), "/"), name: strings.TrimRight(u.Redacted(), "/"),
		slots: make(chan struct{}, perServer),
	}
}

// urlPath is a file's path below a server's prefix (debuginfod(8), WEBAPI).
func (k key) urlPath() string { return "/buildid/" + k.id.String() + "/" + k.kind.urlPath() }

// dial notes that a connection is going to be made.
func (s *server) dial(now time.Time) {
	if s.hope.IsZero() {
		s.hope = now.Add(patience)
	}
}

// useful notes an answer of use, be it that there is no such file.
func (s *server) useful(now time.Time) {
	s.vain.reset(now)
	s.failures, s.pause, s.broken = 0, 0, time.Time{}
}

// rest leaves the server alone for a while.
func (s *server) rest(now time.Time, because string) {
	s.because = because
	if now.Before(s.broken) {
		return // it has been noted already
	}
	s.pause = min(max(2*s.pause, firstBreak), maxBreak)
	s.broken = now.Add(s.pause)
}
