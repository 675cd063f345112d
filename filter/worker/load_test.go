package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// peakMemory returns the most memory that a running process has had, in bytes, where the system tells it as Linux does; else 0.
func peakMemory(c *child) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	n, _ := strconv.Atoi(string(bytes.Fields(append(rest, " 0"...))[0]))
	return n << 10
}

// TestLoad holds that long messages of as many processes as are held in memory do not take more of that than is meant for them.
func TestLoad(t *testing.T) {
	if _, full := fleetLines(); !full {
		t.Skip("it takes minutes: QSS_FLEET_LINES is not set")
	}
	const keys, size, most = 4096, 125_000, 2 << 30
	var modules strings.Builder
	modules.WriteString("{{{reset}}}\n")
	for i := 0; modules.Len() < size-200; i++ {
		fmt.Fprintf(&modules, "{{{module:%d:m%d.so:elf:0123abcd%04x}}}\n{{{mmap:%#x:0x1000:load:%[1]d:rx:0x0}}}\n", i, i, i, 0x100000+0x1000*i)
	}
	for name, data := range map[string]string{
		"text":    strings.Repeat("text\n", size/5),
		"frames":  strings.Repeat("    #0 0x1 (none.so+0x20) (BuildId: 4567cdef)\n", size/46),
		"modules": modules.String(),
		"parts":   strings.Repeat("x", size),
	} {
		t.Run(name, func(t *testing.T) {
			_, url := broker(t, brokerOptions{})
			js := client(t, url)
			o := publishOptions(url, strings.NewReader("text\n")) // the stream
			o.Partitions = 16
			if err := Publish(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			sent := 1
			send := func() {
				for key := range keys {
					m := &nats.Msg{Subject: fmt.Sprintf("logs.h.%d", key), Data: []byte(data)}
					if name == "parts" {
						m.Header = nats.Header{headerPart: {"1"}}
					}
					if _, err := js.PublishMsgAsync(m); err != nil {
						t.Fatal(err)
					}
					if sent++; sent%64 == 0 {
						<-js.PublishAsyncComplete()
					}
				}
				<-js.PublishAsyncComplete()
			}
			send()
			began := time.Now()
			w := startWorker(t, url)
			wait := func() {
				for {
					if s, err := js.Stream(t.Context(), "ANNOTATED"); err == nil && s.CachedInfo().State.Msgs >= uint64(sent) {
						return
					}
					if w.isGone() {
						t.Fatal("the worker has ended")
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
			wait()
			first := time.Since(began)
			peak := peakMemory(w)
			send()
			wait()
			if peakMemory(w) > most {
				t.Errorf("the worker has had %d bytes of memory, want %d at most", peakMemory(w), most)
			}
			t.Logf("%d messages of %d bytes in %.1f and %.1f s: %d and %d MB", sent, len(data), first.Seconds(), (time.Since(began) - first).Seconds(), peak>>20, peakMemory(w)>>20)
		})
	}
}
