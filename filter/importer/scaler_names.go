package importer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// scalerNames is the content of symbol.json: the files by their IDs, and the functions of each.
type scalerNames struct {
	files map[int64]scalerFile
	// kinds is the content of commonFuncId.json, nil if there is none.
	kinds scalerKinds
	// holders are the files that have a function of an ID, elsewhere the names on which those that fit a kind of node agree.
	// Both are filled when they are needed.
	holders   map[int64][]int64
	elsewhere map[ofKind]string
}

type scalerFile struct {
	name      string
	functions map[int64]string
}

// ofKind is the ID of a function, in any file, that nodes of a kind call.
type ofKind struct {
	function int64
	kind     byte
}

const (
	// maxNames bounds the memory for names, in bytes.
	maxNames = 128 << 20
	// maxName bounds the length of a name. Longer ones are ignored, since a name is repeated at each call.
	maxName = 1 << 16
)

// readScalerNames reads symbol.json, or a thread's own symbol_0x<ID>.json, up to the first damage:
//
//	{"<fileID>":{"fileName":path,"funcNames":{"<funcID>":name,…}|null},…}
//
// In later versions a name may be an object that has the name as one of its values.
func readScalerNames(path string, out *output) (*scalerNames, error) {
	n := &scalerNames{files: map[int64]scalerFile{}}
	room := maxNames
	err := readJSON(path, func(r *jsonReader) {
		r.object(func(id string) {
			file := scalerFile{functions: map[int64]string{}}
			r.object(func(key string) {
				switch key {
				case "fileName":
					file.name = r.text()
				case "funcNames":
					r.object(func(id string) {
						name := r.functionName()
						if k, err := strconv.ParseInt(id, 10, 64); err == nil && room > 0 {
							file.functions[k] = name
							room -= 64 + len(name)
						}
					})
				default:
					r.skip()
				}
			})
			if number, err := strconv.ParseInt(id, 10, 64); err == nil && room > 0 {
				n.files[number] = file
				room -= 128 + len(file.name)
			}
		})
	})
	if room <= 0 {
		out.note("%s: only its first %d MB of names are known", path, maxNames>>20)
	}
	return n, err
}

// functionName reads a name, or an object that contains it.
func (r *jsonReader) functionName() (name string) {
	if r.is('{') {
		r.object(func(key string) {
			switch {
			case name == "" && (key == "funcName" || key == "name" || key == "symbolName"):
				name = r.text()
			default:
				r.skip()
			}
		})
		return name
	}
	return r.text()
}

// scalerKinds is the content of commonFuncId.json: the functions of pthreads and semaphores of each file. All others are normal.
//
//	{"<fileID>":{"pthread":[ids]|null,"semaphore":[ids]|null}}
type scalerKinds map[int64]map[int64]byte

// readScalerKinds reads commonFuncId.json, up to the first damage.
func readScalerKinds(path string) (scalerKinds, error) {
	kinds := scalerKinds{}
	room := maxNames
	err := readJSON(path, func(r *jsonReader) {
		r.object(func(id string) {
			file := map[int64]byte{}
			r.object(func(key string) {
				kind := map[string]byte{"pthread": pthreadNode, "semaphore": semaphoreNode}[key]
				if kind == 0 {
					r.skip()
					return
				}
				r.list(func() {
					if room -= 32; room > 0 {
						file[r.number()] = kind
					} else {
						r.skip()
					}
				})
			})
			if number, err := strconv.ParseInt(id, 10, 64); err == nil && room > 0 {
				kinds[number] = file
				room -= 128
			}
		})
	})
	return kinds, err
}

// fits reports whether nodes of a kind may call a function of a file, as far as is known.
func (k scalerKinds) fits(file, function int64, kind byte) bool {
	functions, ok := k[file]
	return !ok || max(functions[function], normalNode) == kind
}

// function returns the name of a call's function as the file has it, "" if it is not known. The ID of the function is counted
// in the file of the callee or in that of the caller. If the file of the callee has no such ID, or one of another kind,
// the name is that of the other files that have one, if they agree.
func (n *scalerNames) function(c *node) string {
	if name, ok := n.files[c.file].functions[c.function]; ok && n.kinds.fits(c.file, c.function, c.kind) {
		return name
	}
	if n.holders == nil {
		n.holders, n.elsewhere = map[int64][]int64{}, map[ofKind]string{}
		for file := range n.files {
			for function := range n.files[file].functions {
				n.holders[function] = append(n.holders[function], file)
			}
		}
	}
	holders := n.holders[c.function]
	if len(holders) == 0 {
		return ""
	}
	key := ofKind{c.function, c.kind}
	name, ok := n.elsewhere[key]
	if !ok {
		name = n.agreed(holders, key)
		n.elsewhere[key] = name
	}
	return name
}

// agreed returns the name of a function in all files that fit, "" if they differ.
func (n *scalerNames) agreed(files []int64, f ofKind) (name string) {
	found := false
	for _, file := range files {
		switch its := n.files[file].functions[f.function]; {
		case !n.kinds.fits(file, f.function, f.kind), found && its == name:
		case found:
			return ""
		default:
			name, found = its, true
		}
	}
	return name
}

// namesOf returns the names for one thread: those of its own file, or the common ones.
func (s *scaler) namesOf(thread string, out *output) (*scalerNames, error) {
	own := filepath.Join(s.dir, "symbol_"+thread+".json")
	if _, err := os.Stat(own); err == nil {
		return readScalerNames(own, out)
	}
	if s.common != nil {
		return s.common, nil
	}
	var err, kindsErr error
	s.common, err = readScalerNames(filepath.Join(s.dir, "symbol.json"), out)
	s.common.kinds, kindsErr = readScalerKinds(filepath.Join(s.dir, "commonFuncId.json"))
	if errors.Is(kindsErr, fs.ErrNotExist) {
		kindsErr = nil
	}
	return s.common, errors.Join(err, kindsErr)
}

// numbers returns the name of a function without one: its kind and its IDs.
func (c *node) numbers() string {
	kind := map[byte]string{pthreadNode: "pthread ", semaphoreNode: "semaphore "}[c.kind]
	return fmt.Sprintf("%sfile#%d func#%d", kind, c.file, c.function)
}

// label returns the text of a call: a symbol element, which the filter demangles, and the file.
func (n *scalerNames) label(c *node) string {
	name, path := n.function(c), n.files[c.file].name
	text := c.numbers()
	if name != "" {
		text = "{{{symbol:" + plain(name) + "}}}"
	}
	switch {
	case path != "":
		return text + " (" + plain(path) + ")"
	case c.file >= 0 && name != "":
		return text + " (file#" + strconv.FormatInt(c.file, 10) + ")"
	}
	return text
}

// call returns the call for a profile.
func (n *scalerNames) call(c *node) Call {
	name := n.function(c)
	f := symsrc.Frame{Func: demangle.Demangle(name), Linkage: name}
	if name == "" {
		f.Func = c.numbers()
	}
	return Call{Module: symsrc.Module{Name: n.files[c.file].name}, Frames: []symsrc.Frame{f}}
}

// jsonReader reads a JSON document in one pass, without keeping all of it in memory. After the first error it
// reads nothing more.
type jsonReader struct {
	path string
	in   *json.Decoder
	next json.Token // looked at but not taken
	err  error
}

const (
	// maxJSON bounds the size of a document.
	maxJSON = 1 << 30
	// maxNesting bounds the nesting of a skipped value: the decoder needs memory for each level.
	maxNesting = 1000
)

// readJSON reads a document. What read received before any damage is valid.
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
			r.fail("more text after the document")
		}
	}
	return r.err
}

// fail records an error at the current position.
func (r *jsonReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = &DamageError{r.path, r.in.InputOffset(), fmt.Sprintf(format, args...)}
	}
}

// take returns the next token, nil if the value is null or cannot be read.
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

// is reports whether the next value begins with that bracket.
func (r *jsonReader) is(bracket json.Delim) bool {
	r.next = r.take()
	return r.next == bracket
}

// object visits the keys of an object, or of null; visit must read the value.
func (r *jsonReader) object(visit func(key string)) {
	r.within('{', func() {
		if key, ok := r.take().(string); ok {
			visit(key)
		}
	})
}

// list visits the values of a list, or of null; visit must read the value.
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

// text returns a string, no longer than maxName, "" for null.
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

// skip skips a value.
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
