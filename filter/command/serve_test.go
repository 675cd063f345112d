package command

import (
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestShowReading shows how far the reading of trees is, as long as that takes, and nothing of a short one.
func TestShowReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var files, of atomic.Int64
		var done atomic.Bool
		reading := func() (int64, int64, bool) { return files.Load(), of.Load(), done.Load() }
		var out strings.Builder
		over := make(chan struct{})
		go func() {
			time.Sleep(300 * time.Millisecond)
			files.Store(30)
			of.Store(120)
			time.Sleep(200 * time.Millisecond)
			done.Store(true)
		}()
		showReading(&out, reading, over)
		if want := "\rreading 0 files\x1b[K\rreading 30 of about 120 files (25 %)\x1b[K\r\x1b[K"; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
		out.Reset()
		close(over)
		if showReading(&out, reading, over); out.Len() > 0 {
			t.Errorf("%q", out.String())
		}
	})
}

// TestListening says what can be done where a server cannot listen.
func TestListening(t *testing.T) {
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	_, err = net.Listen("tcp", on.Addr().String())
	if got := listening(err).Error(); !strings.HasSuffix(got, " by another program: --listen 127.0.0.1:0 takes a port that is free") && runtime.GOOS != "windows" {
		t.Error(got)
	}
	_, err = net.Listen("tcp", "8002")
	if got, want := listening(err).Error(), "missing port in address: want an address and a port, such as 127.0.0.1:8002 or :8002"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
