package pages

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// needHuge skips a test where faults are fast, or the system gives no huge pages on request.
func needHuge(t *testing.T) {
	t.Helper()
	if heap == nil {
		t.Skip("faults are fast here")
	}
	const setting = "/sys/kernel/mm/transparent_hugepage/"
	enabled, err := os.ReadFile(setting + "enabled")
	if err != nil || bytes.Contains(enabled, []byte("[never]")) {
		t.Skipf("no huge pages: %s%v", enabled, err)
	}
	if size, err := os.ReadFile(setting + "hpage_pmd_size"); err != nil || strings.TrimSpace(string(size)) != fmt.Sprint(hugePage) {
		t.Skipf("huge pages are of another size: %s%v", size, err)
	}
}

func faults(t *testing.T) int64 {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return int64(used.Minflt)
}

func TestMake(t *testing.T) {
	needHuge(t)
	const size, page = 64 << 20, 4 << 10
	before := faults(t)
	b := Make(size)
	for i := 0; i < len(b); i += page {
		if b[i] != 0 {
			t.Fatalf("byte %d is %d", i, b[i])
		}
		b[i] = 1
	}
	if n := faults(t) - before; n > size/page/4 {
		t.Errorf("%d faults in %d MiB", n, size>>20)
	}
	if len(Make(5)) != 5 {
		t.Error("not of the size")
	}
}

// TestHeap holds that the first page of the heap is a huge one, and that the variables of packages were copied.
func TestHeap(t *testing.T) {
	needHuge(t)
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	at := uintptr(unsafe.Pointer(heap))
	var begin, end uintptr
	for line := range strings.Lines(string(smaps)) {
		name, value, isValue := strings.Cut(line, ": ")
		if !isValue {
			if _, err := fmt.Sscanf(line, "%x-%x ", &begin, &end); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		} else if name == "AnonHugePages" && begin <= at && at < end {
			if strings.TrimSpace(value) == "0 kB" {
				t.Errorf("no huge page in %x-%x, in which the heap begins at %x", begin, end, at)
			}
			return
		}
	}
	t.Errorf("the heap, at %x, is not mapped", at)
}

func TestRoom(t *testing.T) {
	needHuge(t)
	Room()
	const small, size = 512, 16 << 20
	before, kept := faults(t), make([]*[small]byte, 0, size/small)
	for range cap(kept) {
		kept = append(kept, new([small]byte))
	}
	if n := faults(t) - before; n > size/(4<<10)/3 {
		t.Errorf("%d faults in %d MiB", n, size>>20)
	}
	runtime.KeepAlive(kept)
}
