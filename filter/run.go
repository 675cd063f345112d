package filter

import (
	"bytes"
	"context"
	"math"

	"qss-filter/filter/print"

	"qss-filter/ctxstate"
	"qss-filter/filter/linecache"
	"qss-filter/filter/parse"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// quick is what the filter knows of lines of markup.
type quick struct {
	known  linecache.Elements[knownSays]
	showed linecache.Outputs[shownBy]
	tails  linecache.Outputs[shownTail]
	block  contextBlock
	// off is set where every line is to be looked at in full: a test compares.
	off bool
}

// knownSays is what a context element says that was seen before.
type knownSays struct {
	tag    markup.Tag
	module markup.ModuleFields
	mmap   markup.MMapFields
	// head is the begin of the module's line, or the line of a reset.
	head, end []byte
}

// shownBy is what a known frame is due to.
type shownBy struct {
	due
	typ markup.PCType
}

func (q *quick) init() {
	q.known.Init()
	q.showed.Init()
	q.tails.Init()
}

// run handles the lines at the begin of b that need no second look, since they are like others before, and gives the
// bytes that they are. b is of complete lines.
func (f *Filter) run(ctx context.Context, dst, b []byte) (out []byte, n int) {
	text := b[0] == ' ' || b[0] == '#'
	if !text && !bytes.HasPrefix(b, parse.OpenBraces) || f.quick.off || f.dump.open || f.parser.Long || f.dedupe != nil || f.told() || f.ahead != nil ||
		f.opt.Style != print.Annotate || !f.text.Color.Plain() {
		return dst, 0
	}
	if text {
		return f.knownText(ctx, dst, b)
	}
	if f.opt.Renumber == print.RenumberAlways {
		return dst, 0
	}
	t := f.resolver.Processes.Unnamed // nothing stands before the elements
	folds := f.opt.Context == print.ContextFold && f.opt.DumpContext == nil
	block := &f.quick.block
	for len(dst) < stream.MaxOutput && bytes.HasPrefix(b[n:], parse.OpenBraces) {
		f.reach(dst, n)
		used, line := 0, b[n:]
		switch {
		case bytes.HasPrefix(line, linecache.BTStart):
			block.end(f, t, dst, b[:n])
			used, dst = f.knownFrame(ctx, dst, t, line)
		case !folds:
		case bytes.HasPrefix(line, linecache.MMapStart):
			used, dst = f.knownMapping(dst, t, line)
		case bytes.HasPrefix(line, linecache.ModuleStart):
			used, dst = f.knownModule(dst, t, line)
		case bytes.HasPrefix(line, linecache.ResetStart):
			block.end(f, t, dst, b[:n])
			if used, dst = f.replay(dst, t, line); used == 0 {
				used, dst = f.knownReset(dst, t, line, n)
			}
		}
		if used == 0 {
			break
		}
		n += used
	}
	block.end(f, t, dst, b[:n])
	return dst, n
}

// knownFrame handles a bt element that is alone on its line.
func (f *Filter) knownFrame(ctx context.Context, dst []byte, t *resolve.Thread, b []byte) (used int, out []byte) {
	if f.opt.Maps != nil && t.Space.Empty() {
		return 0, dst // the mappings of a running process count, which may be others by now
	}
	line := b[:bytes.IndexByte(b, '\n')+1]
	generation := t.Space.Generation()
	s, again := f.quick.showed.Slot(line, generation)
	if s.Is(line, generation) && f.stillDue(&s.By.due, t, f.resolver.AdjustMarkup(t, s.By.typ, false)) {
		f.line++
		s.By.answer.Count()
		t.Over(f.line, s.By.answer)
		if f.objects != nil {
			dst = record.AppendNumber(dst, f.line)
		}
		return len(line), append(f.text.Fold.Flush(dst), s.Text()...)
	}
	bt, end, ok := markup.BTLine(line)
	if !ok {
		return 0, dst
	}
	by := shownBy{typ: bt.Type}
	take := f.resolver.AdjustMarkup(t, by.typ, false)
	f.line++
	dst = f.text.Fold.Flush(dst)
	f.resolver.Ahead(b[len(line):], t)
	before := len(dst)
	if f.objects != nil {
		f.out.Begin(f.line, line)
		dst = f.out.End(f.readable(ctx, dst, line))
		before = len(dst) - len(record.CutNumber(dst[before:]))
	} else {
		dst, _ = f.bareFrame(ctx, dst, t, line[:len(line)-len(end)], end)
	}
	by.due = dueTo(t, f.resolver.ResolveAddress(ctx, t.Process, bt.Addr, symsrc.Code, take), take)
	if f.quick.showed.Settled(generation) && again && len(by.answer.Frames) > 0 && !print.Awaited(by.answer) &&
		len(dst) > before && len(dst)-before <= linecache.MaxText && len(line) <= linecache.MaxLine {
		f.quick.showed.Keep(s, line, dst[before:], generation, by)
	}
	return len(line), dst
}

// knownMapping handles a mapping whose text behind the address is known.
func (f *Filter) knownMapping(dst []byte, t *resolve.Thread, b []byte) (used int, out []byte) {
	start, at, ok := scan.Hex(b, len(linecache.MMapStart))
	if !ok {
		return 0, dst
	}
	e := f.quick.known.Find(b[at:], learnMapping)
	if e == nil || e.Says.tag != markup.MMap || cutTo32(b[len(linecache.MMapStart)-len("0x"):at]) {
		return 0, dst
	}
	m := e.Says.mmap
	m.Start = start
	if _, ok := t.Space.Module(m.ModuleID); !ok || m.Size != 0 && m.Size-1 > math.MaxUint64-start {
		return 0, dst
	}
	in, err := t.Space.AddMMap(m)
	if err != nil {
		return 0, dst
	}
	f.line++
	f.quick.known.Follow(e)
	return at + len(e.Text), f.text.Fold.Add(dst, in.Module, print.Range{Start: start, Last: start + m.Size - 1, Mode: m.Mode}, nil, e.Says.end)
}

// knownModule handles the definition of a module that is new, or the same as before.
func (f *Filter) knownModule(dst []byte, t *resolve.Thread, b []byte) (used int, out []byte) {
	e := f.quick.known.Find(b, learnModule)
	if e == nil || e.Says.tag != markup.Module {
		return 0, dst
	}
	def := &e.Says.module
	if old, ok := t.Space.Module(def.ID); ok && (old.Name != def.Name || old.BuildID != def.BuildID) {
		return 0, dst
	}
	t.Space.AddModule(*def)
	m, _ := t.Space.Module(def.ID)
	f.line++
	f.quick.known.Follow(e)
	return len(e.Text), f.text.Fold.DefineKnown(dst, m, e.Says.head, e.Says.end)
}

// knownReset handles a reset, which is at b[at:] of what run looks at.
func (f *Filter) knownReset(dst []byte, t *resolve.Thread, b []byte, at int) (used int, out []byte) {
	e := f.quick.known.Find(b, learnReset)
	if e == nil || e.Says.tag != markup.Reset {
		return 0, dst
	}
	if t.Space.Reset() {
		dst = f.text.Fold.Flush(dst)
		f.quick.block.begin(f, dst, at)
		dst = append(dst, e.Says.head...)
	}
	f.line++
	f.quick.known.Follow(e)
	return len(e.Text), dst
}

// learnMapping reads what stands behind the address of a mapping.
func learnMapping(text []byte) (k knownSays, ok bool) {
	line := append([]byte("{{{mmap:0x0"), text...)
	e, ok := alone(line, markup.MMap, &k)
	if !ok {
		return k, false
	}
	var err error
	k.mmap, err = markup.ParseMMap(&e)
	return k, err == nil
}

// learnModule reads the definition of a module.
func learnModule(line []byte) (k knownSays, ok bool) {
	e, ok := alone(line, markup.Module, &k)
	if !ok {
		return k, false
	}
	var err error
	if k.module, err = markup.ParseModule(&e); err != nil {
		return k, false
	}
	k.head = print.AppendModuleHead(nil, &ctxstate.Module{ID: k.module.ID, Name: k.module.Name, BuildID: k.module.BuildID}, true)
	return k, true
}

// learnReset reads a reset.
func learnReset(line []byte) (k knownSays, ok bool) {
	e, ok := alone(line, markup.Reset, &k)
	k.head = append(print.AppendReset(nil, &e), k.end...)
	return k, ok
}

// alone returns the element that a line consists of.
func alone(line []byte, tag markup.Tag, k *knownSays) (e markup.Element, ok bool) {
	body, end := parse.CutEnd(line)
	for _, other := range [...][]byte{resolve.SanitizerWord, resolve.RuntimeError, resolve.SummaryWord, {0x1b}} {
		if bytes.Contains(body, other) { // which means something to others
			return e, false
		}
	}
	e, ok = markup.Next(body, 0)
	k.tag, k.end = tag, bytes.Clone(end)
	return e, ok && e.Tag == tag && e.Start == 0 && e.End == len(body) && len(end) > 0
}
