package filter

import (
	"errors"
	"flag"
	"fmt"
)

// Register adds the flags of llvm-symbolizer, by their names there, that set o. Of two flags that contradict each other
// the last one counts.
func (o *LLVMOptions) Register(fs *flag.FlagSet) {
	set := func(name, usage string, how func()) {
		fs.Var(boolValue(func(value string) error {
			if value != "true" {
				return errors.New("takes no value")
			}
			how()
			return nil
		}), name, usage)
	}
	nothing := func() {}
	const demangle = "demangle function names (as is the default)"
	set("demangle", demangle, func() { o.NoDemangle = false })
	set("d", demangle, func() { o.NoDemangle = false }) // as QSS has it
	set("no-demangle", "keep the names of functions as their files have them", func() { o.NoDemangle = true })
	fs.Var(boolValue(o.setFunctions), "functions", "`KIND` of function names: linkage (the default), short (without namespace and parameters), none")
	set("basenames", "source files without their directories", func() { o.Basenames, o.RelativeNames = true, false })
	set("relativenames", "source files without the compilation directory", func() { o.Basenames, o.RelativeNames = false, true })
	set("skip-line-zero", "the line of the code before, for code that has none, in place of 0", func() { o.SkipLineZero = true })
	set("inlines", "no effect: inlined functions are always shown", nothing)
	set("no-inlines", "no effect, as in llvm's filter", nothing)
}

// boolValue is a flag that may stand without a value.
type boolValue func(value string) error

func (boolValue) String() string           { return "" }
func (b boolValue) Set(value string) error { return b(value) }
func (boolValue) IsBoolFlag() bool         { return true }

func (o *LLVMOptions) setFunctions(value string) error {
	switch value {
	case "linkage", "true":
		o.Functions = LinkageNames
	case "short":
		o.Functions = ShortNames
	case "none":
		o.Functions = NoNames
	default:
		return fmt.Errorf("want linkage, short, none, not %q", value)
	}
	return nil
}
