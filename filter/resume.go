package filter

import (
	"encoding/hex"
	"fmt"
	"math"

	"qss-filter/symsrc"
)

// Resume appends lines of markup after which a new filter, of the same options, writes of all that follows what this one
// does; none where it does so at once. ok is false where the log has left more than modules and mappings behind: a line or
// a colour that is open, a list of mappings, a header that says whose lines follow, frames of threads that are told apart in no
// simple way. Then only the log itself, from an earlier place where ok was true, brings a filter here.
func (f *Filter) Resume(dst []byte) (lines []byte, ok bool) {
	o := f.origins
	if f.recorder != nil || f.dedupe != nil || f.ahead.holding() || f.fold.pending() || f.dump.open || f.window > 0 ||
		f.mapped != (f.preload != nil) || f.opt.DumpContext != nil || !f.colour.Plain() || o.long || o.shifted > 0 {
		return dst, false
	}
	for _, w := range o.writers {
		if !w.anonymous {
			return dst, false
		}
	}
	for _, p := range o.processes {
		if p.emitter != unknownEmitter || p.dart != "" || len(p.buildIDs) > 0 {
			return dst, false
		}
	}
	for _, key := range o.state.Processes() {
		p := o.processes[key]
		if p == nil || p != o.nobody.process && len(p.sample) == 0 {
			return dst, false
		}
		if dst, ok = appendSpace(dst, p); !ok {
			return dst, false
		}
	}
	return f.appendStacks(dst)
}

// nowhere is a frame whose address no module has.
const (
	nowhere     = math.MaxUint64
	nowhereText = "{{{bt:0:0xffffffffffffffff}}}"
)

// appendStacks writes frames that leave the stacks which a next frame without a number may belong to, those of which one was no
// more than maxBetween lines ago, as far behind as they are. ok is false where they cannot be told from each other so.
func (f *Filter) appendStacks(dst []byte) (lines []byte, ok bool) {
	var recent [maxBetween + 1]*thread // by how many lines ago their last frame was
	begin := 0
	for _, t := range f.origins.threads {
		if t.trampoline {
			return dst, false
		}
		ago := f.line - t.stack.line
		if t.stack.line == 0 || ago > maxBetween {
			continue
		}
		_, somewhere := t.space.Resolve(nowhere)
		if somewhere || recent[ago] != nil || f.ahead != nil || t != f.origins.nobody && len(t.lead) == 0 {
			return dst, false
		}
		recent[ago], begin = t, max(begin, ago+1)
	}
	for ago := begin - 1; ago >= 0; ago-- {
		if t := recent[ago]; t != nil {
			if t != f.origins.nobody {
				dst = append(dst, t.lead...)
			}
			dst = append(dst, nowhereText...)
		}
		dst = append(dst, '\n')
	}
	return dst, true
}

// appendSpace writes what markup has said of a process's address space, as lines that this process has written. ok is false
// where something else has.
func appendSpace(dst []byte, p *process) (lines []byte, ok bool) {
	space := p.space
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
