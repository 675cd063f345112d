package command

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"qss-filter/filter/command/cli"
)

// tool is a program in whose place this one was started.
type tool uint8

const (
	noTool tool = iota
	llvmSymbolizer
	llvmAddr2line
	gnuAddr2line
	darwinAtos
)

// toolOf returns the tool of a program's name: atos, llvm-symbolizer, llvm-addr2line or addr2line, also with a cross prefix or a release.
func toolOf(program string) tool {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	switch {
	case name == "atos":
		return darwinAtos
	case strings.HasPrefix(name, "llvm-symbolizer"):
		return llvmSymbolizer
	case strings.Contains(name, "llvm-addr2line"):
		return llvmAddr2line
	case strings.HasSuffix(name, "addr2line") && !strings.HasPrefix(name, "eu-"): // that of elfutils has other flags
		return gnuAddr2line
	}
	return noTool
}

// runTool does what the tool does with the arguments in whose place this program was started. It returns false if there is none, or if
// another command does it.
func runTool(args []string) (status int, done bool) {
	if len(args) > 1 && args[0] == "cache" { // this program has started itself
		return 0, false
	}
	kind := toolOf(os.Args[0])
	if kind == noTool && len(args) > 1 && args[0] == "symbolize" {
		args = args[1:]
		kind = toolFor(args)
	}
	switch kind {
	case llvmSymbolizer, llvmAddr2line:
		return runLLVM(kind, args)
	case darwinAtos:
		return runAtos(args), true
	case gnuAddr2line:
		return runGNU(args, toolOf(os.Args[0]) == noTool), true
	}
	return 0, false
}

// toolFor returns the tool whose flags are in the arguments of symbolize: letters are those of addr2line. -s
// is --symbols of this program, unless other letters of addr2line and no directory of their name are after it.
func toolFor(args []string) tool {
	kind := noTool
	for _, arg := range args {
		switch {
		case arg == "--":
			return kind
		case arg == "-o", arg == "-arch":
			return darwinAtos
		case strings.HasPrefix(arg, "--output-style"):
			return llvmSymbolizer
		case len(arg) > 1 && arg[0] == '-' && strings.ContainsRune("aCefip", rune(arg[1])):
			kind = gnuAddr2line
		case len(arg) > 2 && strings.HasPrefix(arg, "-s") && strings.Trim(arg[2:], "aCefip") == "":
			if _, err := os.Stat(arg[2:]); err != nil {
				kind = gnuAddr2line
			}
		}
	}
	return kind
}

// toolUses returns, for each link to this program in PATH under a tool's name, how other programs are made to use it.
func toolUses() (lines []string) {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return nil
	}
	for _, tool := range [...]struct{ name, use string }{
		{"llvm-symbolizer", "sanitizers: export ASAN_SYMBOLIZER_PATH=%[1]s (TSAN_, MSAN_, UBSAN_, LSAN_ likewise); LLVM's crashes: LLVM_SYMBOLIZER_PATH=%[1]s"},
		{"addr2line", "perf: by PATH; pprof: export PPROF_TOOLS=addr2line:%[1]s; PyTorch: export TORCH_ADDR2LINE_BINARY=%[1]s"},
		{"atos", "scripts of Apple's tools: by PATH"},
	} {
		path, err := exec.LookPath(tool.name)
		if err != nil {
			continue
		}
		if to, err := filepath.EvalSymlinks(path); err == nil && to == self {
			lines = append(lines, fmt.Sprintf(tool.use, path))
		}
	}
	return lines
}

// toolFlag is a flag of a tool.
type toolFlag struct {
	names string // the letters and the words, separated by spaces
	value string // what the value is, in help; "" for none. With a leading ? it may be missing, and stands after = only.
	about string
	set   func(value string) error
}

// toolFlags are the flags of a tool.
type toolFlags struct {
	table     []toolFlag
	by        map[string]*toolFlag
	more      *flag.FlagSet // flags of this program, which are allowed, too
	shortened bool          // words may be cut off where only one of them begins so
}

func newToolFlags(table []toolFlag, more *flag.FlagSet) *toolFlags {
	f := &toolFlags{table: table, by: make(map[string]*toolFlag), more: more}
	for i := range table {
		for name := range strings.FieldsSeq(table[i].names) {
			f.by[name] = &table[i]
		}
	}
	return f
}

// flagError is the error of an argument that is no flag of the tool, or whose value is missing.
type flagError struct {
	arg     string
	letter  byte // of arg that is no flag, 0 for a word
	missing bool // the value, of the word or of the last letter
}

// Error returns it in the words of LLVM.
func (e *flagError) Error() string {
	if e.missing {
		return e.arg + ": missing argument"
	}
	return "unknown argument '" + e.arg + "'"
}

// parse sets the flags in args and returns the other arguments.
func (f *toolFlags) parse(args []string) (rest []string, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(rest, args[i+1:]...), nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		used, err := f.one(arg, args[i+1:])
		if err != nil {
			return nil, err
		}
		i += used
	}
	return rest, nil
}

// one sets the flag, or the letters, of one argument. used is how many of the next arguments were values.
func (f *toolFlags) one(arg string, next []string) (used int, err error) {
	name, value, valued := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
	if f.shortened && strings.HasPrefix(arg, "--") {
		name = f.whole(name)
	}
	if flag := f.by[name]; flag != nil && (len(name) > 1 || arg[1] != '-') {
		return f.put(arg, flag, value, valued, next)
	}
	if f.more != nil && len(name) > 1 {
		if flag := f.more.Lookup(name); flag != nil {
			return f.own(arg, flag, value, valued, next)
		}
	}
	if arg[1] == '-' {
		return 0, &flagError{arg: arg}
	}
	for letters := arg[1:]; letters != ""; {
		flag := f.by[letters[:1]]
		if flag == nil {
			return 0, &flagError{arg: arg, letter: letters[0]}
		}
		letters = letters[1:]
		if flag.value != "" && flag.value[0] != '?' || strings.HasPrefix(letters, "=") {
			return f.put(arg, flag, strings.TrimPrefix(letters, "="), letters != "", next)
		}
		if err := flag.set(""); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// whole returns the only flag that begins with word, or word.
func (f *toolFlags) whole(word string) string {
	found := word
	for name := range f.by {
		switch {
		case name == word:
			return word
		case len(name) == 1 || !strings.HasPrefix(name, word):
		case found != word && f.by[found] != f.by[name]:
			return word
		default:
			found = name
		}
	}
	return found
}

// put sets a flag, whose value may be the next argument.
func (f *toolFlags) put(arg string, flag *toolFlag, value string, valued bool, next []string) (used int, err error) {
	switch {
	case flag.value == "" && valued && value != "true":
		if no := f.by["no-"+strings.Fields(flag.names)[0]]; no != nil && value == "false" {
			return 0, no.set("")
		}
		return 0, &flagError{arg: arg}
	case flag.value == "" || flag.value[0] == '?' || valued:
		return 0, flag.set(value)
	case len(next) == 0:
		return 0, &flagError{arg: arg, missing: true}
	}
	return 1, flag.set(next[0])
}

// own sets a flag of this program.
func (f *toolFlags) own(arg string, flag *flag.Flag, value string, valued bool, next []string) (used int, err error) {
	if b, ok := flag.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() && !valued {
		value, valued = "true", true
	}
	if !valued {
		if len(next) == 0 {
			return 0, &flagError{arg: arg, missing: true}
		}
		used, value = 1, next[0]
	}
	if err := flag.Value.Set(value); err != nil {
		return 0, fmt.Errorf("%s: %w", arg, err)
	}
	return used, nil
}

// help returns the flags for --help.
func (f *toolFlags) help() string {
	var b strings.Builder
	for i := range f.table {
		t := &f.table[i]
		var names []string
		for name := range strings.FieldsSeq(t.names) {
			dashes := "--"
			if len(name) == 1 {
				dashes = "-"
			}
			if value := strings.TrimPrefix(t.value, "?"); value != "" && len(name) > 1 {
				name += "=<" + value + ">"
			}
			names = append(names, dashes+name)
		}
		fmt.Fprintf(&b, "  %-40s %s\n", strings.Join(names, " "), t.about)
	}
	return b.String()
}

// written writes output and returns the status.
func written(out []byte) (status int) {
	if _, err := os.Stdout.Write(out); err != nil {
		return unwritten(err)
	}
	return cli.OK
}
