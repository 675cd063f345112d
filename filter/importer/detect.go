package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
)

// Kinds are those of inputs, as Options.Kind has them.
var Kinds = []string{"scaler", "perflow", "chopstix"}

// kinds makes the reader of an input whose kind is known.
var kinds = map[string]func(path string) (reader, error){
	"scaler":   newScaler,
	"perflow":  newPerFlow,
	"chopstix": newChopStiX,
}

// headSize is how much of a file is read to find out what it is.
const headSize = 1 << 16

// Detect finds out by its content what an input is: a Scaler trace directory (or one thread's file of it), PerFlow's files or
// a directory of them, a ChopStiX database or a directory with one.
func Detect(path string, o Options) (Importer, error) {
	kind := o.Kind
	if kind == "" {
		var err error
		if kind, err = kindOf(path); err != nil {
			return nil, err
		}
	}
	newReader := kinds[kind]
	if newReader == nil {
		return nil, &symsrc.OptionError{Option: "importer.Kind", Value: kind, Err: errors.New("want " + strings.Join(Kinds, ", "))}
	}
	k, err := newReader(path)
	if err != nil {
		return nil, err
	}
	if o.By != ByNothing && o.Offsets != NoOffsets {
		return nil, &symsrc.OptionError{Option: "importer.Offsets", Err: errors.New("samples are counted, which have no lines with offsets")}
	}
	return &input{path, o, k}, nil
}

func kindOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return kindOfFile(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	found := ""
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		switch kind, _ := kindOfFile(filepath.Join(path, e.Name())); {
		case kind == "scaler":
			return kind, nil
		case kind == "chopstix", found == "": // it may have copies of maps beside it
			found = kind
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s: no file of Scaler, PerFlow or ChopStiX in it", path)
	}
	return found, nil
}

func kindOfFile(path string) (string, error) {
	head, err := readHead(path)
	name := filepath.Base(path)
	switch {
	case err != nil:
		return "", err
	case bytes.HasPrefix(head, sqliteMagic):
		return "chopstix", nil
	case isThreadFile(name), isSymbolFile(name) && bytes.Contains(head, []byte(`"funcNames"`)):
		return "scaler", nil
	}
	switch kind, err := perFlowFile(path, false); {
	case err != nil:
		return "", err
	case kind != notPerFlow:
		return "perflow", nil
	}
	return "", &symsrc.AvoidableError{Option: "importer.Kind", Err: fmt.Errorf("%s: not a file of Scaler, PerFlow or ChopStiX", path)}
}

// readHead returns the first bytes of a regular file.
func readHead(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return head[:n], nil
}

// openRegular opens a file for reading; anything else could block.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", path)
	}
	return os.Open(path)
}

// threadOf returns the ID in the name of a Scaler thread file, `thread_0x7f01.bin`; the name of any other one.
func threadOf(name string) (id string) {
	return strings.TrimPrefix(strings.TrimSuffix(name, ".bin"), "thread_")
}

func isThreadFile(name string) bool {
	return strings.HasPrefix(name, "thread_") && strings.HasSuffix(name, ".bin")
}

func isSymbolFile(name string) bool {
	return strings.HasPrefix(name, "symbol") && strings.HasSuffix(name, ".json")
}
