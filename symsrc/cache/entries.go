//go:build linux || darwin

package cache

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

var (
	errReserve = errors.New("the disk is nearly full")
	errClosed  = errors.New("the cache is closed")
)

// answer appends the value of each key, as blobs.
func (s *store) answer(dst, keys []byte) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return nil, errClosed
	}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	for len(keys) > 0 {
		key, rest, ok := cutBlob(keys)
		if !ok {
			return nil, errProtocol
		}
		keys = rest
		var value []byte
		if len(key) > len(lastKey) { // else it is none of a question
			if item, err := txn.Get(key); err == nil {
				value, _ = item.ValueCopy(nil)
			}
		}
		s.asked.Add(1)
		if len(value) > 0 {
			s.found.Add(1)
		}
		dst = appendBlob(dst, value)
	}
	return dst, nil
}

// near appends keys and values, as blobs in turn, of questions whose keys begin like that. It may lack some: what is damaged, and
// what would be too much.
func (s *store) near(dst, prefix []byte) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return nil, errClosed
	}
	if len(prefix) <= len(lastKey) {
		return nil, errProtocol
	}
	_ = s.db.View(func(txn *badger.Txn) error { // behind damage the questions are asked one by one
		it := txn.NewIterator(badger.IteratorOptions{PrefetchValues: true, PrefetchSize: 256, Prefix: prefix})
		defer it.Close()
		n := 0
		for it.Rewind(); it.Valid() && len(dst) < nearSize && n < nearKeys; it.Next() {
			if err := it.Item().Value(func(value []byte) error {
				dst = appendBlob(appendBlob(dst, it.Item().Key()), value)
				n++
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return dst, nil
}

// put keeps keys and values, blobs in turn, but for those that it has and those that are damaged. It fails with errReserve where the
// disk would become too full.
func (s *store) put(pairs []byte) error {
	if !roomFor(s.dirAbove(), s.reserve, len(pairs)) {
		return errReserve
	}
	if err := s.limit(int64(len(pairs))); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return errClosed
	}
	list, err := s.unknown(pairs)
	if err != nil {
		return err
	}
	return s.write(list...)
}

// unknown returns those of keys and values that are not kept yet.
func (s *store) unknown(pairs []byte) (list [][]byte, err error) {
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	for len(pairs) > 0 {
		key, rest, ok := cutBlob(pairs)
		value, rest, ok2 := cutBlob(rest)
		if !ok || !ok2 || len(value) > maxValue {
			return list, errProtocol
		}
		pairs = rest
		if _, err := open(key, value); err != nil || len(key) <= len(lastKey) || len(key) > keySize {
			continue
		}
		same := false
		if item, err := txn.Get(key); err == nil {
			_ = item.Value(func(b []byte) error { same = bytes.Equal(b, value); return nil })
		}
		if !same {
			list = append(list, key, value)
		}
	}
	return list, nil
}

func (s *store) write(list ...[]byte) error {
	batch := s.db.NewWriteBatch()
	defer batch.Cancel()
	for i := 0; i+1 < len(list); i += 2 {
		key, value := list[i], list[i+1]
		if err := batch.Set(append([]byte(nil), key...), append([]byte(nil), value...)); err != nil {
			return fmt.Errorf("write to the cache: %w", err)
		}
	}
	if err := batch.Flush(); err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	return nil
}

// entries counts the answers.
func (s *store) entries() (n int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return 0
	}
	_ = s.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if len(it.Item().Key()) > len(lastKey) {
				n++
			}
		}
		return nil
	})
	return n
}
