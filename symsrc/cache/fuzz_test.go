//go:build linux || darwin

package cache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"testing/iotest"
	"time"

	"qss-filter/symsrc"
)

// wire is a connection that brings bytes in small pieces and takes all.
type wire struct {
	net.Conn
	in io.Reader
}

func (w wire) Read(b []byte) (int, error)       { return w.in.Read(b) }
func (w wire) Write(b []byte) (int, error)      { return len(b), nil }
func (w wire) SetWriteDeadline(time.Time) error { return nil }

// FuzzReceive reads anything as messages: the same ones whatever pieces it comes in, of bytes that came, and no more
// memory than these take.
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

// FuzzRequest gives the cache process anything as a message of each kind, and as what a filter has left: it replies, or drops who
// sent it, and what is kept is only what was left as a key with its value.
func FuzzRequest(f *testing.F) {
	const left = 'p'
	key := []byte("12345678 a key")
	pair := appendBlob(appendBlob(nil, key), appendFrames(nil, key, []symsrc.Frame{{Func: "f"}}, time.Time{}))
	for _, kind := range []byte{helloMsg, askMsg, nearMsg, left, 'x'} {
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
	before := db.entries()
	if before != 1 {
		f.Fatalf("%d answers are kept of one", before)
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		if kind == clearMsg || len(body) > 1<<16 {
			return
		}
		if kind == left {
			if err := db.put(body); err != nil && !errors.Is(err, errProtocol) && !errors.Is(err, errReserve) {
				t.Fatal(err)
			}
			for rest := body; len(rest) > 0; {
				k, more, _ := cutBlob(rest)
				v, more, _ := cutBlob(more)
				rest = more
				if got, err := db.answer(nil, appendBlob(nil, k)); err != nil || len(got) > 1 && len(more) == 0 && !bytes.Equal(got, appendBlob(nil, v)) {
					t.Fatalf("%q is kept as %q, %v", v, got, err)
				}
			}
			return
		}
		sv := &server{store: db}
		reply, err := sv.reply(nil, message{kind: kind, body: body})
		if err != nil && !errors.Is(err, errProtocol) {
			t.Fatalf("%q %q: %v", kind, body, err)
		}
		if len(reply) > nearSize+maxValue+len(body)*8+4096 && err == nil && kind != statsMsg {
			t.Fatalf("%d bytes reply to %d", len(reply), len(body))
		}
	})
}
