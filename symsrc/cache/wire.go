package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Messages between a filter and the cache process: the length of the rest (4 bytes, little-endian), a kind, a number of 4 bytes
// that the reply repeats, and the body.
const (
	helloMsg byte = 'h' // protocol, limit on disk; reply: protocol, pid, and a sentence about what was wrong, or nothing
	askMsg   byte = 'a' // keys; reply: as many pages, empty if there is none
	hitsMsg  byte = 'u' // the number of queries of a filter, and of those that the cache answered; no reply
	newsMsg  byte = 'w' // answers were left; no reply
	statsMsg byte = 's' // reply: JSON of stats
	clearMsg byte = 'c' // reply: a sentence about why it failed, or nothing
)

const (
	protocol   = 3
	headerSize = 9

	// askKeys is the maximum number of pages in a request. Their keys fit into a socket's buffer, so that a process that does not
	// read does not block a filter.
	askKeys    = 128
	maxMessage = askKeys * (maxPage + 4)
)

// askTime is how long a filter waits for an answer from the cache. After that its own engine answers.
var askTime = 20 * time.Millisecond

// outcome is the result of a query to the cache.
type outcome uint8

const (
	answered outcome = iota
	late             // it may still answer
	without          // there is no cache, or nothing in it
)

var errProtocol = errors.New("not the cache's protocol")

// message is one message; its body is valid until the next one is received.
type message struct {
	kind byte
	id   uint32
	body []byte
}

// link is one connection. One goroutine may receive; any may send.
type link struct {
	conn   net.Conn
	in     []byte // received; [:next] was returned
	next   int
	sendMu sync.Mutex
	out    []byte
}

// send writes one message. within is the timeout, 0 for none.
func (l *link) send(kind byte, id uint32, body []byte, within time.Duration) error {
	l.sendMu.Lock()
	defer l.sendMu.Unlock()
	l.out = binary.LittleEndian.AppendUint32(l.out[:0], uint32(headerSize-4+len(body)))
	l.out = append(l.out, kind)
	l.out = binary.LittleEndian.AppendUint32(l.out, id)
	l.out = append(l.out, body...)
	if within > 0 {
		if err := l.conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
			return fmt.Errorf("write to the cache: %w", err)
		}
	}
	if _, err := l.conn.Write(l.out); err != nil {
		return fmt.Errorf("write to the cache: %w", err)
	}
	return nil
}

// receive reads a message.
func (l *link) receive() (message, error) {
	for {
		have := l.in[l.next:]
		want := headerSize
		if len(have) >= headerSize {
			n := int(binary.LittleEndian.Uint32(have))
			if n < headerSize-4 || n > maxMessage {
				return message{}, errProtocol
			}
			if want = n + 4; len(have) >= want {
				l.next += want
				return message{have[4], binary.LittleEndian.Uint32(have[5:]), have[headerSize:want]}, nil
			}
		}
		l.room(want)
		n, err := l.conn.Read(l.in[len(l.in):cap(l.in)])
		l.in = l.in[:len(l.in)+n]
		if n == 0 && err != nil {
			if err != io.EOF {
				err = fmt.Errorf("read from the cache: %w", err)
			}
			return message{}, err
		}
	}
}

// room makes room for a message of size bytes, of which a part may have arrived. The sender may lie about the size, so memory is
// allocated step by step.
func (l *link) room(size int) {
	have := l.in[l.next:]
	size = min(size, 2*len(have)+4096)
	if size > cap(l.in) {
		l.in = append(make([]byte, 0, size), have...)
	} else if l.next > 0 {
		l.in = l.in[:copy(l.in[:cap(l.in)], have)]
	}
	l.next = 0
}

// appendBlob appends a length and bytes.
func appendBlob(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// cutBlob cuts a length and bytes off b. The blob shares its memory.
func cutBlob(b []byte) (blob, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, nil, false
	}
	return b[used : used+int(n)], b[used+int(n):], true
}
