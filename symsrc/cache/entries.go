//go:build linux || darwin

package cache

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"qss-filter/symsrc"
)

var (
	errReserve = errors.New("the disk is nearly full")
	errClosed  = errors.New("the cache is closed")
)

// answer appends the page of each key, as blobs.
func (s *store) answer(dst, keys []byte) ([]byte, error) {
	err := s.view(func(txn *badger.Txn) error {
		for n := 0; len(keys) > 0; n++ {
			key, rest, ok := cutBlob(keys)
			if !ok || n >= askKeys {
				return errProtocol
			}
			keys = rest
			dst = appendBlob(dst, kept(txn, key))
		}
		return nil
	})
	return dst, err
}

// kept returns the value of a key, or nil if there is none.
func kept(txn *badger.Txn, key []byte) (value []byte) {
	if txn == nil || len(key) <= len(lastKey) { // not the key of a page
		return nil
	}
	if item, err := txn.Get(key); err == nil {
		value, _ = item.ValueCopy(nil)
	}
	return value
}

// arrival is an entry of a page in a spool file, and its position in the order of arrival.
type arrival struct {
	place string
	spot
	page  *page
	order int
}

// samePage reports whether two arrivals belong to the same page.
func (a *arrival) samePage(b *arrival) bool {
	return a.place == b.place && a.at>>pageBits == b.at>>pageBits
}

// read returns the entries of a spool file, in the order of the database. If a query has several, only the last one counts. Damaged
// entries are dropped.
func read(left []byte) (all []arrival, err error) {
	for len(left) > 0 {
		place, rest, ok := cutBlob(left)
		value, rest, ok2 := cutBlob(rest)
		if !ok || !ok2 {
			err = errProtocol
			break
		}
		left = rest
		p, err := openPage(place, value)
		if err != nil || len(place) <= len(lastKey) || len(place)+8 > keySize {
			continue
		}
		for _, at := range p.spots {
			all = append(all, arrival{string(place), at, p, len(all)})
		}
	}
	slices.SortFunc(all, func(a, b arrival) int {
		return cmp.Or(strings.Compare(a.place, b.place), compareSpots(a.spot, b.spot), cmp.Compare(b.order, a.order))
	})
	all = slices.CompactFunc(all, func(a, b arrival) bool { return a.place == b.place && compareSpots(a.spot, b.spot) == 0 })
	return all, err
}

// putPages is the number of pages that are written between two checks of the free space.
const putPages = 256

// put stores the content of a spool file: places and pages, as alternating blobs. It fails with errReserve if the disk would become too
// full, and with errProtocol at the first invalid byte; what follows that is not stored.
func (s *store) put(left []byte) error {
	all, damaged := read(left)
	written := len(left)
	for len(all) > 0 {
		if !roomFor(s.dirAbove(), s.reserve, written) {
			return errReserve
		}
		if err := s.limit(int64(written)); err != nil {
			return err
		}
		var err error
		if all, written, err = s.putSome(all); err != nil {
			return err
		}
	}
	return damaged
}

// putSome stores the first pages of the entries. It returns the rest, and how many bytes were written.
func (s *store) putSome(all []arrival) (rest []arrival, written int, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	var changes []change
	err = s.view(func(txn *badger.Txn) error {
		if txn == nil {
			return errClosed
		}
		for n := 0; len(all) > 0 && n < putPages; n++ {
			size := 1
			for size < len(all) && all[size].samePage(&all[0]) {
				size++
			}
			key := appendKey(nil, all[0].place, all[0].at)
			old := kept(txn, key)
			changes = append(changes, change{key, old, merge(key, old, all[:size])})
			all = all[size:]
		}
		return nil
	})
	if err == nil {
		written, err = s.keep(changes)
	}
	return all, written, err
}

// change is a key, and what its value was and will be.
type change struct{ key, old, value []byte }

// keep writes what changes, and marks all as stored. It returns how many bytes it wrote. The caller holds s.writing.
func (s *store) keep(all []change) (written int, err error) {
	var keys, values [][]byte
	for i := range all {
		if c := &all[i]; !bytes.Equal(c.old, c.value) {
			keys, values, written = append(keys, c.key), append(values, c.value), written+len(c.value)
		}
	}
	if err := write(s.db, keys, values); err != nil {
		return 0, err
	}
	for i := range all {
		s.marks.replace(all[i].key, all[i].old, all[i].value)
	}
	s.fresh = true
	return written, nil
}

// merge returns a page with the old entries and the new ones, which replace those of the same queries. If a page cannot hold them, the
// old entries are dropped.
func merge(key, old []byte, fresh []arrival) []byte {
	var w pageWriter
	w.reset()
	var frames []symsrc.Frame
	add := func(p *page, at spot) {
		if e, err := p.read(at, frames[:0]); err == nil {
			w.add(&e)
			frames = e.frames
		}
	}
	page, err := openPage(key, old)
	if err == nil {
		rest := page.spots
		for i := range fresh {
			for len(rest) > 0 && compareSpots(rest[0], fresh[i].spot) < 0 {
				add(page, rest[0])
				rest = rest[1:]
			}
			if len(rest) > 0 && compareSpots(rest[0], fresh[i].spot) == 0 {
				rest = rest[1:]
			}
			add(fresh[i].page, fresh[i].spot)
		}
		for _, at := range rest {
			add(page, at)
		}
		if w.size() <= maxPage {
			return w.appendTo(nil, key)
		}
		w.reset()
	}
	for i := range fresh {
		if add(fresh[i].page, fresh[i].spot); w.size() > maxPage-2*maxAnswer {
			break
		}
	}
	return w.appendTo(nil, key)
}

// view calls do with a transaction that reads from the database, nil while the database is replaced: it has no page then. It returns errClosed
// once the database is closed.
func (s *store) view(do func(txn *badger.Txn) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.db != nil:
	case s.closed:
		return errClosed
	default:
		return do(nil)
	}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	return do(txn)
}

// write writes keys with their values.
func write(db *badger.DB, keys, values [][]byte) error {
	batch := db.NewWriteBatch()
	defer batch.Cancel()
	for i, key := range keys {
		if err := batch.Set(key, values[i]); err != nil {
			return fmt.Errorf("write to the cache: %w", err)
		}
	}
	if err := batch.Flush(); err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	return nil
}

// entries counts the answers and the results of probes.
func (s *store) entries() (n int64) {
	_ = s.view(func(txn *badger.Txn) error {
		if txn == nil {
			return nil
		}
		it := txn.NewIterator(badger.IteratorOptions{PrefetchValues: true, PrefetchSize: 64})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if item := it.Item(); len(item.Key()) > len(lastKey) {
				_ = item.Value(func(value []byte) error { n += pageEntries(value); return nil })
			}
		}
		return nil
	})
	return n
}
