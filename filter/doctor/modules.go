package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"qss-filter/filter/match"
	"qss-filter/filter/record"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
)

// examined is a module with the result of the search for its files.
type examined struct {
	*module
	files *symsrc.Files
}

// examined searches for the files of a module: answers from the cache say nothing about them.
func (o *Options) examined(ctx context.Context, m *module) examined {
	files := m.files
	if o.Finder != nil && !m.java && !m.script && (m.named < m.frames || files == nil || len(files.Tried) == 0) {
		if found := o.Finder.Find(ctx, m.Module); found != nil {
			files = found
		}
	}
	if files == nil {
		files = &symsrc.Files{ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.UnknownError}
	}
	return examined{m, distinct(files)}
}

// distinct returns the result of a search with each place once: some are looked at for more than one reason.
func distinct(files *symsrc.Files) *symsrc.Files {
	type outcome struct{ place, lacked string }
	seen := map[outcome]bool{}
	once := *files
	once.Tried, once.Lacked = nil, nil
	for i, place := range files.Tried {
		if o := (outcome{place, lackedAt(files, i)}); !seen[o] {
			seen[o] = true
			once.Tried, once.Lacked = append(once.Tried, place), append(once.Lacked, o.lacked)
		}
	}
	return &once
}

// bad reports whether some frame has no name.
func (m *examined) bad() bool { return m.named < m.frames }

// title returns the module as the log names it.
func (m *module) title() string {
	text := m.Name
	if text == "" {
		text = "(unnamed module)"
	}
	if m.Member != "" {
		text += "!" + m.Member
	}
	if m.java || m.script {
		return text
	}
	if m.BuildID == "" || m.BuildID == symsrc.MachO {
		return text + " (no build ID in the log)"
	}
	return text + " (BuildId: " + m.BuildID.Text() + ")"
}

// asked returns the file that has no symbol for an address: the program itself, if it was found.
func (m *examined) asked() string {
	if f := m.files; f.Elf != "" && (f.ElfStatus == symsrc.OK || f.ElfStatus == symsrc.Incomplete) {
		return f.Elf
	}
	return m.files.Debug
}

// used names the files that the names are from; "" for none.
func (m *examined) used() string {
	elf, debug := m.files.ElfRange.Of(m.files.Elf), m.files.DebugRange.Of(m.files.Debug)
	switch {
	case m.named > 0 && len(m.files.Symbols) > 0:
		return strings.Join(m.files.Symbols, ", ")
	case !m.files.Usable():
		return ""
	case debug == "" || m.java || m.files.DebugStatus != symsrc.OK && elf != "":
		return elf
	case elf == "" || m.files.ElfStatus != symsrc.OK && m.files.ElfStatus != symsrc.Incomplete:
		return debug
	}
	return elf + ", debug information from " + debug
}

// wrongStart returns what a file is that is not text, by its first bytes; todo is what to do about it.
func wrongStart(head []byte) (what, todo string) {
	for _, m := range [...]struct{ magic, what, todo string }{
		{"\x7fELF", "an ELF file, not a log", "qss-filter symbolize %s 0xADDRESS ..., or qss-filter where %s"},
		{"\xcf\xfa\xed\xfe", "a Mach-O file, not a log", "qss-filter symbolize %s 0xADDRESS ..., or qss-filter where %s"},
		{"\x1f\x8b", "compressed (gzip)", "gzip -dc %s | qss-filter"},
		{"\xfd7zXZ\x00", "compressed (xz)", "xz -dc %s | qss-filter"},
		{"\x28\xb5\x2f\xfd", "compressed (zstd)", "zstd -dc %s | qss-filter"},
		{"\x04\x22\x4d\x18", "compressed (lz4)", "lz4 -dc %s | qss-filter"},
		{"BZh", "compressed (bzip2)", "bzip2 -dc %s | qss-filter"},
		{"PK\x03\x04", "a zip archive", "unzip -p %s | qss-filter"},
		{"\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 %s | qss-filter"},
		{"\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 %s | qss-filter"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.what, m.todo
		}
	}
	if len(head) >= 16 && bytes.Count(head, []byte{0}) > len(head)/3 {
		return "full of NUL bytes, as UTF-16 text is", "iconv -f UTF-16LE -t UTF-8 %s | qss-filter"
	}
	return "", ""
}

// NotText returns an error for a file that begins so and is not text, with what reads it. It returns nil for text, also in UTF-16.
func NotText(head []byte, name string) error {
	if !stream.IsBinary(head) {
		return nil
	}
	return cmp.Or(OtherFile(head, name), errors.New("the input is not text"))
}

// OtherFile returns an error for a file that begins as one of a known format that is not text, with what reads it, and otherwise nil.
func OtherFile(head []byte, name string) error {
	what, todo := wrongStart(head)
	if what == "" || strings.HasPrefix(todo, "iconv") {
		return nil
	}
	return fmt.Errorf("the input is %s: %s", what, strings.ReplaceAll(todo, "%s", Quoted(name)))
}

// obfuscatedJava matches a place in Java whose names say nothing: R8 and ProGuard put another word in place of the file's name (an ID of
// the mapping, `SourceFile`, or nothing, with a line number all the same), or leave class and method a few small letters.
const obfuscatedJava = `[\w.$]+\((r8-map-id-\w+|SourceFile|PG|Unknown Source):\d+\)|([\w$]+\.)*[a-z]\w{0,2}\.[a-z]\w?\([^()]*\)`

// near collects lines that look like frames but have no known format.
type near struct {
	found tally
}

// kind is a form of such lines.
type kind struct {
	// what describes it, and todo is what to do about it, "" for nothing. mapFlag stands for a command.
	what, todo string
	// mark and also are texts that every such line has; the first is the rarer one.
	mark, also string
	shape      func() *regexp.Regexp
	// framed is set if the line may still have a frame, one that does not say enough for a query.
	framed bool
}

// pattern returns a function that compiles the pattern when it is first called, so that only this command pays for it.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// shapes are the kinds of such lines; the first that fits counts.
var shapes = [...]kind{
	{"HTML in place of the brackets of markup", "get the log as text: a web page has `&lt;` and `&#123;` for `<` and `{`",
		"&", ";", pattern(`(&lt;){3}|(&#(123|x7[bB]);){3}|(&lbrace;){3}`), false},
	{"markup that is cut off before its end", "a logger or a terminal has cut the line: have it write longer ones",
		"{{{", "", pattern(`\{\{\{[a-z]+(:[^{}]*)?$`), false},
	{"markup whose end is on another line", "a logger has split the line: have it write longer ones",
		"}}}", ":", pattern(`^[^{]*:[^{]*\}\}\}`), false},
	{"a frame that is cut off before its closing parenthesis", "a logger has cut the line: have it write longer ones",
		"#", "(", pattern(`#\d+ +(0x|pc )[0-9a-fA-F]+ .*\([^()]*$`), true},
	{"a frame whose emitter does not know the module", "the address is in code that no file has: generated at run time, or a wild jump",
		"#", "(", pattern(`#\d+ +0x[0-9a-fA-F]+ +\(<unknown module>\)`), true},
	{"a frame of Windows: PE files are not read", "use the tools of that system: llvm-symbolizer, WinDbg",
		"+0x", "", pattern(`(?i)(\.(dll|exe|sys)|[0-9a-z_]![?0-9a-z_:~<>]+)\+0x[0-9a-f]+`), false},
	{"a frame of WebAssembly: such files are not read", "use llvm-symbolizer --obj=FILE.wasm",
		"wasm", "", pattern(`wasm-function\[\d+\]|\.wasm:0x`), false},
	{"a frame of Java or Kotlin whose names are obfuscated (R8, ProGuard)", mapFlag,
		"at ", "(", pattern(`\bat (` + obfuscatedJava + `)`), false},
	{"a frame of Java or Kotlin, which names its source already", "",
		"at ", "(", pattern(`\bat [\w.$/<>]+\((\w+\.(java|kt|scala|groovy):\d+|Native Method|Unknown Source)\)`), false},
	{"a frame of Go, which names its source already", "",
		" +0x", ":", pattern(`^\s+\S+\.(go|s):\d+ \+0x[0-9a-f]+`), false},
	{"a frame of JavaScript that is minified, without a source map", "name the directory with the .js.map file of the build that ran: --symbols DIR",
		"at ", ":", pattern(`\bat .*(\.min\.[cm]?js:\d+:\d+|\.[cm]?js:\d+:\d{4,}|bundle([?/]\S*)?:\d+:\d+|\.hbc:\d+:\d+)\)?$`), true},
	{"a frame of React Native, without the source map of its bundle", "name the directory with the .bundle.map file of the build that ran: --symbols DIR",
		"@", ":", pattern(`\S@(\S*bundle\S*:)?\d+:\d+$`), true},
	{"a frame of JavaScript, which names its source already", "",
		"at ", ":", pattern(`\bat .*\.[cm]?[jt]sx?:\d+:\d+\)?$`), true},
	{"a frame of Python, which names its source already", "",
		"File ", " line ", pattern(`^\s*File "[^"]+", line \d+`), false},
	{"a frame with an offset, in an unknown format", "the filter wants the module's path and the offset in it: `#0 0x7f… (/usr/lib/liba.so+0x1130)`",
		"+0x", "", pattern(`[\w)\]>]\+0x[0-9a-fA-F]+`), false},
	{"an absolute address, in an unknown format", "such an address needs a format that names it, and the mappings of the process",
		"0x", "", pattern(`(?i)\b(pc|ip|rip|lr|backtrace|frame|return address)\b.{0,8}\b0x[0-9a-f]{6,16}`), false},
}

// marked finds the marks of the kinds in a line. The bit after theirs is that of headlines, whose address comes again in the frames.
var marked = sync.OnceValue(func() *match.Lines {
	var marks [][]string
	for _, k := range shapes {
		marks = append(marks, []string{k.mark})
	}
	return match.NewLines(maxNear, append(marks, []string{"Sanitizer"})...)
})

// maxNear is the length of the longest line that is looked at, in bytes.
const maxNear = 64 << 10

var escapes = pattern(`\x1b\[[0-9;:]*[A-Za-z]`)

// look adds a line without a named frame; framed is set if it has frames that do not say enough for a query.
func (n *near) look(l *record.Line, framed bool) {
	text := l.Text
	if len(text) > maxNear {
		return
	}
	if bytes.IndexByte(text, 0x1b) >= 0 {
		text = escapes().ReplaceAll(text, nil)
	}
	marks := marked().Look(text)
	if marks == 0 || marks.Any(1<<len(shapes)) {
		return
	}
	for i := range shapes {
		k := &shapes[i]
		if marks.Any(1<<i) && (k.framed || !framed) && bytes.Contains(text, []byte(k.also)) && k.shape().Match(text) {
			n.found.count(k.what, l.Number, text)
			return
		}
	}
}

// nearly is a kind of line that the log has.
type nearly struct {
	*kind
	*counted
}

// kinds returns them, in the order of the table.
func (n *near) kinds() (list []nearly) {
	for i := range shapes {
		if c := n.found.by[shapes[i].what]; c != nil {
			list = append(list, nearly{&shapes[i], c})
		}
	}
	return list
}

// maxExcerpt is how many bytes of a line are shown.
const maxExcerpt = 100

// excerpt returns a piece of the log that is safe for a terminal.
func excerpt(text []byte) string {
	if len(text) > maxExcerpt {
		return strings.TrimSpace(shown(string(text[:maxExcerpt]))) + "…"
	}
	return strings.TrimSpace(shown(string(text)))
}

// shown returns a text without control characters and changes of the writing direction, which a terminal would obey.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return '·'
		}
		return r
	}, strings.ToValidUTF8(text, "·"))
}
