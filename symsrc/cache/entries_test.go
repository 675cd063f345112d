//go:build linux || darwin

package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// leftBy returns the content of a spool file with answers about one place, whose names are a word and their address.
func leftBy(place, word string, ats ...uint64) []byte {
	var w pageWriter
	w.reset()
	for _, at := range ats {
		w.add(&entry{at: at, frames: []symsrc.Frame{{Func: fmt.Sprint(word, at)}}})
	}
	return appendBlob(appendBlob(nil, []byte(place)), w.appendTo(nil, []byte(place)))
}

// TestPut stores spool files one after another, in any order of addresses: the last answer to a query counts.
func TestPut(t *testing.T) {
	db, _, err := openStore(filepath.Join(t.TempDir(), databaseDir), 64<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	const here, there = "12345678 here", "12345678 there"
	far := uint64(5)<<pageBits + 3
	twice := leftBy(here, "again", 9)
	for _, left := range [][]byte{
		leftBy(here, "a", 7, 3, far), leftBy(there, "b", 3), leftBy(here, "c", 5, 7), append(leftBy(here, "once", 9), twice...),
		leftBy(here, "c", 5, 7), // it is known
	} {
		if err := db.put(left); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.put([]byte{0xff}); err == nil {
		t.Error("what makes no sense is taken")
	}
	if n := db.entries(); n != 6 {
		t.Errorf("%d answers are kept", n)
	}
	for name, q := range map[string]struct {
		place string
		at    uint64
	}{"a3": {here, 3}, "c5": {here, 5}, "c7": {here, 7}, "again9": {here, 9}, fmt.Sprint("a", far): {here, far}, "b3": {there, 3}} {
		key := appendKey(nil, q.place, q.at)
		value, err := db.answer(nil, appendBlob(nil, key))
		if err != nil {
			t.Fatal(err)
		}
		value, _, _ = cutBlob(value)
		all, err := entriesOf(key, value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		found := ""
		for i := range all {
			if i > 0 && all[i-1].at >= all[i].at {
				t.Errorf("%s: its page is not in order", name)
			}
			if all[i].at == q.at {
				found = all[i].frames[0].Func
			}
		}
		if found != name {
			t.Errorf("%q is kept, want %q", found, name)
		}
	}
}

// TestFullPage checks that no page exceeds maxPage: if its entries do not fit, the last one is stored.
func TestFullPage(t *testing.T) {
	key := appendKey(nil, "12345678 place", 0)
	name := strings.Repeat("n", maxAnswer-2*maxFrame)
	var page []byte
	for at := range uint64(20) {
		all, err := read(leftBy("12345678 place", name, at))
		if err != nil {
			t.Fatal(err)
		}
		if page = merge(key, page, all); len(page) > maxPage {
			t.Fatalf("a page has %d bytes", len(page))
		}
		entries, err := entriesOf(key, page)
		if err != nil || entries[len(entries)-1].at != at {
			t.Fatalf("the last answer is lost: %v", err)
		}
		if at > 0 && at < 3 && len(entries) != int(at)+1 {
			t.Errorf("%d answers are kept of %d that fit", len(entries), at+1)
		}
	}
}

// TestSlowDisk checks that a reply waits neither for what is being written nor for a database that is being replaced, which took ten
// seconds on a busy disk: filters took the process to hang, and used no cache any more.
func TestSlowDisk(t *testing.T) {
	db, _, err := openStore(filepath.Join(t.TempDir(), databaseDir), 64<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	const here = "12345678 here"
	key := appendKey(nil, here, 3)
	if err := db.put(leftBy(here, "a", 3)); err != nil {
		t.Fatal(err)
	}
	sv := &server{store: db}
	hello := binary.AppendUvarint(binary.AppendUvarint(nil, protocol), LeastMax)
	// pages returns how many pages the process replies with.
	pages := func() int {
		t.Helper()
		replies := make(chan []byte)
		go func() {
			for _, m := range []message{{kind: helloMsg, body: hello}, {kind: statsMsg}, {kind: askMsg, body: appendBlob(nil, key)}} {
				reply, err := sv.reply(nil, m)
				if err != nil {
					t.Errorf("%c: %v", m.kind, err)
				}
				if m.kind == askMsg {
					replies <- reply
				}
			}
		}()
		select {
		case reply := <-replies:
			if value, rest, ok := cutBlob(reply); !ok || len(rest) > 0 {
				t.Fatalf("the reply is %q", reply)
			} else if len(value) == 0 {
				return 0
			}
			return 1
		case <-time.After(time.Minute):
			t.Fatal("it waits for the disk")
			return 0
		}
	}
	db.writing.Lock() // as when pages are written, or the database is replaced
	if n := pages(); n != 1 {
		t.Error("a stored page is not found while others are written")
	}
	old := db.swap(nil, false)
	if n := pages(); n != 0 {
		t.Error("a database that is being replaced has a page")
	}
	db.swap(old, false)
	db.writing.Unlock()
	if n := pages(); n != 1 || db.max.Load() != LeastMax {
		t.Errorf("%d pages, at most %d bytes", n, db.max.Load())
	}
	if err := db.reset(); err != nil {
		t.Fatal(err)
	}
	if n := pages(); n != 0 {
		t.Error("an emptied database has a page")
	}
	if err := db.put(leftBy(here, "a", 3)); err != nil || pages() != 1 {
		t.Errorf("nothing is stored in an emptied database: %v", err)
	}
	if err := db.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sv.reply(nil, message{kind: askMsg, body: appendBlob(nil, key)}); !errors.Is(err, errClosed) {
		t.Errorf("a closed database replies: %v", err)
	}
}
