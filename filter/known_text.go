package filter

import (
	"bytes"
	"context"
	"strconv"

	"qss-filter/filter/print"

	"qss-filter/filter/frame"
	"qss-filter/filter/linecache"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
)

// A stack of text comes again with other numbers and at other addresses, since every process lies elsewhere; what stands
// behind the address, `  (/usr/lib/a.so+0x1130) (BuildId: 5290…)`, is the same. The lines that such a frame becomes are
// therefore kept by that, without what stands before.

// shownTail is what the lines of a known tail are due to.
type shownTail struct {
	due
	// object is where the line's own words are in its object, where lines leave as JSON.
	object objectCuts
	// digits is how long the address is, by which some emitters are told.
	digits     int
	convention frame.Convention
}

// textFrame is a frame's line as known tails have it: blanks, a number, blanks, an address, and the tail with the line's end.
type textFrame struct {
	line                      []byte
	numStart, numEnd, addrEnd int
	number                    uint64
	digits                    int
}

// readTextFrame reads the line that b begins with. ok is false for lines that are not of that kind, and where the tail might
// mean something to the recognisers of prefixes.
func readTextFrame(b []byte) (t textFrame, ok bool) {
	i := 0
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if i == len(b) || b[i] != '#' {
		return t, false
	}
	i++
	t.numStart = i
	for i < len(b) && b[i]-'0' <= 9 {
		t.number = 10*t.number + uint64(b[i]-'0')
		i++
	}
	t.numEnd = i
	if n := t.numEnd - t.numStart; n == 0 || n > 4 || n > 1 && b[t.numStart] == '0' || !bytes.HasPrefix(b[i:], []byte(" 0x")) {
		return t, false
	}
	i += len(" 0x")
	_, t.addrEnd, ok = scan.Hex(b, i)
	t.digits = t.addrEnd - i
	end := bytes.IndexByte(b[t.addrEnd:], '\n')
	if !ok || end <= 0 || b[t.addrEnd] != ' ' || end > linecache.MaxLine {
		return t, false
	}
	t.line = b[:t.addrEnd+end+1]
	return t, true
}

func (t *textFrame) tail() []byte { return t.line[t.addrEnd:] }

// knownText handles the lines at the begin of b that are frames with a known tail, and gives the bytes that they are.
func (f *Filter) knownText(ctx context.Context, dst, b []byte) (out []byte, n int) {
	if f.window > 0 || f.opt.Renumber == print.RenumberNever {
		return dst, 0
	}
	t := f.resolver.Processes.Unnamed
	for len(dst) < stream.MaxOutput && n < len(b) && (b[n] == ' ' || b[n] == '#') {
		line, ok := readTextFrame(b[n:])
		if !ok {
			break
		}
		f.reach(dst, n)
		s, again := f.quick.tails.Slot(line.tail(), 1)
		switch {
		case s.Is(line.tail(), 1) && s.By.digits == line.digits &&
			f.stillDue(&s.By.due, t, f.resolver.AdjustText(t, s.By.convention, t.Stack.First(f.line+1, true, line.number))):
			f.line++
			if number := t.Stack.Number(line.number); f.objects != nil {
				dst = line.writeObject(dst, s.Text(), &s.By.object, f.line)
			} else {
				dst = line.write(f.text.Fold.Flush(dst), s.Text(), number)
			}
			a := s.By.answer
			a.Count()
			t.Over(f.line, a)
			t.Stack.Insert(len(a.Frames) - 1)
			f.resolver.Processes.Handled(t)
		case again:
			f.resolver.Ahead(b[n+len(line.line):], t)
			f.resolver.Asked = resolve.Asked{}
			dst = f.text.Fold.Flush(dst)
			before := len(dst)
			dst = f.Line(ctx, dst, line.line)
			if by, became, ok := f.learn(&line, dst[before:]); ok {
				f.quick.tails.Keep(s, line.tail(), became, 1, by)
			}
		default:
			return dst, n
		}
		f.rescan()
		n += len(line.line)
	}
	return dst, n
}

// write writes the lines of a frame's functions, of which all but their begins is known.
func (t *textFrame) write(dst, known []byte, n uint64) []byte {
	for len(known) > 0 {
		end := bytes.IndexByte(known, '\n') + 1
		dst = append(dst, t.line[:t.numStart]...)
		dst = strconv.AppendUint(dst, n, 10)
		dst = append(dst, t.line[t.numEnd:t.addrEnd]...)
		dst = append(dst, known[:end]...)
		known, n = known[end:], n+1
	}
	return dst
}

// learn tells what is to be kept of a line that became those lines, or that object.
func (f *Filter) learn(t *textFrame, became []byte) (by shownTail, known []byte, ok bool) {
	q := &f.resolver.Asked
	if !q.Plain || len(q.Answer.Frames) == 0 || print.Awaited(q.Answer) || len(f.parser.Frames) != 1 || len(became) > linecache.MaxText || bytes.ContainsAny(t.line, "|\t\r\x1b") {
		return by, nil, false
	}
	by = shownTail{due: dueTo(f.resolver.Processes.Unnamed, q.Answer, q.Adjustment), digits: t.digits, convention: q.Convention}
	if f.objects != nil {
		known, by.object, ok = f.learnObject(t, became)
	} else {
		known, ok = t.learnTail(became, len(q.Answer.Frames))
	}
	return by, known, ok
}

// learnTail returns what of the lines that a frame of so many functions became stands behind its address.
func (t *textFrame) learnTail(became []byte, functions int) (known []byte, ok bool) {
	var n uint64
	for i := range functions {
		// Whatever the line became, it is known only if that is of the kind that write writes.
		rest, found := bytes.CutPrefix(became, t.line[:t.numStart])
		width := 0
		for width < len(rest) && rest[width]-'0' <= 9 {
			width++
		}
		number, fits := scan.Number(rest[:width], 10)
		rest, same := bytes.CutPrefix(rest[width:], t.line[t.numEnd:t.addrEnd])
		end := bytes.IndexByte(rest, '\n') + 1
		if !found || !fits || !same || end == 0 || i > 0 && number != n+1 {
			return nil, false
		}
		n = number
		known, became = append(known, rest[:end]...), rest[end:]
	}
	return known, len(became) == 0
}
