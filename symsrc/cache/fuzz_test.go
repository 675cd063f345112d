//go:build linux || darwin

package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"testing"
	"testing/iotest"
	"time"

	"qss-filter/symsrc"
)

// wire is a connection that returns bytes in small pieces and accepts all writes.
type wire struct {
	net.Conn
	in io.Reader
}

func (w wire) Read(b []byte) (int, error)       { return w.in.Read(b) }
func (w wire) Write(b []byte) (int, error)      { return len(b), nil }
func (w wire) SetWriteDeadline(time.Time) error { return nil }

// FuzzReceive reads any bytes as messages. They are the same for pieces of any size, consist of received bytes, and take no more memory
// than these.
func FuzzReceive(f *testing.F) {
	message := func(kind byte, body string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(headerSize-4+len(body)))
		return append(append(b, kind, 1, 0, 0, 0), body...)
	}
	f.Add(append(message(helloMsg, "\x01\x80\x01"), message(askMsg, "\x03key")...))
	f.Add([]byte{0xff, 0xff, 0xff, 0, 'a', 1, 2, 3, 4, 5})
	f.Add([]byte{4, 0, 0, 0, 'a', 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, sent []byte) {
		whole := &link{conn: wire{in: bytes.NewReader(sent)}}
		pieces := &link{conn: wire{in: iotest.OneByteReader(bytes.NewReader(sent))}}
		taken := 0
		for {
			m, err := whole.receive()
			m2, err2 := pieces.receive()
			if (err == nil) != (err2 == nil) || m.kind != m2.kind || m.id != m2.id || !bytes.Equal(m.body, m2.body) {
				t.Fatalf("at once %+v %v, in pieces %+v %v", m, err, m2, err2)
			}
			if most := 4*len(sent) + 3*4096; cap(whole.in) > most || cap(pieces.in) > most {
				t.Fatalf("%d and %d bytes of memory for %d", cap(whole.in), cap(pieces.in), len(sent))
			}
			if err != nil {
				if errors.Is(err, errProtocol) == errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				return
			}
			if taken += headerSize + len(m.body); taken > len(sent) {
				t.Fatalf("%d bytes of messages in %d", taken, len(sent))
			}
		}
	})
}

// FuzzRequest passes any bytes to the cache process as a message of each kind, and as a spool file: it replies or disconnects, and stores
// the valid entries of the file.
func FuzzRequest(f *testing.F) {
	const left = 'p'
	place := []byte("12345678 a place")
	was := entry{at: 7, frames: []symsrc.Frame{{Func: "f"}}}
	pair := appendBlob(appendBlob(nil, place), pageOf(place, was))
	for _, kind := range []byte{helloMsg, askMsg, hitsMsg, left, 'x'} {
		f.Add(kind, pair)
		f.Add(kind, binary.AppendUvarint([]byte{protocol}, 1<<20))
		f.Add(kind, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	}
	db, _, err := openStore(filepath.Join(f.TempDir(), databaseDir), 64<<20, 0)
	if err != nil {
		f.Skip("no database: ", err)
	}
	defer db.close()
	if err := db.put(pair); err != nil {
		f.Skip("nothing is kept: ", err)
	}
	if n := db.entries(); n != 1 {
		f.Fatalf("%d answers are kept of one", n)
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		if kind == clearMsg || len(body) > 1<<14 { // what a page takes
			return
		}
		if kind == left {
			if err := db.put(body); err != nil && !errors.Is(err, errProtocol) && !errors.Is(err, errReserve) {
				t.Fatal(err)
			}
			all, _ := read(body)
			for _, a := range all {
				key := appendKey(nil, a.place, a.at)
				got, err := db.answer(nil, appendBlob(nil, key))
				if err != nil {
					t.Fatal(err)
				}
				value, _, _ := cutBlob(got)
				want, err := a.page.read(a.spot, nil)
				if err != nil {
					continue // it is not stored
				}
				p, err := openPage(key, value)
				if err != nil {
					t.Fatalf("no page is kept of %+v: %v", want, err)
				}
				if at, ok := p.find(a.at, a.tag); !ok {
					t.Fatalf("%+v is not kept", want)
				} else if e, err := p.read(at, nil); err != nil || !reflect.DeepEqual(e, want) {
					t.Fatalf("%+v is kept as %+v, %v", want, e, err)
				}
			}
			return
		}
		sv := &server{store: db}
		reply, err := sv.reply(nil, message{kind: kind, body: body})
		if err != nil && !errors.Is(err, errProtocol) {
			t.Fatalf("%q %q: %v", kind, body, err)
		}
		if len(reply) > maxMessage && err == nil {
			t.Fatalf("%d bytes reply to %d", len(reply), len(body))
		}
	})
}
