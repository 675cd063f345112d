package filter

import (
	"bytes"
	"strings"

	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
)

// dedupToken begins the line on which a sanitizer repeats the functions of the stack above, as many as its option dedup_token_length says
// (StackTraceTextPrinter::ExtendDedupToken in sanitizer_stacktrace_libcdep.cpp). Of a frame without a name nothing stands between the dashes, and the line is
// missing if no frame has one.
var dedupToken = []byte("DEDUP_TOKEN: ")

// tokenSeparator stands between the functions of a token.
const tokenSeparator = "--"

// filled returns the program's own words of a segment with the functions of the stack above in place of those that a DEDUP_TOKEN lacks. The
// functions that it has must be those of the stack: otherwise it stays as it is.
func (f *Filter) filled(t *resolve.Thread, l *parse.Line) (before, token, after []byte) {
	own := l.Own()
	if l.Quoted() || l.Split() || l.Start >= l.End || !bytes.HasPrefix(l.Text[l.Start:l.End], dedupToken) {
		return own, nil, nil
	}
	at := l.Start + len(dedupToken)
	said := strings.Split(string(l.Text[at:l.End]), tokenSeparator)
	top := t.Top(f.line)
	if len(said) > len(top) {
		return own, nil, nil
	}
	var names []string
	for i, name := range said {
		frames := top[i].Frames
		switch {
		case name != "" && withoutParameters(frames[len(frames)-1].Func) != withoutParameters(name):
			return own, nil, nil
		case name != "":
			names = append(names, name)
			continue
		}
		for j := range frames {
			if frames[j].Func == "" {
				return own, nil, nil
			}
			names = append(names, frames[j].Func)
		}
	}
	return l.Text[:at], []byte(strings.Join(names[:len(said)], tokenSeparator)), l.Text[l.End:]
}

// withoutParameters returns a function's name up to its parameters.
func withoutParameters(name string) string {
	name, _, _ = strings.Cut(name, "(")
	return name
}
