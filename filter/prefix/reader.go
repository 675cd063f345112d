package prefix

import (
	"math/bits"

	"qss-filter/filter/scan"
)

const (
	maxRead  = 512 // bytes of a line that are looked at for prefixes
	maxDepth = 4   // loggers around each other
)

// Span is a range of bytes of a line, line[Start:End]; empty where there is nothing. It is half a scan.Span: the ten of a Prefix are
// cleared and copied for every line.
type Span struct{ Start, End int32 }

// Of returns the bytes of the span.
func (s Span) Of(line []byte) []byte { return line[s.Start:s.End] }

// Empty reports whether the span holds nothing.
func (s Span) Empty() bool { return s.Start == s.End }

func span(start, end int) Span { return Span{int32(start), int32(end)} }

// Prefix is what loggers wrote around a program's own text.
type Prefix struct {
	// Kind is the innermost logger that was recognized.
	Kind Kind
	// Partial says that the line goes on in the next entry of the same stream (CRI's `P`).
	Partial bool
	// Outer is the outermost logger, and Part where the text begins that it wraps. Stream is the stream that CRI names.
	Outer  Kind
	Part   int32
	Stream Span
	// Start and End bound the program's own text, line[Start:End]. What stands after End is a logger's suffix:
	// `  (TAG)` of logcat -v process, ESC[0m of -v color.
	Start, End int
	// PID and TID are the innermost process and thread IDs of the loggers, as they are written.
	PID, TID Span
	// Claimed is the process ID that the text itself names as `==PID==`. It stands above PID. Sanitizers write it on their
	// headlines only, not on the frames below: a caller that keeps it for those (see Origin) looks it up by the key of the
	// prefix without it, which is that of a copy whose Claimed is empty.
	Claimed Span
	// Host is the machine that syslog and journald name.
	Host Span
	// Tag is the program's or component's name as loggers write it; no evidence of a process of its own.
	Tag  Span
	unit [maxDepth]Span // pods, containers, services, ranks, jobs, tests: outermost first
	held heldID         // of the logcat -v long header that stands above the line
	size uint8          // how many units there are
}

// heldID is a process and thread that a line of its own has named.
type heldID struct {
	pid, tid uint64
	known    bool
}

// Units returns how many pods, containers, services, ranks, jobs and tests the loggers named.
func (p *Prefix) Units() int { return int(p.size) }

// Unit returns the i-th of them, the outermost first.
func (p *Prefix) Unit(i int) Span { return p.unit[i] }

func (p *Prefix) addUnit(s Span) {
	if int(p.size) < len(p.unit) && !s.Empty() {
		p.unit[p.size] = s
		p.size++
	}
}

// setHost names the machine, unless a logger further out has done so.
func (p *Prefix) setHost(host Span) {
	if p.Host.Empty() {
		p.Host = host
	}
}

// setPID names process and thread, which stand above those of the loggers further out.
func (p *Prefix) setPID(pid, tid Span) {
	if !pid.Empty() {
		p.PID, p.TID = pid, tid
	}
}

// Reader recognizes prefixes on the lines of one stream. It remembers the shape of the last line and tries that first,
// but each line stands for itself: streams mix formats. The zero value is ready for use.
type Reader struct {
	table   *table // nil stands for builtin
	p       Prefix // being read
	learned [maxDepth]uint8
	held    heldID
	host    [maxHost]byte // the host of the last syslog line that named a process
	hostLen uint8
	whole   []byte // the line being read, uncut
	bar     int    // column of the bar after the last service's name that is certain, 0 for none
}

// maxHost is the length of the longest host name that is remembered.
const maxHost = 64

// Read recognizes the prefixes of a line, which comes without its end. The header line of logcat -v long, which IsHeader
// knows, must be read for the lines below to belong to its process; reading an empty line ends that.
func (r *Reader) Read(line []byte) Prefix {
	p := &r.p
	*p = Prefix{End: len(line)}
	head := line
	if len(head) > maxRead {
		head = head[:maxRead]
	}
	r.whole = line
	pos, colored := 0, false
	for depth := range maxDepth {
		begin := pos
		if c := at0(head, pos); c == 0x1b || c == byteOrderMark[0] {
			begin = escapes(head, pos)
		}
		end := r.layer(head, begin, depth)
		if end < 0 {
			break
		}
		if depth == 0 {
			p.Outer, p.Part = p.Kind, int32(end)
		}
		colored = colored || begin > pos && p.Claimed.Empty()
		pos = end
	}
	r.whole = nil
	p.Start = pos
	if colored {
		p.cutReset(line)
	}
	if p.End < p.Start {
		p.End = p.Start
	}
	r.hold(line)
	return *p
}

// layer recognizes one prefix at line[i:] and returns the offset after it, −1 where there is none.
func (r *Reader) layer(line []byte, i, depth int) int {
	if i >= len(line) {
		return -1
	}
	t := r.table
	if t == nil {
		t = &builtin
	}
	choices := t.dispatch[0][line[i]]
	if line[i] == ' ' || line[i] == '\t' {
		k := i + 1
		for k < len(line) && (line[k] == ' ' || line[k] == '\t') {
			k++
		}
		choices = t.dispatch[1][at0(line, k)]
	}
	if last := r.learned[depth]; choices&(1<<last) != 0 {
		if end := t.rows[last].read(r, line, i); end >= 0 {
			return end
		}
		choices &^= 1 << last
	}
	for choices != 0 {
		n := bits.TrailingZeros32(choices)
		if end := t.rows[n].read(r, line, i); end >= 0 {
			r.learned[depth] = uint8(n)
			return end
		}
		choices &= choices - 1
	}
	if depth == 0 {
		return gitHubJob(r, line, i)
	}
	return -1
}

// cutReset takes a last `ESC[0m` out of the program's text: a logger that colors its prefix ends the color after the
// text.
func (p *Prefix) cutReset(line []byte) {
	text := line[:p.End]
	for _, reset := range [...]string{"\x1b[0m", "\x1b[m"} {
		if len(text)-len(reset) >= p.Start && string(text[len(text)-len(reset):]) == reset {
			p.End -= len(reset)
			return
		}
	}
}

// hold keeps what a header line of logcat -v long says for the lines below it.
func (r *Reader) hold(line []byte) {
	p := &r.p
	switch {
	case p.Kind == LogcatLong:
		r.held = heldID{}
		if p.size == 0 {
			r.held = heldID{number(p.PID.Of(line)), number(p.TID.Of(line)), true}
		}
	case !p.PID.Empty() || p.size > 0 || r.held.known && spaces(line, 0) == len(line):
		r.held = heldID{}
	default:
		p.held = r.held
	}
}

// number returns the value of decimal digits, spaces in front allowed.
func number(text []byte) (n uint64) {
	for _, c := range text {
		if scan.IsDigit(c) {
			n = n*10 + uint64(c-'0')
		}
	}
	return n
}
