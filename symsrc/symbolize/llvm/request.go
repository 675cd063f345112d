package llvm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"qss-filter/symsrc"
)

// request is what a line asks for.
type request struct {
	command   command
	module    string // a file, or a build ID in hexadecimal digits
	id        symsrc.BuildID
	symbol    string // the name that the address counts from, or ""
	addr      uint64
	addressed bool // the answer may have the address
}

// command is the kind of a request.
type command uint8

const (
	codeRequest command = iota
	dataRequest
	frameRequest
)

// delimiters are between the words of a request.
const delimiters = " \n\r"

// clean returns the text of a line, up to a NUL, and without what llvm takes for ends of lines.
func clean(line []byte) string {
	if i := bytes.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	if bytes.IndexByte(line, '\r') < 0 {
		return string(line)
	}
	return strings.ReplaceAll(string(line), "\r", "")
}

// requestError is the error of a text that is no request.
type requestError struct {
	text string
	err  error
}

func (e *requestError) Error() string { return fmt.Sprintf("'%s': %v", e.text, e.err) }

// Unwrap returns the reason.
func (e *requestError) Unwrap() error { return e.err }

// Why a text is no request, in the words of llvm.
var (
	errDuplicate  = errors.New("duplicate input file specification prefix")
	errNoFile     = errors.New("must be followed by an input file")
	errNoHash     = errors.New("must be followed by a hash")
	errSpecified  = errors.New("input file has already been specified")
	errQuotes     = errors.New("unbalanced quotes in input file name")
	errBuildID    = errors.New("wrong format of build-id")
	errNoModule   = errors.New("no input filename has been specified")
	errNoOffset   = errors.New("no module offset has been specified")
	errNotANumber = errors.New("expected a number as module offset")
)

// parse reads a request. After an error r has what was read before.
func (o *Options) parse(text string, r *request) error {
	rest := text
	r.module, r.id = o.Object, o.BuildID
	for i, prefix := range [...]string{codeRequest: "CODE ", dataRequest: "DATA ", frameRequest: "FRAME "} {
		if after, ok := strings.CutPrefix(rest, prefix); ok {
			r.command, rest = command(i), after
			break
		}
	}
	rest, err := o.file(rest, r)
	if err == nil {
		err = o.address(strings.TrimSpace(rest), r)
	}
	if err != nil {
		return &requestError{text, err}
	}
	if r.id != "" {
		r.module = strings.ToUpper(r.id.String())
	}
	return nil
}

// file reads the file of a request and returns the text after it.
func (o *Options) file(text string, r *request) (rest string, err error) {
	named, identified := false, false
	for rest = text; rest != ""; {
		rest = strings.TrimLeft(rest, " \t\n\v\f\r")
		after, isFile := strings.CutPrefix(rest, "FILE:")
		if !isFile {
			var isID bool
			if after, isID = strings.CutPrefix(rest, "BUILDID:"); !isID {
				break
			}
		}
		if named || identified {
			return rest, errDuplicate
		}
		named, identified, rest = isFile, !isFile, after
	}
	given := o.Object != "" || o.BuildID != ""
	if !named && !identified {
		if given {
			return rest, nil
		}
		if r.module, rest = word(rest); r.module == "" {
			return rest, errNoModule
		}
		return rest, nil
	}
	rest = strings.TrimLeft(rest, " \t\n\v\f\r")
	switch {
	case rest == "" && named:
		return rest, errNoFile
	case rest == "":
		return rest, errNoHash
	case given:
		return rest, errSpecified
	}
	name, rest := word(rest)
	if name == "" {
		return rest, errQuotes
	}
	if named {
		r.module = name
		return rest, nil
	}
	id, ok := symsrc.ParseBuildID(name)
	if !ok {
		return rest, errBuildID
	}
	r.id = id
	return rest, nil
}

// word reads a word, possibly in quotes, and returns the text after it. The word is "" if the quotes have no end.
func word(text string) (name, rest string) {
	text = strings.TrimLeft(text, delimiters)
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		end := strings.IndexByte(text[1:], text[0])
		if end < 0 {
			return "", text
		}
		return text[1 : 1+end], text[end+2:]
	}
	if end := strings.IndexAny(text, delimiters); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// address reads an address: a number, or a symbol with or without a number after a plus sign. What comes after a space is left out.
func (o *Options) address(text string, r *request) error {
	if text == "" {
		return errNoOffset
	}
	if end := strings.IndexAny(text, delimiters); end >= 0 {
		text = text[:end]
	}
	digit := text[0] >= '0' && text[0] <= '9'
	base := 0
	if o.Hex {
		base = 16
		for _, prefix := range [...]string{"0x", "+0x"} {
			if len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
				text = text[len(prefix):]
				break
			}
		}
	}
	var ok bool
	if r.addr, ok = number(text, base); ok {
		r.addressed = true
		return nil
	}
	if digit || text == "" {
		return errNotANumber
	}
	r.symbol, r.addr = text, 0
	if plus := strings.LastIndexByte(text, '+'); plus > 0 {
		if v, ok := number(text[plus+1:], 0); ok {
			r.symbol, r.addr = text[:plus], v
		}
	}
	return nil
}

// Integer reads a number that is not negative as LLVM does: hexadecimal after 0x, binary after 0b, octal after 0 or 0o, otherwise decimal.
func Integer(text string) (v uint64, ok bool) { return number(text, 0) }

// MaxInteger is the largest number that Integer returns for flags that hold an int.
const MaxInteger = math.MaxInt32

// number is Integer in the given base, or 0 for that of the prefix.
func number(text string, base int) (v uint64, ok bool) {
	if base == 0 {
		base = 10
		if len(text) > 1 && text[0] == '0' {
			switch c := text[1]; {
			case c == 'x' || c == 'X':
				base, text = 16, text[2:]
			case c == 'b' || c == 'B':
				base, text = 2, text[2:]
			case c == 'o':
				base, text = 8, text[2:]
			case c >= '0' && c <= '9':
				base, text = 8, text[1:]
			}
		}
	}
	if text != "" && text[0] == '+' { // which package strconv accepts
		return 0, false
	}
	v, err := strconv.ParseUint(text, base, 64)
	return v, err == nil
}
