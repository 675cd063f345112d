package parse

import (
	"bytes"

	"qss-filter/filter/frame"
	"qss-filter/filter/match"
	"qss-filter/filter/scan"
)

// Line breaks, of a log and inside a JSON string: a line with added text must stay one JSON object.
var (
	lineBreak    = []byte{'\n'}
	escapedBreak = []byte(`\n`)
)

// piece is a part of a JSON object that is treated as one line: that of a string, or an object that is a frame itself.
type piece struct {
	frame.Span
	object bool
	xml    XML
}

// object is the object of JSON that was read last. Those who look ahead of a line, and then the line itself, ask for the same.
type object struct {
	text        []byte
	all, narrow []piece
	search      *match.Scan // that narrow is for, nil if it is for none
}

// maxObject bounds, in bytes, an object that is kept from line to line.
const maxObject = 1 << 16

// read returns the pieces of a text, none if it is no object.
func (o *object) read(text []byte) []piece {
	if len(o.text) > 0 && bytes.Equal(text, o.text) {
		return o.all
	}
	pieces := jsonPieces(o.all[:0], text)
	if o.text, o.search = o.text[:0], nil; len(pieces) > 0 && len(text) <= maxObject {
		o.text, o.all = append(o.text, text...), pieces
	}
	return pieces
}

// jsonPieces appends the lines inside the strings of a JSON object or of an array of strings, and the objects in it that are frames. Strings
// are split at their escaped line breaks. It appends none for a text that is neither, nor the member of a report of Apple's with stacks in it.
func jsonPieces(pieces []piece, line []byte) []piece {
	begin := 0
	for begin < len(line) && isJSONSpace(line[begin]) {
		begin++
	}
	end := len(line)
	for end > begin && isJSONSpace(line[end-1]) {
		end--
	}
	if end-begin < 2 {
		return nil
	}
	next := begin
	isArray := line[begin] == '[' && line[end-1] == ']' // as print writes callStackSymbols of Swift
	if !HoldsStacks(line) {
		if !isArray && (line[begin] != '{' || line[end-1] != '}') {
			return nil
		}
		for next++; next < end && isJSONSpace(line[next]); {
			next++
		}
		if line[next] != '"' {
			return nil
		}
	}
	objects := match.Look(line).Any(frame.ObjectWords)
	type begun struct{ at, before int } // an object, and how many pieces are before it
	around := append(make([]begun, 0, maxAround), begun{begin, 0})
	for i := next; i < end; i++ {
		switch {
		case isArray && line[i] != '"' && line[i] != ',' && line[i] != ' ' && i != end-1:
			return nil
		case line[i] == '{':
			if len(around) == maxAround { // the outermost one is no frame
				around = around[:copy(around, around[1:])]
			}
			around = append(around, begun{i, len(pieces)})
			continue
		case line[i] == '}' && len(around) > 0:
			o := around[len(around)-1]
			if around = around[:len(around)-1]; objects && frame.IsObject(line[o.at:i+1]) {
				pieces = append(pieces[:o.before], piece{Span: frame.Span{Start: o.at, End: i + 1}, object: true})
			}
			continue
		case line[i] != '"':
			continue
		}
		start := i + 1
		for i = start; i < end && line[i] != '"'; i++ {
			if line[i] != '\\' {
				continue
			}
			if i+1 < end && line[i+1] == 'n' {
				pieces = append(pieces, piece{Span: frame.Span{Start: start, End: i}})
				start = i + 2
			}
			i++
		}
		if i >= end {
			return nil
		}
		if objects {
			if at, ok := frame.InObject(line[:end], start-1); ok { // the strings in it are no lines
				for n := len(pieces); n > 0 && pieces[n-1].Start > at.Start; n-- {
					pieces = pieces[:n-1]
				}
				pieces, i = append(pieces, piece{Span: at, object: true}), at.End-1
				continue
			}
		}
		pieces = append(pieces, piece{Span: frame.Span{Start: start, End: i}})
	}
	return pieces
}

// maxAround is how many objects around a place are told apart: a frame may hold the variables around its line.
const maxAround = 4

// stacksMember begins the line of a report in JSON (.ips) that has stacks as texts, each with escaped line breaks.
var stacksMember = []byte(`"asiBacktraces"`)

// HoldsStacks reports whether a line is that member.
func HoldsStacks(line []byte) bool { return bytes.HasPrefix(scan.TrimLeft(line), stacksMember) }

func isJSONSpace(c byte) bool { return c == ' ' || c == '\t' }

// EscapeText is ESC in a JSON string.
var EscapeText = []byte(`\u001b`)

// Outside returns a text without the escapes of a JSON string, if quoted is set.
func Outside(text []byte, quoted bool) []byte {
	if !quoted || bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	return scan.AppendUnescaped(make([]byte, 0, len(text)), text)
}
