package resolve

import (
	"encoding/hex"
	"fmt"
	"math"

	"qss-filter/symsrc"
)

// Resume appends lines that bring a new resolver to the state of this one, after that many lines of the log. waits is set if
// frames may wait for mappings. ok is false if there are no such lines.
func (r *Resolver) Resume(dst []byte, line int, waits bool) (lines []byte, ok bool) {
	o := r.Processes
	if r.Mapped != (r.lists.preload != nil) || o.Shifted > 0 || r.Java != nil && o.ofJava() {
		return dst, false
	}
	for _, w := range o.writers {
		if !w.anonymous {
			return dst, false
		}
	}
	for _, p := range o.byKey {
		if p.Emitter != (emitter{}) || p.reported || p.dart != "" || p.sum != "" || len(p.buildIDs) > 0 {
			return dst, false
		}
	}
	for _, key := range o.state.Processes() {
		p := o.byKey[key]
		if p == nil || p != o.Unnamed.Process && len(p.sample) == 0 {
			return dst, false
		}
		if dst, ok = appendSpace(dst, p); !ok {
			return dst, false
		}
	}
	return r.appendStacks(dst, line, waits)
}

// nowhere is an address that no module has, and nowhereText a frame there.
const (
	nowhere     = math.MaxUint64
	nowhereText = "{{{bt:0:0xffffffffffffffff}}}"
)

// appendStacks writes frames for the stacks to which a next frame without a number may belong: those with a frame at most
// maxBetween lines ago. Each of these lies as many lines back as in the log. ok is false if that is not possible.
func (r *Resolver) appendStacks(dst []byte, line int, waits bool) (lines []byte, ok bool) {
	var recent [maxBetween + 1]*Thread // by how many lines ago their last frame was
	begin := 0
	for _, t := range r.Processes.threads {
		if t.trampoline || t.fault != 0 || t.Stack.top || t.Stack.isListing(line) || t.above == maybeTrampoline {
			return dst, false
		}
		ago := line - t.Stack.Line
		if t.Stack.Line == 0 || ago > maxBetween {
			continue
		}
		_, somewhere := t.Space.Resolve(nowhere)
		if somewhere || recent[ago] != nil || waits || t != r.Processes.Unnamed && len(t.lead) == 0 {
			return dst, false
		}
		recent[ago], begin = t, max(begin, ago+1)
	}
	for ago := begin - 1; ago >= 0; ago-- {
		if t := recent[ago]; t != nil {
			if t != r.Processes.Unnamed {
				dst = append(dst, t.lead...)
			}
			dst = append(dst, nowhereText...)
		}
		dst = append(dst, '\n')
	}
	return dst, true
}

// appendSpace writes the modules and mappings that markup has defined for a process, as lines of this process. ok is false if it
// has others.
func appendSpace(dst []byte, p *Process) (lines []byte, ok bool) {
	space := p.Space
	if space.Listed() || space.Cut() {
		return dst, false
	}
	for _, m := range space.Modules() {
		dst = append(dst, p.sample...)
		dst = fmt.Appendf(dst, "{{{module:%#x:%s:elf:%s}}}\n", m.ID, m.Name, hex.EncodeToString([]byte(m.BuildID)))
	}
	for _, r := range space.Mappings() {
		now, defined := space.Module(r.Module.ID)
		if !defined || now != r.Module || r.Space != symsrc.Linked || r.Last-r.Start == math.MaxUint64 {
			return dst, false
		}
		dst = append(dst, p.sample...)
		dst = fmt.Appendf(dst, "{{{mmap:%#x:%#x:load:%#x:%s:%#x}}}\n", r.Start, r.Last-r.Start+1, r.Module.ID, r.Mode, r.Rel)
	}
	return dst, true
}

// ofJava reports whether a trace of Java may go on, or a process has said which maps it needs, or which are not its own.
func (o *Processes) ofJava() bool {
	for _, t := range o.threads {
		if t.java != nil && t.java.open || t.javaMaps != nil || len(t.refutedMaps) > 0 {
			return true
		}
	}
	return false
}
