package filter

import (
	"bytes"

	"qss-filter/filter/frame"
	"qss-filter/filter/linecache"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/filter/stream"
)

// knownJava is what a filter knows of frames of Java that it has seen: what follows the prefix of a logger comes again and again, and is
// the same line for every thread. Only frames that depend on nothing before them are known: those that name their map, those of classes that no
// map has, and others where all traces are read with the same maps.
type knownJava struct {
	f     *liner
	tails map[string]*javaTail
	bytes int
	off   bool
}

// javaTail is what becomes of a line from the word of its frame on: the tails of one line or more, which all have the line's prefix.
type javaTail struct {
	tails   [][]byte
	answer  *resolve.Answer // nil where the line stays as it is
	outcome resolve.Outcome
	// names is set if the frame names its map.
	names bool
}

const (
	// maxJavaTails bounds the tails remembered, and maxJavaBytes their bytes. Then all are forgotten.
	maxJavaTails = 1 << 15
	maxJavaBytes = 8 << 20
	// maxJavaPrefix is how long the prefix of a known line is at most, in bytes.
	maxJavaPrefix = 256
)

// javaWord begins a frame, as printStackTrace writes it.
var javaWord = []byte("\tat ")

// init makes it that of a liner.
func (k *knownJava) init(f *liner) {
	k.f = f
	k.off = f.opt.Dedupe || f.only != nil || f.objects != nil || f.opt.Observe != nil || f.opt.Read != nil || f.opt.Style == print.Append ||
		f.opt.Palette != nil || f.opt.StripSGR || f.opt.SourceLines > 0 || f.opt.Screen != nil
}

// cut returns where the frame's word stands in a line whose prefix means nothing for the frame, -1 for another line.
func (k *knownJava) cut(line []byte) int {
	at := bytes.Index(line[:min(len(line), maxJavaPrefix)], javaWord)
	if at < 0 || len(line)-at > linecache.MaxLine || line[len(line)-1] != '\n' || bytes.Contains(line[:at], javaWord[1:]) {
		return -1
	}
	for _, c := range line[:at] {
		if c == '{' || c == '<' || c == '#' || c == 0x1b {
			return -1
		}
	}
	return at
}

// run handles the lines at the beginning of b that are known, and returns the number of bytes that they take.
func (k *knownJava) run(dst, b []byte) (out []byte, n int) {
	f := k.f
	if k.off || len(k.tails) == 0 || !f.java().Settled() || f.known.off || f.parser.Long || f.parser.InXML() || len(f.weighed) > 0 || f.dump.open || f.window > 0 || f.text.Fold.Pending() {
		return dst, 0
	}
	var t *resolve.Thread // of the line before, if its prefix is by
	var by []byte
	plain := f.java().Plain()
	for len(dst) < stream.MaxOutput {
		size := bytes.IndexByte(b[n:], '\n') + 1
		if size == 0 {
			break
		}
		line := b[n : n+size]
		at := k.cut(line)
		if at < 0 {
			break
		}
		known := k.tails[string(line[at:])]
		if known == nil || known.answer != nil && !known.names && !plain {
			break
		}
		f.line++
		n += size
		switch {
		case known.answer == nil:
			dst = append(dst, line...)
			continue
		case known.outcome.Named():
			f.resolver.Counts.Tally.Count(known.outcome)
		default:
			f.resolver.Counts.Count(nil, known.answer)
		}
		if maps := known.answer.Java.Maps; maps != nil {
			if t == nil || !bytes.Equal(by, line[:at]) {
				t, by = f.resolver.Processes.Writer(f.parser.ReadPrefix(line[:size-1]), nil, nil, line[:size-1]), line[:at]
			}
			f.java().Again(t, maps)
		}
		for _, tail := range known.tails {
			dst = append(append(dst, line[:at]...), tail...)
		}
	}
	return dst, n
}

// learn notes what has become of a line: out, which begins at the line.
func (k *knownJava) learn(line, out []byte, rescued int) {
	f := k.f
	at, a := -1, f.original.frame
	names := a != nil && len(frame.JavaMap(f.original.source)) > 0
	if !k.off && len(out) > 0 && rescued == f.rescued && f.java().Settled() && (names || f.java().Plain()) {
		at = k.cut(line)
	}
	if at < 0 || k.native(line) || a != nil && (a.Module == nil || names && a.Unverified()) {
		return
	}
	known := &javaTail{answer: a, names: names}
	switch {
	case a == nil && !bytes.Equal(line, out):
		return
	case a != nil:
		known.outcome = a.Outcome()
		for tail := range bytes.Lines(out) {
			tail, cut := bytes.CutPrefix(tail, line[:at])
			if !cut {
				return
			}
			known.tails = append(known.tails, bytes.Clone(tail))
			k.bytes += len(tail)
		}
	}
	k.keep(line[at:], known)
}

// native reports whether a line may have more than a frame of Java.
func (k *knownJava) native(line []byte) bool {
	search := k.f.scan(k.f.native)
	before, after, _ := bytes.Cut(line, frame.MapWord)
	return search.Next(before, 0) >= 0 || search.Next(after, 0) >= 0
}

// learnIdle notes that a line with frames means nothing.
func (k *knownJava) learnIdle(line []byte) {
	if at := k.cut(line); at >= 0 && !k.off {
		k.keep(line[at:], &idleTail)
	}
}

// idleTail is that of a line that stays as it is.
var idleTail javaTail

// keep keeps what becomes of a line with that tail.
func (k *knownJava) keep(tail []byte, known *javaTail) {
	if k.bytes += len(tail); k.tails == nil || len(k.tails) >= maxJavaTails || k.bytes > maxJavaBytes {
		k.tails, k.bytes = map[string]*javaTail{}, 0
	}
	k.tails[string(tail)] = known
}

// footprint returns about how many bytes of memory it takes.
func (k *knownJava) footprint() int { return 3*k.bytes + 200*len(k.tails) }
