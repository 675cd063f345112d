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
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return nil, errClosed
	}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	for n := 0; len(keys) > 0; n++ {
		key, rest, ok := cutBlob(keys)
		if !ok || n >= askKeys {
			return nil, errProtocol
		}
		keys = rest
		dst = appendBlob(dst, kept(txn, key))
	}
	return dst, nil
}

// kept returns the value of a key, or nil if there is none.
func kept(txn *badger.Txn, key []byte) (value []byte) {
	if len(key) <= len(lastKey) { // not the key of a page
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
	var changes []change
	written := len(left)
	for len(all) > 0 {
		if !roomFor(s.dirAbove(), s.reserve, written) {
			return errReserve
		}
		if err := s.limit(int64(written)); err != nil {
			return err
		}
		err := s.view(func(txn *badger.Txn) {
			changes = changes[:0]
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
		})
		if err != nil {
			return err
		}
		written = 0
		for i := range changes {
			if changes[i].changes() {
				written += len(changes[i].value)
			}
		}
		if err := s.keep(changes); err != nil {
			return err
		}
	}
	return damaged
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

// view reads from the database.
func (s *store) view(do func(*badger.Txn)) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return errClosed
	}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	do(txn)
	return nil
}

// change is a key, and what its value was and will be.
type change struct{ key, old, value []byte }

func (c *change) changes() bool { return !bytes.Equal(c.old, c.value) }

// keep writes what changes, and marks all as stored.
func (s *store) keep(all []change) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return errClosed
	}
	var keys, values [][]byte
	for i := range all {
		if all[i].changes() {
			keys, values = append(keys, all[i].key), append(values, all[i].value)
		}
	}
	if err := s.write(keys, values); err != nil {
		return err
	}
	for i := range all {
		s.marks.replace(all[i].key, all[i].old, all[i].value)
	}
	s.fresh = true
	return nil
}

// write writes keys with their values. s is locked.
func (s *store) write(keys, values [][]byte) error {
	batch := s.db.NewWriteBatch()
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
	_ = s.view(func(txn *badger.Txn) {
		it := txn.NewIterator(badger.IteratorOptions{PrefetchValues: true, PrefetchSize: 64})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if item := it.Item(); len(item.Key()) > len(lastKey) {
				_ = item.Value(func(value []byte) error { n += pageEntries(value); return nil })
			}
		}
	})
	return n
}
