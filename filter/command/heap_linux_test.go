package command

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
)

// TestHeap holds that a heap which grows takes few page faults after the first garbage collection.
func TestHeap(t *testing.T) {
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || bytes.Contains(enabled, []byte("[never]")) {
		t.Skipf("no huge pages: %s%v", enabled, err)
	}
	if usual := debug.SetGCPercent(100); usual != 100 {
		debug.SetGCPercent(usual)
		t.Skip("GOGC is set")
	}
	defer debug.SetGCPercent(100)
	faults := func() int64 {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
		return int64(used.Minflt)
	}
	runtime.GC()
	layOutHeap()
	runtime.GC()
	const small, size = 512, 16 << 20
	before, kept := faults(), make([]*[small]byte, 0, size/small)
	for range cap(kept) {
		kept = append(kept, new([small]byte))
	}
	if n := faults() - before; n > size/(4<<10)/2 {
		t.Errorf("%d faults in %d MiB", n, size>>20)
	}
	runtime.KeepAlive(kept)
}
