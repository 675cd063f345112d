package print

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"qss-filter/filter/resolve"
)

// Links are the hyperlinks that paths get, as OSC 8 sequences of terminals. The template is a URL with {path}, {line}, {column}
// and {host} in it. Names and rules are those of ripgrep's --hyperlink-format. The zero Links writes no links.
type Links struct {
	template string
	pieces   []string // text and, at odd indices, a variable's name
	host     string
}

// linkAliases are templates by name, sorted.
var linkAliases = [...][2]string{
	{"cursor", "cursor://file{path}:{line}:{column}"},
	{"default", "file://{host}{path}"},
	{"file", "file://{host}{path}"},
	{"grep+", "grep+://{path}:{line}"},
	{"idea", "idea://open?file={path}&line={line}&column={column}"},
	{"kitty", "file://{host}{path}#{line}"},
	{"macvim", "mvim://open?url=file://{path}&line={line}&column={column}"},
	{"none", ""},
	{"textmate", "txmt://open?url=file://{path}&line={line}&column={column}"},
	{"vscode", "vscode://file{path}:{line}:{column}"},
	{"vscode-insiders", "vscode-insiders://file{path}:{line}:{column}"},
	{"vscodium", "vscodium://file{path}:{line}:{column}"},
}

var errLink = errors.New("want default, none, file, vscode, idea, …, or a URL with {path} and perhaps {line}, {column}, {host}")

// String returns the template.
func (l *Links) String() string { return l.template }

// Words returns the names of templates.
func (l *Links) Words() (names []string) {
	for _, alias := range linkAliases {
		names = append(names, alias[0])
	}
	return names
}

// Set sets the template to value, or to the template of that name.
func (l *Links) Set(value string) error {
	for _, alias := range linkAliases {
		if alias[0] == value {
			value = alias[1]
		}
	}
	if value == "" {
		*l = Links{}
		return nil
	}
	pieces, err := templatePieces(value)
	if err != nil {
		return err
	}
	has := func(name string) bool { return slices.Contains(pieces, name) }
	scheme, _, ok := strings.Cut(pieces[0], ":")
	switch {
	case !ok || !isScheme(scheme):
		return fmt.Errorf("no scheme as file: at its start; %w", errLink)
	case !has("path"):
		return fmt.Errorf("without {path}; %w", errLink)
	case has("column") && !has("line"):
		return fmt.Errorf("{column} without {line}; %w", errLink)
	}
	*l = Links{template: value, pieces: pieces}
	if has("host") {
		if l.host, err = os.Hostname(); err != nil {
			return fmt.Errorf("{host}: %w", err)
		}
	}
	return nil
}

// templatePieces splits a template at its variables.
func templatePieces(template string) (pieces []string, err error) {
	for rest := template; ; {
		text, after, open := strings.Cut(rest, "{")
		if strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '}' }) >= 0 {
			return nil, fmt.Errorf("%q: a URL has no such characters; %w", text, errLink)
		}
		pieces = append(pieces, text)
		if !open {
			return pieces, nil
		}
		name, following, closed := strings.Cut(after, "}")
		if !closed || !slices.Contains([]string{"path", "line", "column", "host"}, name) {
			return nil, fmt.Errorf("no variable {%s; %w", name, errLink)
		}
		pieces, rest = append(pieces, name), following
	}
}

// isScheme reports whether a URL may begin with s (RFC 3986 §3.1).
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// linkStart and linkStop stand before and after a link's URL, and linkEnd ends the link (the proposal by Egmont Koblinger that
// terminals follow).
const (
	linkStart = "\x1b]8;;"
	linkStop  = "\x1b\\"
	linkEnd   = linkStart + linkStop
)

// maxURL is the length of the longest URL that VTE and iTerm2 accept, in bytes.
const maxURL = 2083

// Begin returns the sequence that begins a link to a place. It is "" if the path is not absolute, or the URL too long.
func (l *Links) Begin(file string, line, column int) string {
	if l.template == "" || file == "" {
		return ""
	}
	if hasDrive(file) {
		file = "/" + strings.ReplaceAll(file, `\`, "/")
	}
	if file[0] != '/' {
		return ""
	}
	url := []byte(linkStart)
	for i, piece := range l.pieces {
		switch {
		case i%2 == 0:
			url = append(url, piece...)
		case piece == "path":
			url = appendEncoded(url, path.Clean(file))
		case piece == "host":
			url = appendEncoded(url, l.host)
		case piece == "line":
			url = strconv.AppendInt(url, int64(max(line, 1)), 10)
		case piece == "column":
			url = strconv.AppendInt(url, int64(max(column, 1)), 10)
		}
	}
	if len(url)-len(linkStart) > maxURL {
		return ""
	}
	return string(append(url, linkStop...))
}

// appendEncoded writes a path into a URL: what is not unreserved (RFC 3986 §2.3), nor a slash or a colon, becomes %XX.
func appendEncoded(dst []byte, text string) []byte {
	const hexDigits = "0123456789ABCDEF"
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', strings.IndexByte("-._~/:", c) >= 0:
			dst = append(dst, c)
		default:
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

// link prepares the links of an answer.
func (w *renderer) link(a *resolve.Answer, p *printed) {
	if w.opt.Links.template == "" || w.opt.Palette == nil {
		return
	}
	p.links = make([]string, len(a.Frames))
	for i := range a.Frames {
		fr := &a.Frames[i]
		p.links[i] = w.opt.Links.Begin(w.opt.Names.local(fr.File), fr.Line, fr.Column)
	}
}
