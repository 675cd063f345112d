package print

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"qss-filter/filter/parse"
	"qss-filter/filter/print/cxxname"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/filter/triage"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// Screen asks for frames as they are read at a terminal: `#N addr in function file:line:col (lib.so)`. A frame with a name lacks the
// directories of its module, the offset in it, the build ID, and what the log says of the function if that is the same. What is not the
// program's own is less bright, and has short names. A frame without a name has all that, and the reason in a few words. Everything else of
// the log stays.
type Screen struct {
	// Columns is the width of the terminal, 0 if it is not known.
	Columns int
	// Note follows the number of modules that are folded into one line.
	Note string
	// Roots are directories below which paths are written relative to them: the first that fits counts.
	Roots []string
	// ASCII is set if the terminal has no other characters: an ellipsis is three dots then.
	ASCII bool
	// LongNames writes the names of others' functions with their template arguments and parameters.
	LongNames bool
	// FirstSource shows the source code only of the first of the program's own functions in a stack, and none where that is missing.
	FirstSource bool
}

// ellipsis returns what stands for text that is left out.
func (s *Screen) ellipsis() string {
	if s.ASCII {
		return "..."
	}
	return "…"
}

// longName is the number of cells from which a name of others' code is cut to its outline.
const longName = 24

// names returns the frames of an answer as they are written: frames are as they are in a pipe, and own says which are the program's.
func (s *Screen) names(frames []symsrc.Frame, own []bool) []symsrc.Frame {
	frames = append([]symsrc.Frame(nil), frames...)
	for i := range frames {
		fr := &frames[i]
		fr.File = s.path(fr.File, own[i])
		if s.LongNames {
			continue
		}
		fr.Func = triage.WithoutHash(fr.Func)
		if strings.HasSuffix(fr.File, ".go") {
			continue
		}
		if fr.Func = cxxname.Shorten(fr.Func); !own[i] && sgr.Width([]byte(fr.Func)) > longName {
			fr.Func = cxxname.Outline(fr.Func, s.ellipsis())
		} else if own[i] && s.Columns > 0 && 2*sgr.Width([]byte(fr.Func)) > s.Columns {
			fr.Func = triage.Name(fr.Func) // without parameters
		}
	}
	return frames
}

// path returns a path as it is written: clean, relative to one of the roots, and otherwise with as many of its last directories as fit
// into a quarter of the terminal, or a tenth for others' code. That depends on nothing else of the row: a directory looks the same everywhere.
func (s *Screen) path(file string, own bool) string {
	if file == "" || strings.IndexByte(file, '\\') >= 0 {
		return file
	}
	file = path.Clean(file)
	for _, root := range s.Roots {
		if rest, ok := below(file, root); ok && rest != "" {
			return rest
		}
	}
	most, slash := s.Columns/4, strings.LastIndexByte(file, '/')
	if !own {
		most = s.Columns / 10
	}
	if most <= 0 || slash <= 0 || sgr.Width([]byte(file[:slash])) <= most {
		return file
	}
	cut := s.ellipsis() + "/"
	kept := slash
	for at := strings.LastIndexByte(file[:slash], '/'); at > 0; at = strings.LastIndexByte(file[:at], '/') {
		if sgr.Width([]byte(file[at+1:slash]))+sgr.Width([]byte(cut)) > most {
			break
		}
		kept = at
	}
	return cut + file[kept+1:]
}

// screen returns how text is written at a terminal. It is nil elsewhere, and inside a JSON string, which is for programs.
func (w *renderer) screen(s parse.Segment) *Screen {
	if s.Quoted() {
		return nil
	}
	return w.opt.Screen
}

// dims reports whether a function's row is less bright than others, on a line of the log without colors.
func (w *renderer) dims(s parse.Segment, line []byte, a *resolve.Answer, i int) bool {
	return w.screen(s) != nil && w.palette() != nil && w.Color.Plain() && bytes.IndexByte(line, 0x1b) < 0 && !w.own(a, i)
}

// own reports whether a function is the program's own, as its mark says if there is one.
func (w *renderer) own(a *resolve.Answer, i int) bool {
	p, came := a.Printed.(*printed)
	if p == nil && came && w.firstOf == a {
		p = &w.first
	}
	if p != nil && i < len(p.marks) {
		return p.marks[i].own
	}
	return w.isOwn(a, i)
}

// isOwn is own for an answer without marks.
func (w *renderer) isOwn(a *resolve.Answer, i int) bool {
	return a.Module == nil || a.Java != nil || a.Kind != symsrc.Code ||
		w.opt.Names.Own.OwnFunction(&a.Frames[i], a.Module.Name)
}

// part writes text[from:to] of a frame with a name less bright than the name.
func (w *renderer) part(dst []byte, s parse.Segment, fr *parse.Frame, a *resolve.Answer, from, to int) []byte {
	if w.screen(s) == nil {
		return w.quiet(dst, s.Text[from:to])
	}
	return w.quiet(dst, w.short(nil, s, fr, a, from, to))
}

// short writes text[from:to] of a frame without the directories of its module, the offset in it, the build ID, zeros before an address that
// has no more than 12 digits, and what the log says of the function if the answer is the same.
func (w *renderer) short(dst []byte, s parse.Segment, fr *parse.Frame, a *resolve.Answer, from, to int) []byte {
	text := s.Text
	if bytes.IndexByte(text[from:to], 0x1b) >= 0 {
		return append(dst, text[from:to]...) // its parts may have colors of their own
	}
	cut := func(start, end int) {
		if from <= start && start < end && end <= to {
			dst = append(dst, text[from:start]...)
			from = end
		}
	}
	for _, at := range [...][2]int{{fr.Addr.Start, fr.Addr.End}, {fr.Off.Start, fr.Off.End}} {
		if digits := bytes.TrimPrefix(text[at[0]:at[1]], []byte("0x")); len(digits) == 16 && bytes.HasPrefix(digits, []byte("0000")) {
			cut(at[1]-16, at[1]-12)
		}
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
	if start, end := archiveClause(text[:to], fr, from); start < end {
		cut(start, end)
	}
	if start, end := w.hintClause(text, fr, a); start < end {
		cut(start, end)
	}
	if start, end := buildIDClause(text, fr); start < end {
		cut(start, end)
	}
	return append(dst, text[from:to]...)
}

// archiveClause returns where ` (offset 0x…)` begins and ends after from, which says where a file lies in an archive.
func archiveClause(text []byte, fr *parse.Frame, from int) (start, end int) {
	word := []byte(" (offset 0x")
	at := bytes.Index(text[min(from, len(text)):], word)
	if fr.Module.Empty() || at < 0 {
		return 0, 0
	}
	start = from + at
	for end = start + len(word); end < len(text) && scan.IsHex(text[end]); end++ {
	}
	if end >= len(text) || text[end] != ')' {
		return 0, 0
	}
	return start, end + 1
}

// hintClause returns where ` (function+12)` begins and ends, an empty range unless the log names the function there that is the outermost of
// the answer.
func (w *renderer) hintClause(text []byte, fr *parse.Frame, a *resolve.Answer) (start, end int) {
	h := fr.Hint
	if h.Empty() || a == nil || len(a.Frames) == 0 || h.Start < 2 || h.End >= len(text) || text[h.Start-1] != '(' || text[h.Start-2] != ' ' || text[h.End] != ')' {
		return 0, 0
	}
	if triage.Name(string(h.Of(text))) != triage.Name(a.Frames[len(a.Frames)-1].Func) {
		return 0, 0
	}
	return h.Start - 2, h.End + 1
}

// appendRow writes the place of one function, `func file:line:col`, in a row of a terminal.
func (w *renderer) appendRow(dst []byte, a *resolve.Answer, i int) []byte {
	if w.dim {
		return w.appendPlace(dst, a, i)
	}
	return append(dst, w.place(a, i)...)
}

// undim ends a row, or a part of one, that is less bright.
func (w *renderer) undim(dst []byte) []byte {
	if !w.dim {
		return dst
	}
	w.dim = false
	return w.hushed(dst)
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
	if w.palette() != nil && w.Color.Plain() && !w.own(a, i) {
		dst, w.dim = w.hush(dst), true
	}
	dst = w.elementNumber(append(dst, "    #"...), a, i, n)
	dst = append(w.hush(append(dst, ' ')), "0x"...)
	dst = w.hushed(scan.AppendHex(dst, addr))
	dst = append(dst, " in "...)
	dst = w.undim(w.appendModule(w.appendRow(dst, a, i), a))
	dst = w.appendReason(dst, a, nil, 0)
	if i == len(a.Frames)-1 {
		dst = w.appendMessage(dst, e)
	}
	return dst
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
