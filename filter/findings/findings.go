// Package findings makes findings of the stacks of logs, one for each fault: what happened, where in the program's own code, and the stacks
// that the log has of it. A continuous integration shows them, each in a form of its own.
//
//	findings.go  a finding, and the Collector of those of all streams
//	stream.go    stacks of a log become findings
//	places.go    places in source files that the log itself states
//	commands.go  lines that the runners of GitHub and Azure read, written while the log is read
//	sarif.go     SARIF 2.1.0
//	gitlab.go    code quality reports of GitLab
package findings

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"qss-filter/filter/print"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// Finding is a fault that a log reports.
type Finding struct {
	// Rule is the kind of fault, such as heap-use-after-free. Message says what happened, and in which function.
	Rule, Message string
	// Place is the first of the program's own functions in the stack of the fault that has a line, nil if none has.
	Place *symsrc.Frame
	// Stacks are that of the fault and those that are about it, such as where memory was freed.
	Stacks []*Stack

	about triage.Headline
	line  int // of the last of its stacks
}

// Stack is a stack of a finding.
type Stack struct {
	// Kind is what the stack is: `fault`, `freed by`, `allocated by` and so on.
	Kind   string
	Frames []Frame

	place *symsrc.Frame // as in Finding
	sign  triage.Signature
}

// Frame is a frame of a stack. Its file is "" if that is not known.
type Frame struct {
	symsrc.Frame
	// Module is the path of its binary, or "".
	Module string
}

// maxFindings bounds the findings that a report has, and maxFrames the frames of a stack in it.
const (
	maxFindings = 1 << 12
	maxFrames   = 256
)

// Live is told of findings while the log is read: of a finding as soon as its place is known, and of each stack that is about it.
type Live interface {
	Found(f *Finding)
	Related(f *Finding, s *Stack)
}

// Collector collects the findings of streams, which may run at the same time.
type Collector struct {
	// Names say how functions and files are shown, and which are the program's own.
	Names print.Names
	// Live is told of findings while the logs are read; nil for nothing.
	Live Live
	// Keep keeps the findings for All.
	Keep bool

	mu   sync.Mutex
	all  []*Finding
	more int // that were dropped
}

// Stream returns what collects the findings of one stream: its methods are for filter.Options.
func (c *Collector) Stream() *Stream { return &Stream{c: c, open: map[any]*stack{}} }

// add adds a finding.
func (c *Collector) add(f *Finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.Keep:
	case len(c.all) < maxFindings:
		c.all = append(c.all, f)
	default:
		c.more++
	}
}

// All returns the findings, each once, after the streams have ended. dropped is how many more there were.
func (c *Collector) All() (all []*Finding, dropped int) {
	seen := map[string]bool{}
	for _, f := range c.all {
		if key := f.key(); !seen[key] {
			seen[key] = true
			all = append(all, f)
		}
	}
	return all, c.more
}

// key is the same for findings that are shown once.
func (f *Finding) key() string {
	key := f.Rule + "\x00" + f.Signature() + "\x00"
	if f.Place != nil {
		key += f.Place.File + ":" + strconv.Itoa(f.Place.Line)
	}
	return key
}

// Signature returns that of the stack of the fault, by which it is found again in other logs. It is "" if no frame has a name.
func (f *Finding) Signature() string {
	for _, s := range f.Stacks {
		if text := s.sign.String(); text != "" {
			return text
		}
	}
	return ""
}

// Fingerprint returns a number in hexadecimal that is the same for the same fault in other runs, and in sources whose lines have moved.
func (f *Finding) Fingerprint() string {
	text := f.Rule + "\x00" + f.Signature()
	if f.Signature() == "" {
		text = f.key()
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// rule returns the kind of fault that a headline reports, in words with - between them.
func rule(headline string) string {
	if headline == "" {
		return "stack"
	}
	if strings.HasPrefix(headline, "panic at ") {
		return "panic"
	}
	for _, end := range [...]string{":", "[", " of type", " for type", " with length"} {
		headline, _, _ = strings.Cut(headline, end)
	}
	var words []string
	for _, word := range strings.Fields(headline) {
		if word == "READ" || word == "WRITE" {
			break
		}
		if word = strings.Trim(word, ".,;()"); word == "" || strings.ContainsAny(word, `0123456789'"<>[]*/\=%`+"`") {
			continue
		}
		if words = append(words, word); len(words) == 8 {
			break
		}
	}
	if len(words) == 0 {
		return "fault"
	}
	return strings.Join(words, "-")
}

// message says what happened in a function.
func message(about triage.Headline, function string) string {
	function = symsrc.Visible(function)
	text := about.Text
	switch {
	case about.Kind != "" && about.Kind != triage.Fault && text != "":
		text += ", " + about.Kind + ": " + function
	case about.Kind != "" && about.Kind != triage.Fault:
		text = about.Kind + ": " + function
	case function == "":
	case text == "":
		text = "in " + function
	default:
		text += " in " + function
	}
	return strings.TrimSuffix(strings.TrimSpace(text), ":")
}

// Relative returns a path relative to a directory, with slashes. ok is false if it does not lie below it.
func Relative(root, path string) (rel string, ok bool) {
	if !filepath.IsAbs(path) {
		path = filepath.ToSlash(filepath.Clean(path))
		return path, filepath.IsLocal(path)
	}
	if root == "" {
		return path, false
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path, false
	}
	return filepath.ToSlash(rel), true
}

// uri returns a path as a reference of RFC 3986.
func uri(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
