// Package prefixtest writes lines as loggers do, for tests: every prefix that package prefix knows around any text.
package prefixtest

import (
	"fmt"

	"qss-filter/filter/prefix"
)

// Sample is one format of a logger, or several loggers around each other.
type Sample struct {
	// Name names the format and its modifiers.
	Name string
	// Kind is what prefix.Reader returns for a line of the format whose text begins with no prefix of its own.
	Kind prefix.Kind
	// PID says that the lines carry the process ID: two processes in one stream are told apart.
	PID bool
	// Unit says that the lines name a container, service, rank or test instead, made from the process ID.
	Unit bool
	// Own says that lines of the logger's own stand between those of the program (logcat -v long).
	Own bool
	// JSON says that the text stands escaped in a string of a JSON object.
	JSON bool
	// Before and After are what stands around the i-th line of text that a process wrote.
	Before, After func(pid, i int) string
}

// Wrap returns the lines of the format, without line ends, for the lines that a process wrote.
func (s *Sample) Wrap(payload []string, pid int) []string {
	var lines []string
	for i, text := range payload {
		if s.Own {
			lines = append(lines, s.Before(pid, i), text, "")
			continue
		}
		if s.JSON {
			text = escapeJSON(text)
		}
		lines = append(lines, s.Line(text, pid, i))
	}
	return lines
}

// Line returns one line of the format; the text of a JSON object must be escaped.
func (s *Sample) Line(text string, pid, i int) string {
	after := ""
	if s.After != nil {
		after = s.After(pid, i)
	}
	return s.Before(pid, i) + text + after
}

// Key returns the key that prefix.ByPID makes of a line; empty where the format carries no process ID.
func (s *Sample) Key(pid int) string {
	if !s.PID {
		return ""
	}
	return fmt.Sprintf("#%d", pid)
}

// All returns every format: each alone, and those that are often met around each other.
func All() []Sample {
	all := append(logcat(), system()...)
	all = append(all, runners()...)
	all = append(all, objects()...)
	return append(all, nested(all)...)
}

// nested puts formats around each other as they are met in practice.
func nested(all []Sample) []Sample {
	byName := map[string]*Sample{}
	for i := range all {
		byName[all[i].Name] = &all[i]
	}
	var out []Sample
	for _, pair := range [][]string{
		{"compose", "logcat threadtime"},
		{"compose", "glog"},
		{"kubectl", "timestamp", "glog"},
		{"kubectl", "chromium"},
		{"github actions", "ctest"},
		{"github actions", "logcat threadtime color"},
		{"github actions", "ctest", "logcat brief"},
		{"github job", "ctest", "valgrind"},
		{"github job", "go test"},
		{"cri", "glog"},
		{"cri", "spdlog"},
		{"syslog rfc3164", "glog"},
		{"journald short-iso", "printk"},
		{"syslog rfc5424", "chromium"},
		{"ctest", "valgrind"},
		{"mpi", "valgrind"},
		{"ts", "logcat time"},
		{"ts", "fuchsia klog"},
	} {
		s := *byName[pair[0]]
		for _, name := range pair[1:] {
			s = around(s, *byName[name])
		}
		out = append(out, s)
	}
	return out
}

func around(outer, inner Sample) Sample {
	s := inner
	s.Name = outer.Name + " + " + inner.Name
	s.PID = outer.PID || inner.PID
	s.Unit = outer.Unit || inner.Unit
	s.Before = func(pid, i int) string { return outer.Before(pid, i) + inner.Before(pid, i) }
	s.After = func(pid, i int) string {
		after := ""
		if inner.After != nil {
			after = inner.After(pid, i)
		}
		if outer.After != nil {
			after += outer.After(pid, i)
		}
		return after
	}
	return s
}

// escapeJSON escapes text for a JSON string as docker's json-file driver does, byte for byte where it can.
func escapeJSON(text string) string {
	var out []byte
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\t':
			out = append(out, '\\', 't')
		case c < 0x20:
			out = fmt.Appendf(out, "\\u%04x", c)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
