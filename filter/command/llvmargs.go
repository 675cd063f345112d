package command

import (
	"io"
	"os"
	"slices"
	"strings"
)

// llvmAliases are llvm-symbolizer's other names of flags that this program has, too.
var llvmAliases = map[string]string{"-C": "--demangle", "-demangle=true": "--demangle", "-demangle=false": "--no-demangle", "-f": "--functions",
	"-s": "--basenames", "-e": "--obj", "--exe": "--obj", "--debuginfod": "--debuginfod=on", "--no-debuginfod": "--debuginfod=off", "-i": "--inlines", "--inlining": "--inlines", "--inlining=true": "--inlines",
	"--inlining=false": "--no-inlines"}

// longForms returns a command line with -llvm and -gnu as --llvm and --gnu, since the parser reads single letters after one
// hyphen. Arguments after -- belong to another command.
func longForms(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		switch arg {
		case "--":
			return out
		case "-llvm", "-gnu":
			out[i] = "-" + arg
		}
	}
	return out
}

// llvmIdle are flags of llvm-symbolizer that do not affect its filter, llvmIdleValues those of them that have a value.
var (
	llvmIdle = []string{"-a", "--addresses", "--print-address", "-p", "--pretty-print", "--relative-address", "--untag-addresses",
		"--no-untag-addresses", "--verbose", "--disable-gsym", "--dia"}
	llvmIdleValues = []string{"--adjust-vma", "--build-id", "--cache-size", "--default-arch", "--fallback-debug-path", "--output-style",
		"--print-source-context-lines", "--gsym-file-directory", "--dsym-hint"}
)

// functionKinds are the values of --functions.
var functionKinds = []string{"linkage", "short", "none"}

// llvmArgs converts a command line of llvm-symbolizer to flags of this program, without those that do not affect its filter.
func llvmArgs(args []string) (out []string) {
	args = apart(args)
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, value, valued := strings.Cut(arg, "=")
		long := llvmAliases[arg]
		if long == "" && (name == "-f" || name == "-e" || name == "--exe") {
			long = llvmAliases[name] + "=" + value
		}
		if long == "" && name == "--functions" {
			long = arg
		}
		if _, kind, valued := strings.Cut(long, "--functions="); valued && !slices.Contains(functionKinds, kind) && namedLLVM() {
			long = "--functions" // as in llvm
		}
		switch {
		case arg == "--":
			return append(out, args[i:]...)
		case long != "":
			out = append(out, long)
		case slices.Contains(llvmIdle, arg) || valued && slices.Contains(llvmIdleValues, name):
		case slices.Contains(llvmIdleValues, arg) && i+1 < len(args):
			i++
		default:
			out = append(out, arg)
		}
	}
	return out
}

// apart splits a group of letters such as -sCf into separate flags. After -e the rest is the value.
func apart(args []string) (out []string) {
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		letters, single := strings.CutPrefix(arg, "-")
		single = single && letters != ""
		var group []string
		for single && len(letters) > 0 {
			c := letters[:1]
			letters = letters[1:]
			if c == "e" && letters != "" || c == "f" && strings.HasPrefix(letters, "=") {
				c, letters = c+"="+strings.TrimPrefix(letters, "="), ""
			} else if !strings.Contains("aCefips", c) {
				single = false
			}
			group = append(group, "-"+c)
		}
		if !single {
			group = []string{arg}
		}
		out = append(out, group...)
	}
	return out
}

// asLLVM reports whether a command line asks for llvm's style.
func asLLVM(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	for i, arg := range args {
		if arg == "--filter-markup" || arg == "--style=llvm" || arg == "--style" && slices.Equal(args[i+1:min(i+2, len(args))], []string{"llvm"}) {
			return true
		}
	}
	return false
}

// Bounds of response files: how deep they may nest, and the size of one, in bytes.
const (
	responseDepth = 8
	responseLimit = 1 << 20
)

// responses replaces @FILE with the words of the file. If there is no such file, the argument stays, as in llvm.
func responses(args []string, depth int) (out []string) {
	for _, arg := range args {
		path, named := strings.CutPrefix(arg, "@")
		text, ok := "", false
		if named && depth < responseDepth {
			text, ok = response(path)
		}
		if !ok {
			out = append(out, arg)
			continue
		}
		out = append(out, responses(words(text), depth+1)...)
	}
	return out
}

// response reads a response file.
func response(path string) (text string, ok bool) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > responseLimit {
		return "", false
	}
	in, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer in.Close()
	all, err := io.ReadAll(io.LimitReader(in, responseLimit))
	return string(all), err == nil
}

// words splits a text at spaces as llvm does: spaces inside quotes are kept, and a backslash quotes the next character, also inside
// quotes.
func words(text string) (all []string) {
	var word []byte
	in, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			word, in = append(word, text[i]), true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, in = c, true
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if in {
				all = append(all, string(word))
			}
			word, in = word[:0], false
		default:
			word, in = append(word, c), true
		}
	}
	if in {
		all = append(all, string(word))
	}
	return all
}
