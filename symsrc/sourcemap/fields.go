package sourcemap

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errObject = errors.New("not an object of JSON")

// span is a part of a text.
type span struct{ at, end int }

// of returns the part of the text.
func (s span) of(text []byte) []byte { return text[s.at:s.end] }

// fieldsOf returns the fields of the object of JSON at a place of a text, with the places of their values. Values are not looked into: most
// of a map is one string. Of fields of the same name the last one counts, as in JavaScript.
func fieldsOf(text []byte, at span) (map[string]span, error) {
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
		if end = valueEnd(text, i); end <= i {
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

// eachOf calls f for each value of the list at a place of a text, until it returns false, and reports whether that is a list, or null, and
// f has always returned true. Values are not looked into.
func eachOf(text []byte, at span, f func(value span) bool) bool {
	text = bytes.TrimRight(text[:at.end], " \n\t\r")
	i := blanks(text, at.at)
	switch {
	case string(text[min(i, len(text)):]) == "null":
		return true
	case i >= len(text) || text[i] != '[':
		return false
	}
	if i = blanks(text, i+1); i < len(text) && text[i] == ']' {
		return i == len(text)-1
	}
	for {
		end := valueEnd(text, i)
		if end <= i || !f(span{i, end}) {
			return false
		}
		if i = blanks(text, end); i >= len(text) {
			return false
		}
		if text[i] == ']' {
			return i == len(text)-1
		}
		if text[i] != ',' {
			return false
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
