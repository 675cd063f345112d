//go:build linux || darwin

package cache

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// Filters write answers to spool files in the directory new, from which the process moves them into the database. So a filter does not
// wait for the process, and none need run. A file has places and their pages, as alternating blobs. A goroutine encodes them from the
// entries that a filter records while it answers.
const (
	spoolDir    = "new"
	spoolSuffix = ".answers" // of a complete file; others are being written
)

// Limits of the spool: entries of a piece, and pieces that may wait for the goroutine that encodes them; bytes of a file, and of one that
// the process reads; files in the directory; files and bytes that justify starting a process; and how long an answer may wait in
// memory.
const (
	pieceSize   = 256
	maxPieces   = 8
	spoolSize   = 1 << 20
	maxLeft     = 4 << 20
	maxSpool    = 64
	manySpooled = 16
	muchSpooled = 2 << 20
	soonTime    = 100 * time.Millisecond
	laterTime   = 3 * time.Second
)

// spool writes answers to files for the cache. It may be used by several goroutines at once.
type spool struct {
	dir    string
	kept   *listing
	client *client
	warn   func(error)
	count  atomic.Int64 // of the files that were begun

	mu      sync.Mutex
	piece   []pending   // that is being filled
	full    [][]pending // that wait
	spare   [][]pending
	flush   bool // the batch must be written
	urgent  bool // something must be written soon
	running bool // the goroutine is running
	closed  bool
	timer   *time.Timer
	writing sync.WaitGroup

	batch batch  // of the goroutine
	text  []byte // of the last file, if that was full: its memory is used again
	bytes int64  // that were written
}

// batch is the content of a file to be written: pages by their places, the prefixes of their modules, and what is needed to check that
// the files that answered have not changed.
type batch struct {
	pages   map[string]*batchPage
	size    int // bytes of them, about
	modules map[string]bool
	of      map[origin]answerSource
	// These are of the previous entry.
	recent origin
	source answerSource
	place  string
	page   *batchPage
	// spare is the largest page of the batch before, if that was full: its memory is used again.
	spare *batchPage
}

// batchPage is a page of a batch. Results of probes are useful only together with answers.
type batchPage struct {
	pageWriter
	prefix  string
	answers bool // there are some
}

// pending is an entry that waits to be written.
type pending struct {
	origin
	place string
	entry
}

// origin is the module, and files, that an answer is from.
type origin struct {
	m     *module
	files *symsrc.Files
}

// sound reports whether the files have not changed, so that they were unchanged when they were read, too.
func (b *batch) sound() bool {
	for from := range b.of {
		if from.files.Watch.Look() || from.m.byFiles() && filesIdentity(from.files) != from.m.text {
			return false
		}
	}
	return true
}

func newSpool(dir string, kept *listing, c *client, warn func(error)) *spool {
	return &spool{dir: dir, kept: kept, client: c, warn: warn}
}

// frames adds an answer. It drops answers that are too large, and others if the disk is too slow: they will be found again.
func (s *spool) frames(m *module, q *symsrc.Addr, a *symsrc.Answer, u urgency) {
	size := 0
	for i := range a.Frames {
		f := &a.Frames[i]
		size += len(f.Func) + len(f.Linkage) + len(f.File) + len(f.MD5) + maxFrame
	}
	if size > maxAnswer {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.add(m, q, a.Files, u); e != nil {
		e.tag, e.frames = tagOf(uint8(q.Kind), q), a.Frames
	}
}

// probe adds what the machine code shows.
func (s *spool) probe(m *module, q *symsrc.Addr, p symsrc.Probe, files *symsrc.Files, u urgency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.add(m, q, files, u); e != nil {
		e.tag, e.shows = tagOf(probeKind, q), p
	}
}

// add returns a new entry to be filled in, or nil if there is no room. s is locked.
func (s *spool) add(m *module, q *symsrc.Addr, files *symsrc.Files, u urgency) *entry {
	if s.closed {
		return nil
	}
	if len(s.piece) == cap(s.piece) && s.piece != nil {
		if len(s.full) >= maxPieces {
			return nil
		}
		s.turn()
		s.wake()
	}
	if s.piece == nil {
		s.piece = make([]pending, 0, pieceSize)
	}
	if u == soon && !s.urgent || s.timer == nil {
		s.wait(u)
	}
	n := len(s.piece)
	s.piece = s.piece[:n+1]
	one := &s.piece[n]
	one.m, one.files, one.place, one.at = m, files, placeOf(m.prefix, q), q.Offset
	return &one.entry
}

// turn moves the current piece to the full ones. s is locked.
func (s *spool) turn() {
	s.full, s.piece = append(s.full, s.piece), nil
	if n := len(s.spare); n > 0 {
		s.piece, s.spare = s.spare[n-1], s.spare[:n-1]
	}
}

// wait schedules the writing of the batch. s is locked.
func (s *spool) wait(u urgency) {
	after := laterTime
	if u == soon {
		s.urgent, after = true, soonTime
	}
	if s.timer != nil {
		s.timer.Reset(after)
		return
	}
	s.timer = time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.timer = nil; !s.closed {
			s.flush = true
			s.wake()
		}
	})
}

// wake starts the goroutine that encodes the full pieces. s is locked.
func (s *spool) wake() {
	if !s.running {
		s.running = true
		s.writing.Go(s.run)
	}
}

// run encodes the full pieces as pages, and writes these when there are enough, or when it is time.
func (s *spool) run() {
	for {
		s.mu.Lock()
		if s.flush && len(s.piece) > 0 {
			s.turn()
		}
		full, flush, urgent, closed := s.full, s.flush, s.urgent, s.closed
		s.full, s.flush, s.urgent = nil, false, s.urgent && !flush
		s.running = len(full) > 0 || flush
		running := s.running
		s.mu.Unlock()
		if !running {
			return
		}
		for _, piece := range full {
			for i := range piece {
				s.batch.add(&piece[i])
			}
			clear(piece) // otherwise it would keep answers alive
			if s.batch.size >= spoolSize && s.leave() && !closed {
				s.client.news(false)
			}
		}
		if flush && s.leave() && !closed { // otherwise close reports it
			s.client.news(urgent)
		}
		s.mu.Lock()
		for _, piece := range full {
			if len(s.spare) < maxPieces {
				s.spare = append(s.spare, piece[:0])
			}
		}
		s.mu.Unlock()
	}
}

// close writes the remaining entries, and tells the process that there are new files.
func (s *spool) close() {
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.closed, s.flush = true, true
	urgent := s.urgent
	s.wake()
	s.mu.Unlock()
	s.writing.Wait()
	if s.bytes > 0 {
		s.client.finish(urgent || s.bytes >= muchSpooled)
	}
}

// add adds an entry.
func (b *batch) add(one *pending) {
	if b.pages == nil {
		b.pages, b.modules, b.of = make(map[string]*batchPage), make(map[string]bool), make(map[origin]answerSource)
	}
	if one.origin != b.recent {
		from, known := b.of[one.origin]
		if !known {
			from = answerSource{one.m.madeBy(one.files), one.files}
			b.of[one.origin] = from
		}
		b.recent, b.source = one.origin, from
	}
	if b.page == nil || one.place != b.place {
		w := b.pages[one.place]
		if w == nil {
			if w = b.spare; w == nil {
				w = new(batchPage)
			}
			b.spare, w.prefix, w.answers = nil, one.m.prefix, false
			w.reset()
			b.pages[one.place] = w
			b.size += w.size() + len(one.place)
		}
		b.page, b.place = w, one.place
	}
	if !isProbe(one.tag) {
		one.source = b.source
		if !b.page.answers {
			b.page.answers, b.modules[one.m.prefix] = true, true
		}
	}
	before := b.page.size()
	b.page.add(&one.entry)
	b.size += b.page.size() - before
}

var errManySpooled = errors.New("the cache process does not take them")

// leave writes the batch to a spool file and empties it. It reports whether a file was written.
func (s *spool) leave() bool {
	b := s.batch
	s.batch = batch{}
	text := slices.Grow(s.text[:0], b.size+b.size/16)
	if s.text = nil; b.size >= spoolSize { // more is likely to follow
		defer func() { s.text, s.batch.spare = text, b.largest() }()
	}
	maps.DeleteFunc(b.pages, func(_ string, p *batchPage) bool { return !b.modules[p.prefix] && !s.kept.has(p.prefix) })
	if len(b.pages) == 0 || !b.sound() {
		return false
	}
	for place, w := range b.pages {
		text = w.appendBlobTo(appendBlob(text, []byte(place)), []byte(place))
	}
	err := s.write(&b, text)
	if err != nil && !errors.Is(err, errManySpooled) {
		s.client.fail(err)
	}
	if err != nil {
		return false
	}
	s.bytes += int64(len(text))
	return true
}

// largest returns the largest page, nil if there is none.
func (b *batch) largest() (w *batchPage) {
	for _, one := range b.pages {
		if w == nil || one.size() > w.size() {
			w = one
		}
	}
	return w
}

func (s *spool) write(b *batch, text []byte) error {
	if err := diskcache.MakeRoot(s.dir); err != nil {
		return err
	}
	dir := filepath.Join(s.dir, spoolDir)
	if !roomFor(s.dir, diskReserve, len(text)) {
		return errReserve
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("leave answers: %w", err)
	}
	if names := spooled(s.dir); len(names) >= maxSpool {
		return errManySpooled
	}
	if err := s.kept.add(b.modules); err != nil {
		return fmt.Errorf("leave answers: %w", err)
	}
	// Files are read in the order of their names.
	name := fmt.Sprintf("%016x-%d-%d%s", time.Now().UnixNano(), os.Getpid(), s.count.Add(1), spoolSuffix)
	if err := diskcache.WriteFile(filepath.Join(dir, name), text); err != nil {
		return fmt.Errorf("leave answers: %w", err)
	}
	return nil
}

// spooled returns the names of the spool files in a cache's directory, the oldest first.
func spooled(dir string) (names []string) {
	f, err := os.Open(filepath.Join(dir, spoolDir))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ = f.Readdirnames(-1)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, spoolSuffix) })
	slices.Sort(names)
	return names
}
