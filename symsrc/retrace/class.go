package retrace

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// comment is the content of a comment in JSON.
type comment struct {
	ID, Version, FileName string
	Conditions, Actions   []string
	Positions             map[string]int
}

// class is a class of a map.
type class struct {
	original, file string
	methods        map[string][]entry // by their names in the log
}

// entry is a line of a method: the whole of it, or what a range of its lines was, maybe inlined from elsewhere.
type entry struct {
	// from and to are the range of lines in the log, -1 for none; first and last those of the source, of which there are 0 to 2.
	from, to, first, last int
	firsts                int
	class, method         string
	synthesized, outline  bool
	rewrites              []rewrite
	positions             map[int]int // of a call of an outline
}

// rewrite has inner frames removed right below an exception.
type rewrite struct {
	throws []string // their descriptors
	remove int
}

const (
	// maxEntries bounds the lines of a class that count, and maxJSON the length of a comment, in bytes.
	maxEntries = 1 << 20
	maxJSON    = 1 << 20
)

// parseClass parses the class that a text begins with. size is about the memory that it takes.
func parseClass(text []byte) (c *class, size int) {
	c = &class{methods: map[string][]entry{}}
	var last string // the method at hand, in the log
	entries := 0
	for line := range bytes.Lines(text) {
		if size > 0 && len(line) > 0 && line[0] != ' ' && line[0] != '\t' && line[0] != '#' && len(bytes.TrimSpace(line)) > 0 || size > maxClass || entries > maxEntries {
			break
		}
		begin := size == 0
		size += len(line)
		line = bytes.TrimSpace(line)
		switch {
		case begin:
			original, _, _ := classLine(line)
			c.original = string(original)
		case len(line) > 0 && line[0] == '#':
			if len(line) < maxJSON {
				c.comment(last, bytes.TrimSpace(line[1:]))
			}
		default:
			if e, name, ok := parseEntry(line, c.original); ok {
				last = name
				entries++
				c.methods[name] = append(c.methods[name], e)
			} else {
				last = "" // a field, whose comments mean nothing for frames
			}
		}
	}
	return c, size
}

// comment takes what a comment says of the class, or of the last line of a method.
func (c *class) comment(method string, text []byte) {
	var says comment
	if len(text) == 0 || text[0] != '{' || json.Unmarshal(text, &says) != nil {
		return
	}
	id := strings.TrimPrefix(says.ID, "com.android.tools.r8.")
	if id == "sourceFile" {
		c.file = says.FileName
		return
	}
	of := c.methods[method]
	if method == "" || len(of) == 0 {
		return
	}
	e := &of[len(of)-1]
	switch id {
	case "synthesized":
		e.synthesized = true
	case "outline":
		e.outline = true
	case "outlineCallsite":
		e.positions = map[int]int{}
		for from, to := range says.Positions {
			if n, err := strconv.Atoi(from); err == nil {
				e.positions[n] = to
			}
		}
	case "rewriteFrame":
		var r rewrite
		for _, condition := range says.Conditions {
			if name, ok := inParentheses(condition, "throws"); ok {
				r.throws = append(r.throws, name)
			} else {
				return // one that is not known is not met
			}
		}
		for _, action := range says.Actions {
			if n, ok := inParentheses(action, "removeInnerFrames"); ok {
				r.remove, _ = strconv.Atoi(n)
			}
		}
		e.rewrites = append(e.rewrites, r)
	}
}

// inParentheses returns what stands in `WORD(…)`.
func inParentheses(text, word string) (inside string, ok bool) {
	text, ok = strings.CutPrefix(text, word+"(")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(text, ")")
}

// parseEntry reads `[S:E:]type [class.]name(args)[:os[:oe]] -> a`.
func parseEntry(line []byte, of string) (e entry, name string, ok bool) {
	arrow := bytes.LastIndex(line, []byte(" -> "))
	if arrow < 0 {
		return e, "", false
	}
	name, line = string(line[arrow+4:]), line[:arrow]
	e.from, e.to = -1, -1
	if from, rest, found := number(line); found {
		if to, after, found := number(rest); found {
			e.from, e.to, line = from, to, after
			if to < from {
				return e, "", false
			}
		}
	}
	open := bytes.IndexByte(line, '(')
	shut := bytes.IndexByte(line, ')')
	if open < 0 || shut < open || name == "" {
		return e, "", false
	}
	if rest := line[shut+1:]; len(rest) > 0 && rest[0] == ':' {
		first, last, two := bytes.Cut(rest[1:], []byte(":"))
		n, err := strconv.Atoi(string(first))
		if err == nil && n >= 0 {
			e.first, e.last, e.firsts = n, n, 1
			if m, err := strconv.Atoi(string(last)); two && err == nil && m >= n {
				e.last, e.firsts = m, 2
			} else if two { // a range that ends before it begins says nothing
				e.first, e.last, e.firsts = 0, 0, 0
			}
		}
	}
	head := line[:open]
	method := head[bytes.LastIndexByte(head, ' ')+1:]
	e.class = of
	if dot := bytes.LastIndexByte(method, '.'); dot > 0 {
		e.class, method = string(method[:dot]), method[dot+1:]
	}
	e.method = string(method)
	return e, name, len(method) > 0
}

// number reads `N:`.
func number(text []byte) (n int, rest []byte, ok bool) {
	colon := bytes.IndexByte(text, ':')
	if colon <= 0 || colon > 10 {
		return 0, nil, false
	}
	n, err := strconv.Atoi(string(text[:colon]))
	return n, text[colon+1:], err == nil && n >= 0
}
