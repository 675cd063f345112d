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
	const size = 16 * hugePage
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	}()
	if err := syscall.Madvise(b, syscall.MADV_HUGEPAGE); err != nil {
		t.Skipf("no huge pages: %v", err)
	}
	for i := 0; i < size; i += page {
		b[i] = 1
	}
	if got := hugeAround(t, uintptr(unsafe.Pointer(&b[0]))); got < size/2 {
		t.Skipf("memory is in pieces: the system has no huge pages now, only %d bytes", got)
	}
}

func TestMake(t *testing.T) {
	needHuge(t)
	const size = 64 << 20
	b := Make(size)
	for i := 0; i < len(b); i += page {
		if b[i] != 0 {
			t.Fatalf("byte %d is %d", i, b[i])
		}
		b[i] = 1
	}
	if got := hugeAround(t, uintptr(unsafe.Pointer(&b[size/2]))); got < hugePage {
		t.Errorf("%d of %d bytes are in huge pages", got, size)
	}
	if len(Make(5)) != 5 {
		t.Error("not of the size")
	}
}

// TestHeap holds that the first page of the heap is a huge one.
func TestHeap(t *testing.T) {
	needHuge(t)
	if size := hugeAround(t, uintptr(unsafe.Pointer(heap))); size == 0 {
		t.Errorf("no huge page at %p", heap)
	}
}

// TestRoom holds that a heap which grows does so into huge pages.
func TestRoom(t *testing.T) {
	needHuge(t)
	Room()
	const small, size = 512, 16 << 20
	kept := make([]*[small]byte, 0, size/small)
	for range cap(kept) {
		kept = append(kept, new([small]byte))
	}
	if got := hugeAround(t, uintptr(unsafe.Pointer(kept[len(kept)-1]))); got < hugePage {
		t.Errorf("%d bytes of the heap are in huge pages", got)
	}
	runtime.KeepAlive(kept)
}

// hugeAround returns how much of the mapping that has an address is in huge pages, in bytes.
func hugeAround(t *testing.T, at uintptr) (size int) {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	var begin, end uintptr
	for line := range strings.Lines(string(smaps)) {
		name, value, isValue := strings.Cut(line, ": ")
		if !isValue {
			if _, err := fmt.Sscanf(line, "%x-%x ", &begin, &end); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		} else if name == "AnonHugePages" && begin <= at && at < end {
			if _, err := fmt.Sscanf(value, "%d kB", &size); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return size << 10
		}
	}
	t.Fatalf("%x is not mapped", at)
	return 0
}
