package filter

import "flag"

// Format is what the command line says of the form of the output.
type Format struct {
	kind formatKind
	json JSONOptions
}

type formatKind uint8

const (
	asText formatKind = iota
	asJSON
)

// Register adds the flags that set x.
func (x *Format) Register(fs *flag.FlagSet) {
	Choice(fs, &x.kind, "format", "`FORM` of the output: text, or json: an object a line, as schema describes",
		"text", "json")
	fs.BoolVar(&x.json.FramesOnly, "frames-only", false, "leave lines out that hold nothing")
}

// Use puts the form into options.
func (x *Format) Use(o *Options) {
	if x.kind == asJSON {
		o.JSON = &x.json
	}
}
