package sourcemap

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

var errObject = errors.New("not an object of JSON")

// span is a part of a text.
type span struct{ at, end int }

// of returns the part of the text.
func (s span) of(text []byte) []byte { return text[s.at:s.end] }

// list are the places of the values of a list, or of null.
type list struct {
	values []span
	// is is set if it is a list, or null.
	is bool
}

// fieldsOf returns the fields of the object of JSON at a place of a text, with the places of their values. Values are not looked into: most
// of a map is one string. Of fields of the same name the last one counts, as in JavaScript. Of the lists that are asked for, the values are
// found on the way.
func fieldsOf(text []byte, at span, lists map[string]*list) (map[string]span, error) {
	fields := map[string]span{}
	text = text[:at.end]
	i := blanks(text, at.at)
	if i >= len(text) || text[i] != '{' {
		return nil, errObject
	}
	if i = blanks(text, i+1); i < len(text) && text[i] == '}' {
		return fields, nil
	}
	for {
		end := stringEnd(text, i)
		if end < 0 {
			return nil, errObject
		}
		var name string
		if err := json.Unmarshal(text[i:end], &name); err != nil {
			return nil, err
		}
		if i = blanks(text, end); i >= len(text) || text[i] != ':' {
			return nil, errObject
		}
		i = blanks(text, i+1)
		if of := lists[name]; of != nil {
			*of = list{}
			if end, of.is = listEnd(text, i, of.add); !of.is {
				end = valueEnd(text, i)
				of.is = end > i && string(bytes.TrimRight(text[i:end], " \n\t\r")) == "null"
			}
		} else {
			end = valueEnd(text, i)
		}
		if end <= i {
			return nil, errObject
		}
		fields[name] = span{i, end}
		if i = blanks(text, end); i >= len(text) {
			return nil, errObject
		}
		switch text[i] {
		case ',':
			i = blanks(text, i+1)
		case '}':
			if blanks(text, i+1) < len(text) {
				return nil, errObject
			}
			return fields, nil
		default:
			return nil, errObject
		}
	}
}

// maxValues bounds the values of a list.
const maxValues = 1 << 22

// add adds a value, and reports whether there may be more.
func (l *list) add(value span) bool {
	l.values = append(l.values, value)
	return len(l.values) < maxValues
}

// all reports whether all values begin with one of some bytes.
func (l *list) all(text []byte, begins string) bool {
	for _, v := range l.values {
		if strings.IndexByte(begins, text[v.at]) < 0 {
			return false
		}
	}
	return l.is
}

// eachOf calls f for each value of the list at a place of a text, until it returns false, and reports whether that is a list and f has always
// returned true. Values are not looked into.
func eachOf(text []byte, at span, f func(value span) bool) bool {
	end, is := listEnd(text[:at.end], at.at, f)
	return is && blanks(text[:at.end], end) == at.end
}

// listEnd returns the offset after the list at text[i:], of which f is called for each value until it returns false. is is false if that has
// happened, or there is no list.
func listEnd(text []byte, i int, f func(value span) bool) (end int, is bool) {
	if i >= len(text) || text[i] != '[' {
		return i, false
	}
	if i = blanks(text, i+1); i < len(text) && text[i] == ']' {
		return i + 1, true
	}
	for {
		end := valueEnd(text, i)
		if end <= i || !f(span{i, end}) {
			return i, false
		}
		if i = blanks(text, end); i >= len(text) || text[i] != ',' && text[i] != ']' {
			return i, false
		}
		if text[i] == ']' {
			return i + 1, true
		}
		i = blanks(text, i+1)
	}
}

// blanks returns the offset after the blanks at text[i:].
func blanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the offset after the string at text[i:], −1 if there is none.
func stringEnd(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	for i++; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for k := i - 1; text[k] == '\\'; k-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// valueEnd returns the offset after the value at text[i:], −1 if it has no end.
func valueEnd(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			if i = stringEnd(text, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}
