package llvm

import (
	"cmp"
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"qss-filter/symsrc"
)

// unknown is written in place of a name that is not known.
const unknown = "??"

// appendCode appends the functions at an address, the innermost one first.
func (s *Symbolizer) appendCode(dst []byte, r *request, places []place) []byte {
	if s.opt.NoInlines {
		places = s.single(places)
	}
	if s.opt.Style == JSON {
		return s.appendSymbols(dst, r, "Symbol", places)
	}
	dst = s.header(dst, r)
	for i := range places {
		dst = s.plain(dst, &places[i], i > 0)
	}
	return s.footer(dst)
}

// appendNamed appends the places of a symbol.
func (s *Symbolizer) appendNamed(dst []byte, r *request, places []place) []byte {
	if s.opt.Style == JSON {
		return s.appendSymbols(dst, r, "Loc", places)
	}
	if len(places) == 0 {
		places = []place{{}}
	}
	for i := range places {
		dst = s.plain(dst, &places[i], false)
	}
	return s.footer(dst)
}

// header appends the address of a request.
func (s *Symbolizer) header(dst []byte, r *request) []byte {
	if !r.addressed || !s.opt.Addresses {
		return dst
	}
	dst = strconv.AppendUint(append(dst, "0x"...), r.addr, 16)
	if s.opt.Pretty {
		return append(dst, ": "...)
	}
	return append(dst, '\n')
}

// footer appends the end of an answer.
func (s *Symbolizer) footer(dst []byte) []byte {
	if s.opt.Style == LLVM {
		dst = append(dst, '\n')
	}
	return dst
}

// plain appends one function with its place.
func (s *Symbolizer) plain(dst []byte, p *place, inlined bool) []byte {
	if s.opt.Functions != NoNames {
		if s.opt.Pretty && inlined {
			dst = append(dst, " (inlined by) "...)
		}
		dst = appendLine(dst, cmp.Or(p.function, unknown))
		if s.opt.Pretty {
			dst = append(dst, " at "...)
		} else {
			dst = append(dst, '\n')
		}
	}
	if s.opt.Verbose {
		return s.verbose(dst, p)
	}
	dst = append(appendLine(dst, cmp.Or(p.file, unknown)), ':')
	dst = strconv.AppendInt(dst, int64(p.line), 10)
	if s.opt.Style == LLVM {
		dst = strconv.AppendInt(append(dst, ':'), int64(p.column), 10)
	} else if p.discriminator > 0 {
		dst = append(dst, " (discriminator "...)
		dst = append(strconv.AppendUint(dst, uint64(p.discriminator), 10), ')')
	}
	return append(append(dst, '\n'), p.source...)
}

// verbose appends all that is known of a place.
func (s *Symbolizer) verbose(dst []byte, p *place) []byte {
	row := func(name, value string) {
		dst = append(append(append(dst, "  "...), name...), ": "...)
		dst = append(appendLine(dst, value), '\n')
	}
	row("Filename", cmp.Or(p.file, unknown))
	if p.startLine > 0 {
		row("Function start filename", p.startFile)
		row("Function start line", strconv.Itoa(p.startLine))
	}
	if p.started && s.opt.Style == LLVM {
		row("Function start address", "0x"+strconv.FormatUint(p.start, 16))
	}
	row("Line", strconv.Itoa(p.line))
	row("Column", strconv.Itoa(p.column))
	if p.discriminator > 0 {
		row("Discriminator", strconv.FormatUint(uint64(p.discriminator), 10))
	}
	return dst
}

// appendLine appends a name of a file that may be hostile. Control characters, which could end the answer, are made visible.
func appendLine(dst []byte, text string) []byte {
	for i := range len(text) {
		if text[i] < ' ' {
			return symsrc.AppendVisible(dst, text)
		}
	}
	return append(dst, text...)
}

// appendData appends a variable.
func (s *Symbolizer) appendData(dst []byte, r *request, g global) []byte {
	if s.opt.Style == JSON {
		return appendGlobal(dst, r, g)
	}
	dst = s.header(dst, r)
	dst = append(appendLine(dst, cmp.Or(g.name, unknown)), '\n')
	dst = append(strconv.AppendUint(dst, g.start, 10), ' ')
	dst = append(strconv.AppendUint(dst, g.size, 10), '\n')
	if g.file == "" {
		dst = append(dst, "??:?\n"...)
	} else {
		dst = append(appendLine(dst, g.file), ':')
		dst = append(strconv.AppendInt(dst, int64(g.line), 10), '\n')
	}
	return s.footer(dst)
}

// appendLocals appends the variables of a function.
func (s *Symbolizer) appendLocals(dst []byte, r *request, all []symsrc.Local) []byte {
	if s.opt.Style == JSON {
		return appendFrame(dst, r, all)
	}
	dst = s.header(dst, r)
	if len(all) == 0 {
		dst = append(dst, unknown+"\n"...)
	}
	for i := range all {
		l := &all[i]
		dst = append(appendLine(dst, cmp.Or(l.Func, unknown)), '\n')
		dst = append(appendLine(dst, cmp.Or(l.Name, unknown)), '\n')
		dst = append(appendLine(dst, cmp.Or(l.File, unknown)), ':')
		dst = append(strconv.AppendInt(dst, int64(l.Line), 10), '\n')
		field := func(bit symsrc.LocalFields, value string, end byte) {
			if l.Known&bit == 0 {
				value = unknown
			}
			dst = append(append(dst, value...), end)
		}
		field(symsrc.LocalOffset, strconv.FormatInt(l.Offset, 10), ' ')
		field(symsrc.LocalSize, strconv.FormatUint(l.Size, 10), ' ')
		field(symsrc.LocalTag, strconv.FormatUint(l.Tag, 10), '\n')
	}
	return s.footer(dst)
}

// excerpt returns the lines around a place, each with its number.
func (s *Symbolizer) excerpt(ctx context.Context, q *symsrc.Addr, a *symsrc.Answer, f *symsrc.Frame) (text []byte) {
	n := s.opt.ContextLines
	got := s.opt.Texts.Excerpt(ctx, symsrc.Place{Module: q.Module, Files: a.Files, Made: a.Made, Path: f.File,
		Local: filepath.FromSlash(f.File), MD5: f.MD5, Line: f.Line}, n)
	first := max(1, f.Line-n/2)
	width := len(strconv.Itoa(first + n - 1))
	for i, line := range got.Lines {
		number := got.First + i
		if number < first || number >= first+n {
			continue
		}
		digits := strconv.Itoa(number)
		text = append(append(text, strings.Repeat(" ", width-len(digits))...), digits...)
		if number == f.Line {
			text = append(text, " >: "...)
		} else {
			text = append(text, "  : "...)
		}
		text = append(append(text, line...), '\n')
	}
	return text
}
