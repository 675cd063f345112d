package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"qss-filter/symsrc"
)

// scalerNames is what symbol.json says: the files by their IDs, and the functions of each.
type scalerNames struct {
	files map[int64]scalerFile
	// holders are the files that have a function of an ID; −1 where there are several.
	holders map[int64]int64
}

type scalerFile struct {
	name      string
	functions map[int64]string
}

// readScalerNames reads symbol.json, or a thread's own symbol_0x<ID>.json:
//
//	{"<fileID>":{"fileName":path,"funcNames":{"<funcID>":name,…}|null},…}
//
// A name may be an object that has it as one of its values, as later versions write it.
func readScalerNames(path string) (*scalerNames, error) {
	n := &scalerNames{files: map[int64]scalerFile{}, holders: map[int64]int64{}}
	text, err := os.ReadFile(path)
	if err != nil {
		return n, err
	}
	var files map[string]struct {
		FileName  string                     `json:"fileName"`
		FuncNames map[string]json.RawMessage `json:"funcNames"`
	}
	if err := json.Unmarshal(text, &files); err != nil {
		d := &DamageError{File: path, Problem: err.Error()}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			d.Offset = syntax.Offset
		} else if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			d.Offset = typ.Offset
		}
		return n, d
	}
	for id, f := range files {
		number, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			continue
		}
		functions := map[int64]string{}
		for id, raw := range f.FuncNames {
			if k, err := strconv.ParseInt(id, 10, 64); err == nil {
				functions[k] = functionName(raw)
			}
		}
		n.files[number] = scalerFile{f.FileName, functions}
		for k := range functions {
			if _, several := n.holders[k]; several {
				n.holders[k] = -1
			} else {
				n.holders[k] = number
			}
		}
	}
	return n, nil
}

func functionName(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var object map[string]any
	if json.Unmarshal(raw, &object) == nil {
		for _, key := range []string{"funcName", "name", "symbolName"} {
			if s, ok := object[key].(string); ok {
				return s
			}
		}
	}
	return ""
}

// function gives the name of a call's function as the file has it, "" where it is not known. The function's ID is one of
// the file that the call is to, or of that where it comes from: where the first has none of that ID, it is the one file
// that has.
func (n *scalerNames) function(file, function int64) string {
	if name, ok := n.files[file].functions[function]; ok {
		return name
	}
	if holder, ok := n.holders[function]; ok && holder >= 0 {
		return n.files[holder].functions[function]
	}
	return ""
}

// namesOf gives the names for one thread: its own file's, or the common ones.
func (s *scaler) namesOf(thread string) (*scalerNames, error) {
	own := filepath.Join(s.dir, "symbol_"+thread+".json")
	if _, err := os.Stat(own); err == nil {
		return readScalerNames(own)
	}
	if s.common == nil {
		s.common, s.commonErr = readScalerNames(filepath.Join(s.dir, "symbol.json"))
		return s.common, s.commonErr
	}
	return s.common, nil
}

// label is how a call is shown: a symbol element, which the filter demangles, and the file.
func (n *scalerNames) label(c *node) string {
	text := fmt.Sprintf("file#%d func#%d", c.file, c.function)
	if name := n.function(c.file, c.function); name != "" {
		text = "{{{symbol:" + plain(name) + "}}}"
	}
	switch path := n.files[c.file].name; {
	case path != "":
		return text + " (" + plain(path) + ")"
	case c.file >= 0 && text[0] == '{':
		return text + " (file#" + strconv.FormatInt(c.file, 10) + ")"
	}
	return text
}

// call is a call of a profile.
func (n *scalerNames) call(c *node) Call {
	name := n.function(c.file, c.function)
	f := symsrc.Frame{Func: symsrc.Demangle(name), Linkage: name}
	if name == "" {
		f.Func = fmt.Sprintf("file#%d func#%d", c.file, c.function)
	}
	return Call{Module: symsrc.Module{Name: n.files[c.file].name}, Frames: []symsrc.Frame{f}}
}
