package cache

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"sync"
	"time"

	"qss-filter/symsrc/diskcache"
)

// listingName is the name of a file that lists the modules with stored answers, as hashes of the prefixes of their keys. From it a
// filter learns that there are none, without starting the process. Filters append to it before they write answers. A superfluous hash
// does no harm, and hashes stay when the database loses answers. If there are too many, the listing and the database are emptied
// (start.go).
const (
	listingName = "modules"
	maxListing  = 1 << 20 // bytes
)

// ServersName is the name of a file in the cache's directory that another package writes: the debuginfod servers that do not answer.
const ServersName = "servers"

// MissedName is that of another such file: what the servers do not have.
const MissedName = "missed"

// listed is a hash in the listing.
type listed [8]byte

func listedAs(prefix string) listed {
	sum := sha256.Sum256([]byte(prefix))
	return listed(sum[:8])
}

// listing is the content of the file. It may be used by several goroutines at once.
type listing struct {
	path string

	mu      sync.Mutex
	looked  time.Time
	stamp   diskcache.Stamp
	size    int // bytes
	known   map[listed]bool
	last    string // the prefix that was asked for last
	hasLast bool
}

func newListing(dir string) *listing { return &listing{path: filepath.Join(dir, listingName)} }

// has reports whether there may be answers whose keys begin with that prefix.
func (l *listing) has(prefix string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.looked) >= aheadTime {
		l.refresh()
	}
	if l.last != prefix {
		l.last, l.hasLast = prefix, l.known[listedAs(prefix)]
	}
	return l.hasLast
}

// refresh reads the file again if it has changed. l is locked.
func (l *listing) refresh() {
	l.looked = time.Now()
	stamp, err := diskcache.StampAt(l.path, true)
	if stamp == l.stamp {
		return
	}
	l.stamp, l.last, l.known, l.size = stamp, "", make(map[listed]bool), 0
	if err != nil {
		return
	}
	b, err := readAtMost(l.path, maxListing)
	if err != nil {
		return
	}
	for l.size = len(b); len(b) >= len(listed{}); b = b[len(listed{}):] {
		l.known[listed(b)] = true
	}
}

// add lists modules, unless they are listed already in the current file.
func (l *listing) add(prefixes map[string]bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	var more []byte
	for prefix := range prefixes {
		if hash := listedAs(prefix); !l.known[hash] {
			more = append(more, hash[:]...)
		}
	}
	if len(more) == 0 || l.size >= maxListing {
		return nil
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(more)
	if err := f.Close(); err != nil {
		return err
	}
	l.refresh()
	return err
}
