package prefix

import (
	"fmt"
	"strconv"
)

// By says what tells processes apart; it is the value of --by.
type By uint8

// What tells processes apart: all the evidence that a line has (the process ID, with host, pod, container, service and
// rank; without an ID those alone; without them the tag), the ID alone, the ID with host and units, or nothing.
const (
	ByAuto By = iota
	ByPID
	ByHostPID
	ByNone
)

var byNames = [...]string{"auto", "pid", "host+pid", "none"}

// String returns the value as it stands on the command line.
func (b By) String() string {
	if int(b) < len(byNames) {
		return byNames[b]
	}
	return strconv.Itoa(int(b))
}

// Set reads the value from the command line.
func (b *By) Set(s string) error {
	for i, name := range byNames {
		if s == name {
			*b = By(i)
			return nil
		}
	}
	return fmt.Errorf("processes are told apart by pid, host+pid, none or auto, not by %q", s)
}

// AppendKey appends the key of the process that wrote the line: `host/unit/unit#pid`, of which each part stands only where
// there is evidence of it, or `host~tag` where there is nothing better. Nothing is appended without any evidence. Thread
// IDs never count.
func (p *Prefix) AppendKey(dst, line []byte, by By) []byte {
	o := Origin{Prefix: p, Line: line}
	return o.AppendKey(dst, by)
}

// AppendThread appends the key of the process and, where one is known, `@tid`: frames of one stack stand in one thread.
func (p *Prefix) AppendThread(dst, line []byte, by By) []byte {
	dst = p.AppendKey(dst, line, by)
	switch {
	case !p.TID.Empty():
		return append(append(dst, '@'), p.TID.Of(line)...)
	case p.held.known && p.PID.Empty():
		return strconv.AppendUint(append(dst, '@'), p.held.tid, 10)
	}
	return dst
}

// Origin is all that is known of where a line comes from.
type Origin struct {
	// Prefix was read from Line.
	Prefix *Prefix
	Line   []byte
	// Outer was read from OuterLine: the JSON object in one of whose strings Line stands. May be nil.
	Outer     *Prefix
	OuterLine []byte
	// Crashed is the process ID that an earlier headline of the same report named (Crashed, Prefix.Claimed); it is
	// remembered per key without it. Empty where there was none.
	Crashed []byte
}

// AppendKey appends the key of the process, as Prefix.AppendKey does: the innermost process ID wins, and hosts and units
// stand from the outside in.
func (o *Origin) AppendKey(dst []byte, by By) []byte {
	if by == ByNone {
		return dst
	}
	p, outer := o.Prefix, o.Outer
	named := false
	if by != ByPID {
		begin := len(dst)
		if outer != nil {
			dst = outer.appendPlace(dst, begin, o.OuterLine)
			named = outer.size > 0
		}
		dst = p.appendPlace(dst, begin, o.Line)
		named = named || p.size > 0
	}
	switch {
	case !p.Claimed.Empty():
		return appendPID(dst, p.Claimed.Of(o.Line))
	case len(o.Crashed) > 0:
		return appendPID(dst, o.Crashed)
	case !p.PID.Empty():
		return appendPID(dst, p.PID.Of(o.Line))
	case p.held.known:
		return strconv.AppendUint(append(dst, '#'), p.held.pid, 10)
	case outer != nil && !outer.Claimed.Empty():
		return appendPID(dst, outer.Claimed.Of(o.OuterLine))
	case outer != nil && !outer.PID.Empty():
		return appendPID(dst, outer.PID.Of(o.OuterLine))
	case by != ByAuto || named:
		return dst
	case !p.Tag.Empty():
		return append(append(dst, '~'), p.Tag.Of(o.Line)...)
	case outer != nil && !outer.Tag.Empty():
		return append(append(dst, '~'), outer.Tag.Of(o.OuterLine)...)
	}
	return dst
}

// appendPlace appends host and units to a key that begins at dst[begin:].
func (p *Prefix) appendPlace(dst []byte, begin int, line []byte) []byte {
	dst = appendPart(dst, begin, p.Host.Of(line))
	for _, s := range p.unit[:p.size] {
		dst = appendPart(dst, begin, s.Of(line))
	}
	return dst
}

func appendPart(dst []byte, begin int, part []byte) []byte {
	if len(part) == 0 {
		return dst
	}
	if len(dst) > begin {
		dst = append(dst, '/')
	}
	return append(dst, part...)
}

// appendPID appends a process ID without the zeros that Fuchsia's loggers write in front.
func appendPID(dst, pid []byte) []byte {
	for len(pid) > 1 && pid[0] == '0' {
		pid = pid[1:]
	}
	return append(append(dst, '#'), pid...)
}
