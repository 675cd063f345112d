package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// maxJSON is how many bytes of a JSON object are looked at for fields.
const maxJSON = 64 << 10

// A field of a JSON object says one of these.
type role uint8

const (
	roleNone role = iota
	rolePID
	roleTID
	roleClaimed
	roleHost
	roleUnit
	roleTag
)

// jsonRole returns what a field says: those of journald (systemd.journal-fields), docker, Fluent Bit's Kubernetes filter,
// the Elastic Common Schema and OpenTelemetry, flat or nested, of go test -json, and the names that loggers commonly use.
// A stream (stdout, stderr) tells no processes apart.
func jsonRole(parent, name []byte) role {
	switch string(name) {
	case "_PID", "process.pid", "process_id", "processId", "PID":
		return rolePID
	case "COREDUMP_PID":
		return roleClaimed
	case "pid":
		switch string(parent) {
		case "", "process", "proc":
			return rolePID
		}
	case "tid", "TID", "thread_id", "_TID", "process.thread.id":
		return roleTID
	case "_HOSTNAME", "hostname", "host.name", "HOSTNAME":
		return roleHost
	case "host":
		if len(parent) == 0 || string(parent) == "kubernetes" {
			return roleHost
		}
	case "kubernetes.pod_name", "kubernetes.container_name", "k8s.pod.name", "k8s.container.name",
		"kubernetes.pod.name", "kubernetes.container.name", "pod_name", "pod",
		"container_id", "container_name", "container.id", "container.name", "CONTAINER_NAME", "CONTAINER_ID",
		"Package":
		return roleUnit
	case "name", "id":
		switch string(parent) {
		case "host":
			if string(name) == "name" {
				return roleHost
			}
		case "pod", "container":
			return roleUnit
		}
	case "SYSLOG_IDENTIFIER":
		return roleTag
	}
	return roleNone
}

// JSONKey reads the fields of a line that is a JSON object and that name the process: its ID, host, pod, container. The
// text of the program is inside one of the strings; Start and End bound the whole line. An object that does not name
// anything, or is none, returns a Prefix whose key is empty.
func JSONKey(line []byte) Prefix {
	p := Prefix{End: len(line)}
	text := line
	if len(text) > maxJSON {
		text = text[:maxJSON]
	}
	i := scan.Spaces(text, 0)
	if !at(text, i, '{') {
		return p
	}
	p.Kind = JSON
	o := object{text: text}
	for i++; i >= 0 && i < len(text); {
		i = o.token(&p, i)
	}
	return p
}

// object is a JSON object that is being read.
type object struct {
	text    []byte
	parents [maxDepth]Span // the keys of the objects and arrays around
	arrays  [maxDepth]bool // which of them are arrays
	depth   int
	key     Span
	value   bool // a value comes next, not a key
}

// token reads one token at text[i:] and returns the offset after it, −1 at the end of the object.
func (o *object) token(p *Prefix, i int) int {
	switch c := o.text[i]; {
	case c == '"':
		s, end := jsonString(o.text, i)
		if end < 0 {
			return -1
		}
		if o.value {
			p.addField(o, s)
		} else {
			o.key, o.value = s, true
		}
		return end
	case c == '{' || c == '[':
		if o.depth == len(o.parents) {
			return -1
		}
		o.parents[o.depth], o.arrays[o.depth] = o.key, c == '['
		o.depth++
		o.value, o.key = c == '[', Span{}
	case c == '}' || c == ']':
		if o.depth == 0 {
			return -1
		}
		o.depth--
	case c == ',':
		o.value = o.depth > 0 && o.arrays[o.depth-1]
	case scan.IsDigit(c) && o.value:
		end := i
		for end < len(o.text) && scan.IsDigit(o.text[end]) {
			end++
		}
		p.addField(o, span(i, end))
		return end
	}
	return i + 1
}

// addField takes the value of the field o.key.
func (p *Prefix) addField(o *object, value Span) {
	var parent []byte
	if o.depth > 0 {
		parent = o.parents[o.depth-1].Of(o.text)
		if len(parent) == 0 {
			return // one of a list
		}
	}
	if o.key.Empty() || value.Empty() || value.End-value.Start > maxField {
		return
	}
	switch role := jsonRole(parent, o.key.Of(o.text)); role {
	case rolePID, roleTID, roleClaimed:
		id := &p.PID
		if role == roleTID {
			id = &p.TID
		} else if role == roleClaimed {
			id = &p.Claimed
		}
		if id.Empty() && allDigits(o.text, value) {
			*id = value
		}
	case roleHost:
		p.setHost(value)
	case roleUnit:
		p.addUnit(value)
	case roleTag:
		p.Tag = value
	}
}

// maxField is the length of the longest value that may name a process.
const maxField = 256

// jsonString returns the inside of the string whose opening quote is text[i] and the offset after its closing one, −1 where
// it is not closed.
func jsonString(text []byte, i int) (inside Span, end int) {
	start := i + 1
	for i = start; ; {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return inside, -1
		}
		i += n
		escapes := 0
		for i-escapes > start && text[i-escapes-1] == '\\' {
			escapes++
		}
		i++
		if escapes%2 == 0 {
			return span(start, i-1), i
		}
	}
}
