package importer

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"qss-filter/filter/print"
	"qss-filter/symsrc"
)

// ValueKind says what one value of a sample counts: `samples` in `count`, `time` in `microseconds`.
type ValueKind struct{ Type, Unit string }

// Call is one physical frame of a stack.
type Call struct {
	// Module is the binary that has the code, Addr the address in its own address space; both may be empty.
	Module symsrc.Module
	Addr   uint64
	// Frames is the chain of functions at the address, innermost first; empty where no name is known.
	Frames []symsrc.Frame
	// assumed is set if these are of a file of this machine that the user has not pointed at.
	assumed bool
}

// Profile sums the values of stacks. Equal stacks share one entry, so that its size depends on the number of different stacks and not
// on the duration. Beyond a bound it is sorted in a temporary file. It must be used by one goroutine only.
type Profile struct {
	kinds []ValueKind
	calls []Call
	known map[callKey]int32
	// room is how many more bytes the calls may take. After that all new calls count as other; others counts them.
	room   int
	other  int32
	others int64
	// stacks counts the stacks by the numbers of their calls, the outermost first.
	stacks *counter
	// err is set when samples can no longer be counted, as on a full disk.
	err error
}

// callKey identifies a call. Calls without a module and an address differ by their names.
type callKey struct {
	module symsrc.Module
	addr   uint64
	name   string
}

const (
	// maxDepth bounds the frames of a stack; the innermost ones count.
	maxDepth = 1024
	// maxCalls bounds the memory for the calls of a profile, in bytes: some 100,000.
	maxCalls = 64 << 20
)

// otherCalls is the module of the calls beyond that bound.
const otherCalls = "[other functions]"

// NewProfile returns an empty profile; each sample has a value of each kind.
func NewProfile(kinds ...ValueKind) *Profile {
	return &Profile{kinds: kinds, known: map[callKey]int32{}, room: maxCalls, other: -1, stacks: newCounter(len(kinds))}
}

// Close removes the temporary files.
func (p *Profile) Close() {
	if p != nil {
		p.stacks.close()
	}
}

// Add adds a sample: a stack, the innermost call first, and its values in the order of the kinds. The caller may reuse the
// stack, but must not change the frames of its calls.
func (p *Profile) Add(stack []Call, values ...int64) {
	if len(stack) == 0 || !p.makeRoom() {
		return
	}
	at := int32(0)
	for i := min(len(stack), maxDepth) - 1; i >= 0; i-- {
		at = p.step(at, p.call(&stack[i]))
	}
	p.add(at, values...)
}

// makeRoom makes room for a stack. If it spills the stacks, all entries become invalid. It
// returns false when no more can be counted.
func (p *Profile) makeRoom() bool {
	if p.err == nil && p.stacks.full() {
		p.err = p.stacks.spill()
	}
	return p.err == nil
}

// step returns the entry of a call from another entry.
func (p *Profile) step(from, call int32) int32 { return p.stacks.step(from, call) }

// add adds values to the stack that ends at an entry.
func (p *Profile) add(at int32, values ...int64) { p.stacks.add(at, values...) }

func (p *Profile) call(c *Call) int32 {
	key := callKey{module: c.Module, addr: c.Addr}
	if c.Addr == 0 && len(c.Frames) > 0 {
		key.name = c.Frames[0].Func
	}
	id, ok := p.known[key]
	switch {
	case ok:
		return id
	case p.room < 0:
		if p.others++; p.other < 0 {
			p.other = int32(len(p.calls))
			p.calls = append(p.calls, Call{Module: symsrc.Module{Name: otherCalls}})
		}
		return p.other
	}
	id = int32(len(p.calls))
	p.calls = append(p.calls, *c)
	p.known[key] = id
	p.room -= c.size()
	return id
}

// size returns the approximate memory of a call in a profile, in bytes.
func (c *Call) size() int {
	n := int(2*unsafe.Sizeof(*c)+unsafe.Sizeof(callKey{})) + len(c.Module.Name) + len(c.Module.BuildID) + len(c.Module.Member)
	for i := range c.Frames {
		f := &c.Frames[i]
		n += int(unsafe.Sizeof(*f)) + len(f.Func) + len(f.Linkage) + len(f.File)
	}
	return n
}

// each visits the stacks that have a value, the outermost call first. The slices are valid until visit returns.
func (p *Profile) each(ctx context.Context, visit func(calls []int32, values []int64) error) error {
	if p.err != nil {
		return p.err
	}
	return p.stacks.each(ctx, visit)
}

// notes returns remarks on what the sums of the profile leave out.
func (p *Profile) notes() (all []string) {
	if p.others > 0 {
		all = append(all, fmt.Sprintf("the profile distinguishes %d functions; %d calls of others count as %s",
			len(p.calls)-1, p.others, otherCalls))
	}
	if p.stacks.spilled > 0 {
		all = append(all, fmt.Sprintf("more than %d different stacks: they were counted in a temporary file in %s", p.stacks.limit, os.TempDir()))
	}
	if p.stacks.beyond {
		all = append(all, beyondNote)
	}
	return all
}

// beyondNote is the remark on a sum that has overflowed.
const beyondNote = "a sum is beyond 64 bits: the greatest number of 64 bits is in its place"

// name returns the name of a call without a known function: that of its module.
func (c *Call) name() string {
	if c.Module.Name == "" {
		return "[unknown]"
	}
	if strings.HasPrefix(c.Module.Name, "[") {
		return c.Module.Name
	}
	return "[" + c.Module.Name + "]"
}

// WriteFolded writes a line for each stack, the outermost function first, with the first value: `main;work;step 471`.
func (p *Profile) WriteFolded(ctx context.Context, w io.Writer) error {
	names, chains := p.foldedNames()
	lines := newCounter(1)
	defer lines.close()
	err := p.each(ctx, func(calls []int32, values []int64) error {
		if lines.full() {
			if err := lines.spill(); err != nil {
				return err
			}
		}
		at := int32(0)
		for _, c := range calls {
			for _, name := range chains[c] {
				at = lines.step(at, name)
			}
		}
		lines.add(at, values[0])
		return nil
	})
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	err = lines.inOrder(ctx, func(path []int32, values []int64) error {
		for i, name := range path {
			if i > 0 {
				_ = out.WriteByte(';')
			}
			_, _ = out.WriteString(names[name])
		}
		_, err := fmt.Fprintf(out, " %d\n", values[0])
		return err
	})
	p.stacks.beyond = p.stacks.beyond || lines.beyond
	return errors.Join(err, out.Flush())
}

// foldedNames returns the names of all functions in the order of their folded lines, and for each call of the
// profile the names of its chain, the outermost first.
func (p *Profile) foldedNames() (names []string, chains [][]int32) {
	numbers := map[string]int32{}
	each := func(c *Call, visit func(name string)) {
		for _, f := range slices.Backward(c.Frames) {
			visit(foldedName(cmp.Or(f.Func, c.name())))
		}
		if len(c.Frames) == 0 {
			visit(foldedName(c.name()))
		}
	}
	for i := range p.calls {
		each(&p.calls[i], func(name string) { numbers[name] = 0 })
	}
	names = slices.SortedFunc(maps.Keys(numbers), compareFolded)
	for i, name := range names {
		numbers[name] = int32(i)
	}
	chains = make([][]int32, len(p.calls))
	for i := range p.calls {
		each(&p.calls[i], func(name string) { chains[i] = append(chains[i], numbers[name]) })
	}
	return names, chains
}

// compareFolded compares a and b as if a semicolon followed each.
func compareFolded(a, b string) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 || len(a) == len(b) {
		return c
	}
	if len(a) > n {
		return cmp.Compare(a[n], ';')
	}
	return cmp.Compare(';', b[n])
}

// foldedName returns a name without the separators of folded lines.
func foldedName(s string) string {
	return symsrc.Visible(strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case r < ' ':
			return ' '
		}
		return r
	}, s))
}

// row is a line of a table: a name, and the values of the stacks whose innermost function it is.
type row struct {
	name   string
	values []int64
}

// WriteTable writes one line per function, address, line or module: each value with its percentage, then the name. The greatest
// value comes first.
func (p *Profile) WriteTable(ctx context.Context, w io.Writer, by By) error {
	out := bufio.NewWriter(w)
	sums := map[string]*row{}
	total := make([]int64, len(p.kinds))
	names := make([]*row, len(p.calls))
	err := p.each(ctx, func(calls []int32, values []int64) error {
		innermost := calls[len(calls)-1]
		r := names[innermost]
		if r == nil {
			name := p.calls[innermost].groupName(by)
			if r = sums[name]; r == nil {
				r = &row{name, make([]int64, len(p.kinds))}
				sums[name] = r
			}
			names[innermost] = r
		}
		for i, v := range values {
			p.stacks.addTo(&r.values[i], v)
			p.stacks.addTo(&total[i], v)
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows := make([]*row, 0, len(sums))
	for _, r := range sums {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(slices.Compare(b.values, a.values), cmp.Compare(a.name, b.name))
	})
	for _, k := range p.kinds {
		_, _ = fmt.Fprintf(out, "%12s       %%  ", columnName(k))
	}
	_, _ = fmt.Fprintln(out, by)
	for _, r := range rows {
		for i, v := range r.values {
			_, _ = fmt.Fprintf(out, "%12d %6.2f%%  ", v, percent(v, total[i]))
		}
		_, _ = fmt.Fprintln(out, plain(r.name))
	}
	return out.Flush()
}

func columnName(k ValueKind) string {
	if k.Unit == "count" {
		return k.Type
	}
	return k.Type + "/" + map[string]string{"microseconds": "us", "nanoseconds": "ns"}[k.Unit]
}

// percent returns the percentage of a total.
func percent(v, total int64) float64 {
	if total == 0 {
		return 0
	}
	return 100 * float64(v) / float64(total)
}

// String returns the word of the flag.
func (b By) String() string {
	return [...]string{"", "function", "address", "line", "module"}[b]
}

// groupName returns the name of the group of a call.
func (c *Call) groupName(by By) string {
	function, place := c.name(), ""
	if len(c.Frames) > 0 {
		f := &c.Frames[0]
		function = cmp.Or(f.Func, function)
		if f.File != "" {
			place = " " + f.File + ":" + strconv.Itoa(f.Line)
		}
	}
	switch by {
	case ByModule:
		return cmp.Or(c.Module.Name, "[unknown]")
	case ByLine:
		return function + place
	case ByAddress:
		if c.Addr != 0 {
			return fmt.Sprintf("%s+%#x %s%s", path.Base(cmp.Or(c.Module.Name, "?")), c.Addr, function, place)
		}
	}
	return function
}

const (
	// maxBetween is how many lines may come between two frames of a stack whose frames have no numbers.
	maxBetween = 3
	// maxOpen bounds the open stacks. With more of them, the one that has waited longest ends.
	maxOpen = 1 << 12
)

// LogStacks collects a profile of the stacks in a log: each stack is one sample.
type LogStacks struct {
	profile *Profile
	open    map[any]*logStack // by thread
	// next, if not nil, is called with each frame.
	next func(*print.Observation)
}

// logStack is an open stack.
type logStack struct {
	calls  []Call
	number uint64
	line   int
}

// NewLogStacks returns an empty LogStacks. It passes observations on to next, if that is not nil.
func NewLogStacks(next func(*print.Observation)) *LogStacks {
	return &LogStacks{profile: NewProfile(ValueKind{"samples", "count"}), open: map[any]*logStack{}, next: next}
}

// Observe adds a frame of the log.
func (s *LogStacks) Observe(o *print.Observation) {
	if s.next != nil {
		s.next(o)
	}
	if o.Sentence || o.Data || !o.Located && len(o.Frames) == 0 {
		return
	}
	st := s.open[o.Thread]
	if st == nil {
		if len(s.open) >= maxOpen {
			s.endOldest()
		}
		st = &logStack{}
		s.open[o.Thread] = st
	}
	if o.Numbered && o.Number <= st.number || !o.Numbered && o.Line > st.line+maxBetween {
		s.end(st)
	}
	if len(st.calls) < maxDepth { // the innermost ones come first
		st.calls = append(st.calls, Call{Module: o.Module, Addr: o.At, Frames: o.Frames})
	}
	st.number, st.line = o.Number, o.Line
}

func (s *LogStacks) end(st *logStack) {
	if len(st.calls) > 0 {
		s.profile.Add(st.calls, 1)
		st.calls = st.calls[:0]
	}
}

// endOldest ends the stack that has had no frame for the longest time.
func (s *LogStacks) endOldest() {
	var oldest any
	for thread, st := range s.open {
		if oldest == nil || st.line < s.open[oldest].line {
			oldest = thread
		}
	}
	s.end(s.open[oldest])
	delete(s.open, oldest)
}

// Save ends the stacks and writes the profile to the files of the options.
func (s *LogStacks) Save(ctx context.Context, o *Options) error {
	defer s.profile.Close()
	for _, st := range s.open {
		s.end(st)
	}
	err := o.Save(ctx, s.profile)
	for _, note := range s.profile.notes() {
		o.warn(note)
	}
	return err
}
