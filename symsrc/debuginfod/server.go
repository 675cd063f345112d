package debuginfod

import (
	"net/url"
	"strings"
	"time"
)

// How servers that cannot be reached are treated.
const (
	// patience is how long a server may hold up a caller in all before it accepts a connection for the first time.
	patience = 700 * time.Millisecond
	// A server that cannot be reached is not asked for firstBreak, then for twice as long as the time before.
	firstBreak, maxBreak = 30 * time.Second, 10 * time.Minute
	// perServer bounds the requests to one server at a time.
	perServer = 8
)

// server is one server and what is known of it. What changes does so under Client.mu.
type server struct {
	prefix string // without a slash at its end
	name   string // for a person to read: no password
	slots  chan struct{}

	reached bool      // the last try to connect to it was successful
	hope    time.Time // where it was not reached yet: until when it is worth to wait for it; zero before the first try
	stalled bool      // a caller has waited for an answer in vain, and none has come since
	broken  time.Time // it is not asked before then
	pause   time.Duration
	because string // why it is broken
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

// up notes that the server has accepted a connection.
func (s *server) up() { s.reached, s.pause, s.broken = true, 0, time.Time{} }

// down notes that it has not.
func (s *server) down(now time.Time, because string) {
	s.reached, s.because = false, because
	if now.Before(s.broken) {
		return // somebody else has noted it
	}
	s.pause = min(max(2*s.pause, firstBreak), maxBreak)
	s.broken = now.Add(s.pause)
}
