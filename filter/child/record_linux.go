package child

import (
	"cmp"
	wire "encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel itself records what a command and its descendants map, when they fork and when they execute another program: see
// perf_event_open(2). Nothing is stopped, no record depends on when it is read, and the records of processes that have ended remain.
// Containers and some systems do not permit it.

const (
	// maxCPUs bounds the number of processors: for each a process that forks takes 4 µs more. fewCPUs have larger buffers.
	maxCPUs, fewCPUs = 128, 16
	// ringPages is the size of the buffer of one processor, tried in that order: the kernel limits the memory of a user. A process that
	// starts takes about 2 KiB.
	manyPages, fewPages = 64, 8
	// wakeup is after how many bytes of records the reader is woken, as the start of a program without libraries takes them, and nap how long it then
	// waits for more.
	wakeup, nap = 256, time.Millisecond
	// maxPasses bounds how often the buffers are read until all are empty.
	maxPasses = 64
)

// recording are the buffers in which the kernel records, one for each processor.
type recording struct {
	rings []ring
	// polled are their descriptors.
	polled []unix.PollFd
}

type ring struct {
	fd   int
	mem  []byte
	head *unix.PerfEventMmapPage
	data []byte
}

// eventKind is what an event says.
type eventKind uint8

const (
	mapped   eventKind = iota // code was mapped
	executed                  // another program was executed
	forked                    // a process was made
	lost                      // events are missing
)

// event is a record.
type event struct {
	kind        eventKind
	time        uint64 // of the monotonic clock, in ns
	pid, parent int
	mapping     mapping
}

var errTooMany = errors.New("too many processors")

// record begins to record the processes that the calling thread makes, once they execute a program. Nothing is recorded of our own.
func record() (r *recording, err error) {
	cpus, err := onlineCPUs()
	if err != nil {
		return nil, err
	}
	if len(cpus) > maxCPUs {
		return nil, errTooMany
	}
	r = &recording{}
	for _, cpu := range cpus {
		if err := r.open(cpu, len(cpus) <= fewCPUs); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

// onlineCPUs returns the numbers of the processors that run, from a list such as `0-3,5`.
func onlineCPUs() (cpus []int, err error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		low, err := strconv.Atoi(first)
		high, errHigh := strconv.Atoi(last)
		if err = errors.Join(err, errHigh); err != nil {
			return nil, err
		}
		for cpu := low; cpu <= high && len(cpus) <= maxCPUs; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// open makes the buffer of a processor, which should be large.
func (r *recording) open(cpu int, large bool) error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME,
		Bits: unix.PerfBitDisabled | unix.PerfBitEnableOnExec | unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitMmap |
			unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark,
		Clockid: unix.CLOCK_MONOTONIC}
	attr.Size = uint32(unsafe.Sizeof(attr))
	page := os.Getpagesize()
	attr.Wakeup = wakeup
	fd, err := unix.PerfEventOpen(&attr, 0, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("perf_event_open", err)
	}
	var mem []byte
	if err = unix.ENOMEM; large {
		mem, err = unix.Mmap(fd, 0, (1+manyPages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		mem, err = unix.Mmap(fd, 0, (1+fewPages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		unix.Close(fd)
		return os.NewSyscallError("mmap", err)
	}
	r.rings = append(r.rings, ring{fd, mem, (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])), mem[page:]})
	r.polled = append(r.polled, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	return nil
}

func (r *recording) close() {
	for _, ring := range r.rings {
		_ = unix.Munmap(ring.mem)
		unix.Close(ring.fd)
	}
	r.rings = nil
}

// read returns the events since the last read, in the order of time. The buffers are read until all are empty: if an event was read,
// those that have led to it were written before.
func (r *recording) read() (events []event) {
	for range maxPasses {
		n := len(events)
		for i := range r.rings {
			events = r.rings[i].read(events)
		}
		if len(events) == n {
			break
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.time, b.time) })
	return events
}

// headerSize is the size of a record's header: type uint32, misc uint16, size uint16.
const headerSize = 8

// read appends the events of one buffer.
func (r *ring) read(events []event) []event {
	head := atomic.LoadUint64(&r.head.Data_head)
	size := uint64(len(r.data))
	var whole []byte
	for at := r.head.Data_tail; at < head; {
		// The header does not cross the end of the buffer, since records are multiples of 8 bytes.
		header := r.data[at%size:]
		n := uint64(wire.NativeEndian.Uint16(header[6:]))
		if n < headerSize || n > head-at {
			at = head
			events = append(events, event{kind: lost})
			break
		}
		text := header[:min(n, uint64(len(header)))]
		if uint64(len(text)) < n {
			whole = append(append(whole[:0], text...), r.data[:n-uint64(len(text))]...)
			text = whole
		}
		if e, ok := readEvent(text); ok {
			events = append(events, e)
		}
		at += n
	}
	atomic.StoreUint64(&r.head.Data_tail, head)
	return events
}

// The layouts of records: a header, the fields, and the sample ID of sampleSize bytes: PID and TID, uint32 each, time uint64.
const (
	sampleSize  = 16
	recordLost  = 2
	recordComm  = 3
	recordFork  = 7
	recordMmap2 = 10
	commExec    = 1 << 13
	mmapBuildID = 1 << 14
	mmap2Size   = headerSize + 4 + 4 + 8 + 8 + 8 + 4 + 4 + 8 + 8 + 4 + 4
	forkSize    = headerSize + 4*4 + 8
)

// readEvent reads a record. ok is false for one that does not count.
func readEvent(b []byte) (e event, ok bool) {
	u32 := func(at int) int { return int(int32(wire.NativeEndian.Uint32(b[at:]))) }
	u64 := func(at int) uint64 { return wire.NativeEndian.Uint64(b[at:]) }
	if len(b) < headerSize+2*4+sampleSize {
		return e, false
	}
	misc := wire.NativeEndian.Uint16(b[4:])
	end := len(b) - sampleSize
	e = event{pid: u32(headerSize), time: u64(end + 8)}
	switch kind := u32(0); {
	case kind == recordLost:
		e.kind = lost
		return e, true
	case kind == recordComm && misc&commExec != 0:
		e.kind = executed
		return e, true
	case kind == recordFork && end >= forkSize:
		e.kind, e.parent = forked, u32(headerSize+4)
		return e, e.pid != e.parent // otherwise it is a thread
	case kind == recordMmap2 && end > mmap2Size && misc&mmapBuildID == 0:
		path, _, _ := strings.Cut(string(b[mmap2Size:end]), "\x00")
		start := u64(headerSize + 8)
		e.mapping = mapping{start, start + u64(headerSize+16), u64(headerSize + 24), u64(headerSize + 40), path}
		return e, u32(mmap2Size-8)&unix.PROT_EXEC != 0 && e.mapping.end > start
	}
	return e, false
}

// records are the kernel's records of a command, and what they say.
type records struct {
	*images
	// buffers are nil when nothing is recorded any more.
	buffers *recording
}

// newRecords begins to record what the calling thread starts. It returns nil if that is not permitted.
func newRecords(f files) *records {
	r, err := record()
	if err != nil {
		return nil
	}
	return &records{newImages(f), r}
}

// snapshots returns what is known until now, the newest first.
func (r *records) snapshots() []Snapshot {
	if r == nil {
		return nil
	}
	r.drain()
	return r.images.snapshots()
}

// complete reports whether there is nothing that the records do not have.
func (r *records) complete() bool { return r != nil && !r.gaps }

// drain reads what was recorded.
func (r *records) drain() {
	if r.buffers != nil {
		r.apply(r.buffers.read())
	}
}

// follow reads the records and calls look when there are some, and from time to time, until done is closed. Soon after another program is executed the times are
// short, and then ever longer. mu is held for both.
func (r *records) follow(mu *sync.Mutex, look func(), done <-chan struct{}) {
	wake, sleep, err := os.Pipe()
	if err == nil {
		defer wake.Close()
		go func() {
			<-done
			sleep.Close()
		}()
		fds := append(slices.Clone(r.buffers.polled), unix.PollFd{Fd: int32(wake.Fd()), Events: unix.POLLIN})
		pause, executed := firstLook, 0
		for last := len(fds) - 1; fds[last].Revents == 0; {
			if _, err := unix.Poll(fds, int(max(time.Millisecond, pause)/time.Millisecond)); err != nil && err != unix.EINTR {
				break
			}
			mu.Lock()
			r.drain()
			look()
			if pause = min(pause+pause/4, lastLook); r.executed != executed {
				pause, executed = firstLook, r.executed
			}
			mu.Unlock()
			if _, err := unix.Poll(fds[last:], int(nap/time.Millisecond)); err != nil && err != unix.EINTR {
				break
			}
		}
	}
	<-done
	mu.Lock()
	defer mu.Unlock()
	r.drain()
	r.buffers.close()
	r.buffers = nil
}
