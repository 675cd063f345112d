package retrace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// comment is the content of a comment in JSON.
type comment struct {
	ID, Version, FileName string
	Conditions, Actions   []string
	Positions             map[string]int
	Outline               string
}

// parseComment parses a comment without its `#`. R8 writes JSON, and its documentation shows single quotes.
func parseComment(text []byte) (c comment, ok bool) {
	if len(text) == 0 || text[0] != '{' || len(text) > maxJSON {
		return c, false
	}
	// Nearly every class has this one, as R8 writes it.
	if name, is := bytes.CutPrefix(text, []byte(`{"id":"sourceFile","fileName":"`)); is {
		if name, is = bytes.CutSuffix(name, []byte(`"}`)); is && bytes.IndexByte(name, '"') < 0 && bytes.IndexByte(name, '\\') < 0 {
			return comment{ID: "sourceFile", FileName: string(name)}, true
		}
	}
	if json.Unmarshal(text, &c) == nil {
		return c, true
	}
	c = comment{}
	return c, json.Unmarshal(bytes.ReplaceAll(text, []byte("'"), []byte(`"`)), &c) == nil
}

// class is a class of a map.
type class struct {
	original, file string
	// text is that of the class, and lines are where it has methods and fields, sorted by their names in the log.
	text  []byte
	lines []methodLine
	// methods are those that were asked for, by their names in the log: a frame needs one of many.
	methods map[string][]entry
	// cut is set if the class has more text or more methods than are read. It has no methods then.
	cut bool
}

// methodLine is where the line of a method is in the text of its class, with the hash of its name in the log, and the version of the format there.
type methodLine struct {
	hash, at uint32
	version  format
}

// entry is a line of a method: the whole of it, or what a range of its lines was, maybe inlined from elsewhere.
type entry struct {
	class, method string
	signature     uint64 // the hash of the method's type, class, name and arguments
	// from and to are the range of lines in the log, -1 for none; first and last those of the source, of which there are 0 to 2.
	from, to, first, last int
	firsts                uint8
	synthesized, outline  bool
	notes                 *notes // nil for none
}

// notes are what few entries have.
type notes struct {
	rewrites  []rewrite
	callsites []callsite
}

// rewrite has inner frames removed right below an exception.
type rewrite struct {
	throws []string // their descriptors
	remove int
}

// callsite is a call of an outline: places in that, and the lines of the caller that they stand for.
type callsite struct {
	outline   string // the descriptor of the outline, "" before version 2.2
	positions map[int]int
}

const (
	// classWeight, lineWeight and entryWeight are about how many bytes of memory a class takes, each line of it, and each entry of a method that
	// was asked for.
	classWeight, lineWeight, entryWeight = 300, 12, 150

	// maxEntries bounds the methods and fields of a class that is read, and maxJSON the length of a comment, in bytes.
	maxEntries = 1 << 18
	maxJSON    = 1 << 20
)

// parseClass finds the lines of the class that a text begins with, in a version of the format.
func parseClass(text []byte, version format) *class {
	c, size := &class{}, 0
	for size < len(text) {
		length := bytes.IndexByte(text[size:], '\n') + 1
		if length == 0 {
			length = len(text) - size
		}
		line := text[size : size+length]
		at := size
		if at > 0 && line[0] != ' ' && line[0] != '\t' && line[0] != '#' && len(bytes.TrimSpace(line)) > 0 {
			break
		}
		if size += length; size > maxClass || len(c.lines) > maxEntries {
			c.cut, c.lines = true, nil
			break
		}
		switch line = bytes.TrimSpace(line); {
		case at == 0:
			original, _, _ := classLine(line)
			c.original = string(original)
		case len(line) > 0 && line[0] == '#':
			version = c.comment(line[1:], version)
		default:
			if name := methodName(line); len(name) > 0 {
				c.lines = append(c.lines, methodLine{shortHash(name), uint32(at), version})
			}
		}
	}
	c.text = text[:size]
	slices.SortFunc(c.lines, func(a, b methodLine) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		return cmp.Compare(a.at, b.at)
	})
	return c
}

// arrow stands before the name in the log.
const arrow = " -> "

// methodName returns the name in the log of a line of a method or of a field, which has no blanks around it, "" for another one.
func methodName(line []byte) []byte {
	at := bytes.LastIndexByte(line, ' ') + 1
	if at < len(arrow) || string(line[at-len(arrow):at]) != arrow {
		at = bytes.LastIndex(line, []byte(arrow)) + len(arrow)
		if at < len(arrow) {
			return nil
		}
	}
	return line[at:]
}

// shortHash returns the hash of a method's name.
func shortHash[S []byte | string](name S) uint32 { return uint32(hashOf(name)) }

// classWords are in the comments that say something of a class or of what follows, or may be written as an escape in them.
var classWords = [...][]byte{[]byte("sourceFile"), []byte("mapping"), []byte(`\`)}

// comment takes what a comment says of the class, and returns the version of the format of what follows.
func (c *class) comment(text []byte, version format) format {
	if !slices.ContainsFunc(classWords[:], func(word []byte) bool { return bytes.Contains(text, word) }) {
		return version
	}
	says, ok := parseComment(bytes.TrimSpace(text))
	if !ok {
		return version
	}
	switch strings.TrimPrefix(says.ID, idPrefix) {
	case "mapping":
		return parseFormat(says.Version)
	case "sourceFile":
		c.file = says.FileName
	}
	return version
}

// method parses the methods of a name in the log.
func (c *class) method(name string) []entry {
	p := methodParser{class: c}
	h := shortHash(name)
	i, _ := slices.BinarySearchFunc(c.lines, h, func(l methodLine, h uint32) int { return cmp.Compare(l.hash, h) })
	for ; i < len(c.lines) && c.lines[i].hash == h; i++ {
		p.parse(name, c.lines[i])
	}
	if len(p.entries) == 0 {
		return nil
	}
	p.spread()
	if c.methods == nil {
		c.methods = map[string][]entry{}
	}
	c.methods[name] = p.entries
	return p.entries
}

// methodParser parses the methods of one name.
type methodParser struct {
	*class
	entries []entry
}

// parse takes a line of a method, if it is one of that name, and the comments below it.
func (p *methodParser) parse(name string, l methodLine) {
	first := true
	for line := range bytes.Lines(p.text[l.at:]) {
		line = bytes.TrimSpace(line)
		switch {
		case first:
			e, is, ok := parseEntry(line, p.original)
			if !ok || string(is) != name {
				return // a field, whose comments mean nothing for frames
			}
			p.entries = append(p.entries, e)
			first = false
		case len(line) > 0 && line[0] == '#':
			l.version = p.entries[len(p.entries)-1].comment(bytes.TrimSpace(line[1:]), l.version)
		default:
			return
		}
	}
}

// spread marks all entries of a method of which one says that the compiler has made it, or that it is an outline: it is or is not.
func (p *methodParser) spread() {
	var made, outlines []uint64
	of := p.entries
	for i := range of {
		made = added(made, of[i].signature, of[i].synthesized)
		outlines = added(outlines, of[i].signature, of[i].outline)
	}
	if len(made)+len(outlines) == 0 {
		return
	}
	for i := range of {
		of[i].synthesized = of[i].synthesized || slices.Contains(made, of[i].signature)
		of[i].outline = of[i].outline || slices.Contains(outlines, of[i].signature)
	}
}

// added returns a set with one more, if it is one of it. The first ones count.
func added(set []uint64, one uint64, is bool) []uint64 {
	if is && len(set) < maxCandidates && !slices.Contains(set, one) {
		return append(set, one)
	}
	return set
}

// comment takes what a comment says of an entry, and returns the version of the format of what follows. What was introduced after the map's
// version is none.
func (e *entry) comment(text []byte, version format) format {
	says, ok := parseComment(text)
	if !ok {
		return version
	}
	id := strings.TrimPrefix(says.ID, idPrefix)
	if id == "mapping" {
		return parseFormat(says.Version)
	}
	if !version.knows(id) {
		return version
	}
	switch id {
	case "synthesized":
		e.synthesized = true
	case "outline":
		e.outline = true
	case "outlineCallsite":
		at := callsite{outline: says.Outline, positions: map[int]int{}}
		for from, to := range says.Positions {
			if n, err := strconv.Atoi(from); err == nil {
				at.positions[n] = to
			}
		}
		e.note().callsites = append(e.note().callsites, at)
	case "rewriteFrame":
		if r, ok := says.rewrite(); ok {
			e.note().rewrites = append(e.note().rewrites, r)
		}
	}
	return version
}

// note returns the notes of an entry, which has them from now on.
func (e *entry) note() *notes {
	if e.notes == nil {
		e.notes = &notes{}
	}
	return e.notes
}

// rewrite returns what a comment about frames says. ok is false if it has a condition that is not known, which is not met then.
func (c *comment) rewrite() (r rewrite, ok bool) {
	for _, condition := range c.Conditions {
		name, is := inParentheses(condition, "throws")
		if !is {
			return r, false
		}
		r.throws = append(r.throws, name)
	}
	for _, action := range c.Actions {
		if text, is := inParentheses(action, "removeInnerFrames"); is {
			if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= maxChain {
				r.remove += n
			}
		}
	}
	return r, true
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
func parseEntry(line []byte, of string) (e entry, name []byte, ok bool) {
	arrow := bytes.LastIndex(line, []byte(" -> "))
	if arrow < 0 {
		return e, nil, false
	}
	name, line = line[arrow+4:], line[:arrow]
	e.from, e.to = -1, -1
	if from, rest, found := number(line); found {
		if to, after, found := number(rest); found {
			e.from, e.to = ordered(from, to)
			line = after
		}
	}
	open := bytes.IndexByte(line, '(')
	shut := bytes.IndexByte(line, ')')
	if open < 0 || shut < open || len(name) == 0 {
		return e, nil, false
	}
	e.source(line[shut+1:])
	head := line[:open]
	method := head[bytes.LastIndexByte(head, ' ')+1:]
	e.class, e.signature = of, hashOf(line[:shut])
	if dot := bytes.LastIndexByte(method, '.'); dot > 0 {
		if class := method[:dot]; string(class) != of {
			e.class = string(class)
		}
		method = method[dot+1:]
	}
	e.method = string(method)
	return e, name, len(method) > 0
}

// source reads `:os[:oe]`, the lines of the source.
func (e *entry) source(text []byte) {
	if len(text) == 0 || text[0] != ':' {
		return
	}
	first, last, two := bytes.Cut(text[1:], []byte(":"))
	n, err := strconv.Atoi(string(first))
	if err != nil || n < 0 {
		return
	}
	e.first, e.last, e.firsts = n, n, 1
	if m, err := strconv.Atoi(string(last)); two && err == nil && m >= 0 {
		e.first, e.last = ordered(n, m)
		e.firsts = 2
	}
}

// ordered returns a range whose end may stand before its begin: as R8 reads it, an end of 0 is none, and others change places.
func ordered(from, to int) (int, int) {
	switch {
	case to >= from:
		return from, to
	case to == 0:
		return from, from
	}
	return to, from
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
