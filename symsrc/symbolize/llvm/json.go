package llvm

import (
	"strconv"
	"unicode/utf8"

	"qss-filter/symsrc"
)

// An object's keys are in alphabetical order, as llvm writes them.

// open appends the start of the object of an answer: its address, and an error if there is one.
func open(dst []byte, r *request, failed string) []byte {
	dst = append(dst, '{')
	if r.addressed {
		dst = append(appendHex(append(dst, `"Address":`...), r.addr), ',')
	}
	if failed != "" {
		dst = append(appendString(append(dst, `"Error":{"Message":`...), failed), "},"...)
	}
	return dst
}

// end appends the end of that object.
func end(dst []byte, r *request) []byte {
	if r.symbol != "" {
		dst = appendString(append(dst, `,"SymName":`...), r.symbol)
	}
	return append(dst, '}')
}

// appendModule appends the module of a request.
func appendModule(dst []byte, r *request) []byte {
	return appendString(append(dst, `"ModuleName":`...), r.module)
}

// appendError appends an answer that is an error.
func appendError(dst []byte, r *request, reason string) []byte {
	return end(appendModule(open(dst, r, reason), r), r)
}

// appendSymbols appends an answer that is a list of functions. key is Symbol or Loc.
func (s *Symbolizer) appendSymbols(dst []byte, r *request, key string, places []place) []byte {
	dst = open(dst, r, "")
	if key == "Symbol" {
		dst = append(appendModule(dst, r), ',')
	}
	dst = append(append(append(dst, '"'), key...), `":[`...)
	for i := range places {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendPlace(dst, &places[i])
	}
	dst = append(dst, ']')
	if key != "Symbol" {
		dst = appendModule(append(dst, ','), r)
	}
	return end(dst, r)
}

// appendPlace appends a function.
func appendPlace(dst []byte, p *place) []byte {
	dst = strconv.AppendInt(append(dst, `{"Column":`...), int64(p.column), 10)
	dst = strconv.AppendUint(append(dst, `,"Discriminator":`...), uint64(p.discriminator), 10)
	dst = appendString(append(dst, `,"FileName":`...), p.file)
	dst = appendString(append(dst, `,"FunctionName":`...), p.function)
	dst = strconv.AppendInt(append(dst, `,"Line":`...), int64(p.line), 10)
	if len(p.source) > 0 {
		dst = appendString(append(dst, `,"Source":`...), string(p.source))
	}
	dst = append(dst, `,"StartAddress":`...)
	if p.started {
		dst = appendHex(dst, p.start)
	} else {
		dst = append(dst, `""`...)
	}
	dst = appendString(append(dst, `,"StartFileName":`...), p.startFile)
	return append(strconv.AppendInt(append(dst, `,"StartLine":`...), int64(p.startLine), 10), '}')
}

// appendGlobal appends an answer that is a variable.
func appendGlobal(dst []byte, r *request, g global) []byte {
	dst = appendString(append(open(dst, r, ""), `"Data":{"Name":`...), g.name)
	dst = appendHex(append(dst, `,"Size":`...), g.size)
	dst = append(appendHex(append(dst, `,"Start":`...), g.start), "},"...)
	return end(appendModule(dst, r), r)
}

// appendFrame appends an answer that is a list of variables.
func appendFrame(dst []byte, r *request, all []symsrc.Local) []byte {
	dst = append(open(dst, r, ""), `"Frame":[`...)
	for i := range all {
		l := &all[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"DeclFile":`...), l.File)
		dst = strconv.AppendInt(append(dst, `,"DeclLine":`...), int64(l.Line), 10)
		if l.Known&symsrc.LocalOffset != 0 {
			dst = strconv.AppendInt(append(dst, `,"FrameOffset":`...), l.Offset, 10)
		}
		dst = appendString(append(dst, `,"FunctionName":`...), l.Func)
		dst = appendString(append(dst, `,"Name":`...), l.Name)
		dst = appendKnown(append(dst, `,"Size":`...), l, symsrc.LocalSize, l.Size)
		dst = append(appendKnown(append(dst, `,"TagOffset":`...), l, symsrc.LocalTag, l.Tag), '}')
	}
	return end(appendModule(append(dst, "],"...), r), r)
}

// appendKnown appends a number, or an empty text if it is not known.
func appendKnown(dst []byte, l *symsrc.Local, bit symsrc.LocalFields, v uint64) []byte {
	if l.Known&bit == 0 {
		return append(dst, `""`...)
	}
	return appendHex(dst, v)
}

// appendHex appends a number as a text such as "0x1f".
func appendHex(dst []byte, v uint64) []byte {
	return append(strconv.AppendUint(append(dst, `"0x`...), v, 16), '"')
}

// appendString appends a text with llvm's escapes. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c < ' ':
			const digits = "0123456789abcdef"
			dst = append(dst, `\u00`...)
			dst = append(dst, digits[c>>4], digits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}
