package print

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/sgr"
)

// Screen asks for frames as they are read at a terminal: `#N addr in function file:line:col (lib.so)`. A frame with a name lacks the
// directories of its module, the offset in it and the build ID. A frame without one has all that, and the reason in a few words.
// Everything else of the log stays.
type Screen struct {
	// Columns is the width of the terminal. A row that is longer gets the end of the source file's path, after an ellipsis, if that
	// saves a row. 0 leaves paths whole.
	Columns int
	// Note follows the number of modules that are folded into one line.
	Note string
}

// screen returns how text is written at a terminal. It is nil elsewhere, and inside a JSON string, which is for programs.
func (w *renderer) screen(s parse.Segment) *Screen {
	if s.Quoted() {
		return nil
	}
	return w.opt.Screen
}

// part writes text[from:to] of a frame with a name less bright than the name.
func (w *renderer) part(dst []byte, s parse.Segment, fr *parse.Frame, from, to int) []byte {
	if w.screen(s) == nil {
		return w.quiet(dst, s.Text[from:to])
	}
	return w.quiet(dst, w.short(nil, s, fr, from, to))
}

// short writes text[from:to] of a frame without the directories of its module, the offset in it, and the build ID.
func (w *renderer) short(dst []byte, s parse.Segment, fr *parse.Frame, from, to int) []byte {
	text := s.Text
	if bytes.IndexByte(text[from:to], 0x1b) >= 0 {
		return append(dst, text[from:to]...) // its parts may have colors of their own
	}
	if m := fr.Module; !m.Empty() && from <= m.Start && m.End <= to {
		before := text[from:m.Start]
		if rest, ok := bytes.CutSuffix(before, []byte("  (")); ok {
			dst = append(append(dst, rest...), " ("...)
		} else {
			dst = append(dst, before...)
		}
		name := m.Of(text)
		dst = append(dst, name[bytes.LastIndexByte(name, '/')+1:]...)
		from = m.End
		if o := fr.Off; !fr.Addr.Empty() && o.Start == from+1 && text[from] == '+' && o.End < to && text[o.End] == ')' {
			from = o.End
		}
	}
	if start, end := buildIDClause(text, fr); from <= start && start < end && end <= to {
		dst = append(dst, text[from:start]...)
		from = end
	}
	return append(dst, text[from:to]...)
}

// buildIDClause returns where ` (BuildId: …)` begins and ends, an empty range if the frame has none.
func buildIDClause(text []byte, fr *parse.Frame) (start, end int) {
	id := fr.BuildID
	if id.Empty() || id.End >= len(text) || text[id.End] != ')' {
		return 0, 0
	}
	start = bytes.LastIndexByte(text[fr.Whole.Start:id.Start], '(')
	if start < 0 {
		return 0, 0
	}
	start += fr.Whole.Start
	if word := text[start+1 : id.Start]; !bytes.EqualFold(bytes.Trim(word, " :"), []byte("buildid")) {
		return 0, 0
	}
	for start > fr.Whole.Start && scan.IsSpace(text[start-1]) {
		start--
	}
	return start, id.End + 1
}

// addressQuiet writes a frame without a name from text[from] on. Its address, or what it has in the place of one, is less bright.
func (w *renderer) addressQuiet(dst, text []byte, fr *parse.Frame, from int) []byte {
	at := fr.Addr
	if at.Empty() {
		at = fr.Off
	}
	if at.Empty() || at.Start < from || at.End > fr.Whole.End || bytes.IndexByte(text[from:fr.Whole.End], 0x1b) >= 0 {
		return append(dst, text[from:fr.Whole.End]...)
	}
	dst = w.quiet(append(dst, text[from:at.Start]...), at.Of(text))
	return append(dst, text[at.End:fr.Whole.End]...)
}

// screenBacktrace writes one function of a backtrace of markup as a frame of a terminal.
func (w *renderer) screenBacktrace(dst []byte, e *parse.Element, a *resolve.Answer, i int, n, addr uint64) []byte {
	dst = w.elementNumber(append(dst, "    #"...), a, i, n)
	dst = append(w.hush(append(dst, ' ')), "0x"...)
	dst = w.hushed(scan.AppendHex(dst, addr))
	dst = append(dst, " in "...)
	name := a.Module.Shown[strings.LastIndexByte(a.Module.Shown, '/')+1:]
	dst = w.fitted(dst, a, i, len(" ()")+utf8.RuneCountInString(name))
	dst = w.quiet(dst, []byte(" ("+name+")"))
	dst = w.appendReason(dst, a, nil, 0)
	if i == len(a.Frames)-1 {
		dst = w.appendMessage(dst, e)
	}
	return dst
}

// fitted writes the place of one function, `func file:line:col`, into a row in which so many columns follow.
func (w *renderer) fitted(dst []byte, a *resolve.Answer, i, follow int) []byte {
	shown := w.shown(a)
	columns, file := w.opt.Screen.Columns, shown.frames[i].File
	if columns <= 0 || strings.IndexByte(file, '/') < 0 {
		return append(dst, w.place(a, i)...)
	}
	others := width(dst[bytes.LastIndexByte(dst, '\n')+1:]) + width(w.place(a, i)) - utf8.RuneCountInString(file) + follow
	shown.frames = append(shown.frames[:0:0], shown.frames...)
	shown.frames[i].File = fit(file, others, columns)
	dst = w.appendPlace(dst, a, i)
	shown.frames[i].File = file
	return dst
}

// fit returns the path of a file with as many of its last directories as its row has place for. The row has others columns more, and
// is to take as few rows of a terminal as it can.
func fit(file string, others, columns int) string {
	rows := func(path string) int { return (others + utf8.RuneCountInString(path) + columns - 1) / columns }
	const cut = "…/"
	least := cut + file[strings.LastIndexByte(file, '/')+1:]
	if rows(file) <= rows(least) {
		return file
	}
	best := least
	for at := strings.LastIndexByte(file, '/'); at > 0; {
		at = strings.LastIndexByte(file[:at], '/')
		if longer := cut + file[at+1:]; at <= 0 || rows(longer) > rows(least) {
			break
		} else {
			best = longer
		}
	}
	return best
}

// width returns how many columns a text takes at a terminal. It takes every character for one of one column.
func width(text []byte) int {
	if bytes.IndexByte(text, 0x1b) >= 0 {
		text, _ = sgr.Strip(nil, nil, text)
	}
	return utf8.RuneCount(text)
}

// appendFolded writes the line for modules that are folded into one.
func appendFolded(dst []byte, modules int, note string) []byte {
	dst = strconv.AppendInt(append(dst, '['), int64(modules), 10)
	dst = append(dst, " module"...)
	if modules != 1 {
		dst = append(dst, 's')
	}
	return append(append(dst, note...), ']')
}
