package importer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// jsonReader reads a JSON document in one pass, so that of a large one only what is wanted is kept. After the first error it
// reads nothing more.
type jsonReader struct {
	path string
	in   *json.Decoder
	next json.Token // that was looked at and not taken
	err  error
}

const (
	// maxJSON is the size of the largest document that is read.
	maxJSON = 1 << 30
	// maxNesting is how deep a value that is passed over may nest: the decoder keeps something of each level.
	maxNesting = 1000
)

// readJSON reads a document. What read got before the damage, if there is any, is good.
func readJSON(path string, read func(*jsonReader)) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := &jsonReader{path: path, in: json.NewDecoder(io.LimitReader(bufio.NewReaderSize(f, 1<<16), maxJSON))}
	read(r)
	if r.err == nil {
		if _, err := r.in.Token(); !errors.Is(err, io.EOF) {
			r.fail("more text behind the document")
		}
	}
	return r.err
}

// fail says what is wrong where the reader stands.
func (r *jsonReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = &DamageError{r.path, r.in.InputOffset(), fmt.Sprintf(format, args...)}
	}
}

// take returns the next token, nil where the value is null or cannot be read.
func (r *jsonReader) take() json.Token {
	if t := r.next; t != nil {
		r.next = nil
		return t
	}
	if r.err != nil {
		return nil
	}
	t, err := r.in.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the document is cut off")
		}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			r.err = &DamageError{r.path, syntax.Offset, err.Error()}
		}
		r.fail("%v", err)
	}
	return t
}

// is reports whether the next value begins with a bracket of a kind.
func (r *jsonReader) is(bracket json.Delim) bool {
	r.next = r.take()
	return r.next == bracket
}

// object visits the keys of an object, or of null, whose values each has to take.
func (r *jsonReader) object(visit func(key string)) {
	r.within('{', func() {
		if key, ok := r.take().(string); ok {
			visit(key)
		}
	})
}

// list visits the values of a list, or of null, each of which it has to take.
func (r *jsonReader) list(visit func()) { r.within('[', visit) }

func (r *jsonReader) within(bracket json.Delim, visit func()) {
	switch t := r.take(); t {
	case bracket:
	case nil:
		return
	default:
		r.fail("%v, and not %v", t, bracket)
		return
	}
	for r.err == nil && r.in.More() {
		visit()
	}
	r.take()
}

// text returns a string that is no longer than a name may be, "" for null.
func (r *jsonReader) text() string {
	switch t := r.take().(type) {
	case string:
		if len(t) <= maxName {
			return t
		}
	case nil:
	default:
		r.fail("%v, and not a string", t)
	}
	return ""
}

// number returns an integer.
func (r *jsonReader) number() int64 {
	t := r.take()
	f, ok := t.(float64)
	if !ok || f != float64(int64(f)) {
		r.fail("%v, and not a whole number", t)
	}
	return int64(f)
}

// skip passes a value over.
func (r *jsonReader) skip() {
	for depth := 0; r.err == nil; {
		switch r.take() {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxNesting {
				r.fail("values nest deeper than %d levels", maxNesting)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth <= 0 {
			return
		}
	}
}
