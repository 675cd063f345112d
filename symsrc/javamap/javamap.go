// Package javamap finds the maps with which R8 and ProGuard give names of Java and Kotlin back: files that a user names, and those below
// directories, also in archives, known by their content and by the ID that R8 writes into both a map and the frames of its build.
//
//	javamap.go  Maps, and which of them a frame means
//	find.go     maps below directories, and in archives
package javamap

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/retrace"
)

// Options say where maps are.
type Options struct {
	// Files are maps that the user names, or archives with one, in the order in which they apply: the one of the build that ran first.
	Files []string
	// Places are files and directories that may hold maps.
	Places []string
	// Wait bounds how long all calls together wait for the search of the places, which then goes on; 0 is no bound.
	Wait time.Duration
	// Cache keeps the indexes of maps; nil keeps none.
	Cache retrace.Cache
	// Problem, if not nil, is called with what is wrong with a file.
	Problem func(message string)
}

// Map is a map of names.
type Map struct {
	*retrace.Map
	// Path is that of its file, with the member of an archive after an exclamation mark.
	Path string
	// Files is how the search for it ended, for frames that name no map, and verified is the same for those that name this one.
	Files, verified *symsrc.Files
}

// Name returns the name of the file.
func (m *Map) Name() string { return filepath.Base(m.Path) }

// Maps are the maps of a run. Several goroutines may use them.
type Maps struct {
	opt   Options
	named []*Map
	once  sync.Once
	// begun is set once LookAhead searches the places, and ended once they are searched.
	begun, ended atomic.Bool
	found        []*candidate
	// over is closed with ended. enough is the end of Options.Wait, from the first call that waits.
	over    chan struct{}
	waiting sync.Once
	enough  time.Time

	mu     sync.Mutex // of what follows, and of found
	byID   map[string]search
	opened []*Map // of those found
	all    bool   // which are all
}

// search is how one for an ID ended.
type search struct {
	m     *Map
	files *symsrc.Files
}

// maxIDs is how many IDs are remembered.
const maxIDs = 1 << 10

// New opens the maps that are named. Its error is a *symsrc.OptionError.
func New(ctx context.Context, o Options) (*Maps, error) {
	m := &Maps{opt: o, byID: map[string]search{}, over: make(chan struct{})}
	for _, path := range o.Files {
		c := &candidate{path: path}
		if isArchive(path) {
			if in := members(path); len(in) > 0 {
				c = in[0]
			}
		}
		one, err := m.read(ctx, c)
		if err != nil {
			return nil, &symsrc.OptionError{Option: "javamap.Files", Value: path, Err: err}
		}
		m.named = append(m.named, m.of(c.name(), one))
	}
	return m, nil
}

// of returns a map with what is said of its file.
func (m *Maps) of(path string, of *retrace.Map) *Map {
	for _, version := range of.Newer() {
		m.problem(fmt.Sprintf("%s: version %s of the format is newer than 2.2: what is new in it is not understood", path, version))
	}
	if err := of.Damage(); err != nil {
		m.problem(fmt.Sprintf("%s: %v", path, err))
	}
	return &Map{Map: of, Path: path, verified: &symsrc.Files{Elf: path, Debug: path},
		Files: &symsrc.Files{Elf: path, Debug: path, Unverified: true}}
}

// problem tells what is wrong with a file.
func (m *Maps) problem(message string) {
	if m.opt.Problem != nil {
		m.opt.Problem(message)
	}
}

// Named returns the maps that the user has named.
func (m *Maps) Named() []*Map { return m.named }

// MayFind reports whether there are places that may hold maps.
func (m *Maps) MayFind() bool { return len(m.opt.Places) > 0 }

// look has the places searched once, and returns the maps there. all is false, and there are none, if that takes longer than it may.
func (m *Maps) look(ctx context.Context) (found []*candidate, all bool) {
	if m.opt.Wait == 0 {
		m.lookNow(ctx)
		return m.found, true
	}
	m.waiting.Do(func() { m.enough = time.Now().Add(m.opt.Wait) })
	if !m.LookAhead(context.WithoutCancel(ctx)) {
		select {
		case <-m.over:
		case <-ctx.Done():
			return nil, false
		case <-time.After(time.Until(m.enough)):
			return nil, false
		}
	}
	return m.found, true
}

// lookNow has the places searched once.
func (m *Maps) lookNow(ctx context.Context) {
	m.once.Do(func() {
		m.found = m.find(ctx)
		m.ended.Store(true)
		close(m.over)
	})
}

// Looked has the places searched, and reports whether they have been. It returns false if that takes longer than Options.Wait.
func (m *Maps) Looked(ctx context.Context) bool {
	_, all := m.look(ctx)
	return all
}

// LookAhead has the places searched in the background, if they were not yet, and reports whether that is done.
func (m *Maps) LookAhead(ctx context.Context) (done bool) {
	if m.ended.Load() {
		return true
	}
	if !m.begun.Swap(true) {
		go m.lookNow(ctx)
	}
	return false
}

// Any reports whether there are maps in the places, which are searched by the first call.
func (m *Maps) Any(ctx context.Context) bool {
	found, _ := m.look(ctx)
	return len(found) > 0
}

// maxOpen bounds the maps that are compared with a trace that names none.
const maxOpen = 32

// TooMany reports whether there are maps in the places that Found does not return, since so many are not compared with a trace.
func (m *Maps) TooMany() bool { return m.ended.Load() && len(m.found) > maxOpen }

// Found returns the maps in the places.
func (m *Maps) Found(ctx context.Context) []*Map {
	found, all := m.look(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all || !all {
		return m.opened
	}
	m.all = true
	if len(found) > maxOpen {
		m.problem(fmt.Sprintf("%d maps of Java were found: traces that name none are not compared with so many", len(found)))
		return nil
	}
	for _, c := range found {
		if one := m.open(ctx, c); one != nil {
			m.opened = append(m.opened, one)
		}
	}
	return m.opened
}

// ByID returns the map of an ID, nil if there is none, and how the search for it ended.
func (m *Maps) ByID(ctx context.Context, id string) (found *Map, files *symsrc.Files) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, known := m.byID[id]; known {
		return s.m, s.files
	}
	if len(m.byID) >= maxIDs {
		clear(m.byID)
	}
	s, all := m.search(ctx, id)
	if all {
		m.byID[id] = s
	}
	return s.m, s.files
}

// search looks for the map of an ID. all is false if the places were not searched yet.
func (m *Maps) search(ctx context.Context, id string) (s search, all bool) {
	files := &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "no map of this ID was found"}
	lacks := func(path, own string) {
		if own == "" {
			own = "it has no ID"
		} else {
			own = "its ID is " + own
		}
		files.Tried, files.Lacked = append(files.Tried, path), append(files.Lacked, own)
	}
	for _, one := range m.named {
		if one.Header().ID == id {
			return search{one, one.verified}, true
		}
		lacks(one.Path, one.Header().ID)
	}
	found, all := m.look(ctx)
	for _, c := range found {
		if c.id == id {
			if one := m.open(ctx, c); one != nil {
				return search{one, one.verified}, true
			}
		}
		lacks(c.name(), c.id)
	}
	switch {
	case !all:
		files.Note = "maps are still being searched for"
	case len(m.named) > 0 && m.named[0].Header().ID == "":
		return search{m.named[0], m.named[0].Files}, all
	case len(m.named) > 0:
		files.ElfStatus, files.DebugStatus = symsrc.MismatchBuildID, symsrc.MismatchBuildID
		files.Elf, files.Note = m.named[0].Path, fmt.Sprintf("%s is of another build: %s", m.named[0].Name(), files.Lacked[0])
	case !m.MayFind():
		files.Note = "no map was named, and there is no place to look for one"
	}
	return search{nil, files}, all
}
