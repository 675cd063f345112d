package resolve

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/sourcemap"
)

// byPath reports whether the files of an answer were found by their path or name alone.
func (a *Answer) byPath() bool { return a.Module != nil && a.Module.byPath() }

// Files returns the module's files as they were found when the query was asked. It is nil if nothing was searched for.
func (a *Answer) Files() *symsrc.Files {
	if a.files == nil && a.Module != nil {
		return a.Module.Files
	}
	return a.files
}

// Unverified reports whether nothing but the word of the user says that the files of an answer are those that ran. Files that the
// user has not pointed at have names only if the process's stacks prove them, or if the filter has started the process.
func (a *Answer) Unverified() bool { return a.Module != nil && a.Module.unverified() }

// Assumed reports whether the answer is from a file of this machine that only stacks can prove: the user has not pointed at it, and no
// program of the log that the filter has started was seen with it.
func (a *Answer) Assumed() bool { return a.Module != nil && a.Module.assumed() }

// Why returns a word for the evidence on which the address was adjusted.
func (a *Answer) Why() string {
	switch a.rule.evidence() {
	case byTag:
		return "tag"
	case bySuffix:
		return "suffix"
	case byOption:
		return "option"
	case byHeader:
		return "header"
	case byTrampoline:
		return "trampoline"
	case byFormat:
		return "format"
	case byRegister:
		return "register"
	}
	switch {
	case a.probed:
		return "code"
	case a.rule.mode() == probingFirst:
		return "first"
	}
	return "assumed"
}

// Explanation returns why a frame has no name, or that its file was not verified.
func (a *Answer) Explanation() string {
	switch {
	case a.Java != nil:
		return a.Java.explanation(a)
	case len(a.Frames) > 0:
		return "unverified: the log has no build ID"
	case a.Ambiguous:
		return "several modules may lie there: the addresses were cut to 32 bits"
	case a.Module == nil:
		return cmp.Or(a.unlisted, "no mapping covers the address")
	case a.Unclear != "":
		return a.Unclear
	case a.Refused != "":
		return a.Refused
	case a.Elsewhere != "":
		return string(a.Module.appendName([]byte("another build: no " + symsrc.Visible(a.Elsewhere) + " at 0x" +
			strconv.FormatUint(a.Offset, 16) + " in ")))
	}
	text := string(a.Module.appendName([]byte(a.reason() + " ")))
	if words := a.words(); words != "" {
		text += ": " + words
	}
	return text
}

// Contradicted reports whether the log contradicts the files of an answer.
func (a *Answer) Contradicted() bool {
	return a.Outcome() == Outcome(symsrc.MismatchBuildID) || a.Elsewhere != "" || a.Refused != "" && a.Files().ElfStatus == symsrc.MismatchBuildID
}

// Brief returns the reason in two or three words.
func (a *Answer) Brief() string {
	switch {
	case len(a.Frames) > 0:
		return "unverified"
	case a.Refused != "":
		return "not verified"
	case a.Elsewhere != "":
		return "another build"
	}
	return briefly[a.Outcome()]
}

// briefly are the words for what becomes of frames without names.
var briefly = [outcomes]string{
	NoSymbol: "no symbol", NoMapping: "no mapping", Ambiguous: "several places",
	Outcome(symsrc.NotFound): "no symbols", Outcome(symsrc.NoReadPermission): "not readable", Outcome(symsrc.NotELF): "not an ELF file",
	Outcome(symsrc.Corrupted): "damaged file", Outcome(symsrc.Incomplete): "stripped file", Outcome(symsrc.UnsupportedCompressed): "unknown compression",
	Outcome(symsrc.MismatchBuildID): "another build", Outcome(symsrc.ReadError): "not readable", Outcome(symsrc.UnknownError): "no file chosen",
	Outcome(symsrc.NotVerified): "not verified",
}

// ExplainFirst reports whether Explanation says of the answer's module what was not asked for before, and notes that it was.
func (a *Answer) ExplainFirst() bool {
	m := a.Module
	if m == nil {
		return false
	}
	bit := uint64(1) << a.Outcome()
	first := m.explained&bit == 0
	m.explained |= bit
	return first
}

// explanations are the beginnings of what Explanation returns, besides those with a status.
var explanations = [...]string{"unverified: ", "not verified: ", "several modules ", "several methods ", "no lasting mapping ", "no mapping ", "another build: ", "no symbol at 0x",
	"no source at ", "unclear: ", "no source map ", "the log gives no ", "the log names no ", "no program of a board "}

// IsExplanation reports whether a text begins as an explanation does, maybe another than an answer has by now: a log that was filtered
// before has them.
func IsExplanation(text []byte) bool {
	for _, begin := range explanations {
		if bytes.HasPrefix(text, []byte(begin)) {
			return true
		}
	}
	if brief, _, closed := bytes.Cut(text, []byte("]")); closed && (slices.Contains(briefly[:], string(brief)) || string(brief) == "unverified") {
		return len(brief) > 0
	}
	word, _, _ := bytes.Cut(text, []byte(" "))
	for s := symsrc.NotFound; s <= symsrc.UnknownError; s++ {
		if string(word) == s.String() {
			return true
		}
	}
	return false
}

// reason returns the outcome of an answer without a name. If the files are good, no symbol covers the address, or the map of a script does
// not say for sure which source the place is from.
func (a *Answer) reason() string {
	if o := a.Outcome(); o != NoSymbol {
		return o.String()
	}
	if a.Space == symsrc.InScript {
		line, column := sourcemap.Unpack(a.Offset)
		return "no source at " + strconv.Itoa(line+1) + ":" + strconv.Itoa(column+1) + " in"
	}
	return "no symbol at 0x" + strconv.FormatUint(a.Offset, 16) + " in"
}

// words returns details of the outcome of an answer without a name, or "".
func (a *Answer) words() string {
	files := a.Files()
	if files == nil || files.Reason() == symsrc.OK {
		return ""
	}
	words := cmp.Or(files.Detail, files.Note)
	if words == symsrc.NothingFound {
		return ""
	}
	return symsrc.Visible(words)
}

// Base returns the last part of the module's name, with that of its member if it is an archive: `libf.so`, `base.apk!libf.so`.
func (m *Module) Base() string {
	name := m.Shown[strings.LastIndexByte(m.Shown, '/')+1:]
	if m.Member != "" {
		name += "!" + symsrc.Visible(m.Member[strings.LastIndexByte(m.Member, '/')+1:])
	}
	return name
}

// appendName appends `libf.so (BuildId: …)`.
func (m *Module) appendName(dst []byte) []byte { return m.AppendID(append(dst, m.Base()...)) }

// AppendID appends ` (BuildId: …)`, or nothing if the log has no build ID.
func (m *Module) AppendID(dst []byte) []byte {
	if m.BuildID == "" || m.BuildID == symsrc.MachO {
		return dst
	}
	dst = append(dst, " (BuildId: "...)
	dst = m.BuildID.Append(dst)
	return append(dst, ')')
}
