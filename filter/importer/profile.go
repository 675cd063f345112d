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
	"slices"
	"strings"
	"unsafe"

	"qss-filter/symsrc"
)

// ValueKind says what one value of a sample counts: `samples` in `count`, `time` in `microseconds`.
type ValueKind struct{ Type, Unit string }

// Call is one physical frame of a stack.
type Call struct {
	// Module is the binary that the code is from, Addr the address in its own address space; both may be empty.
	Module symsrc.Module
	Addr   uint64
	// Frames is the chain of functions at the address, innermost first; empty where no name is known.
	Frames []symsrc.Frame
}

// Profile is a sum of stacks with values. Equal stacks share one entry, so that it grows with what a program does and not
// with how long it does it, and beyond a bound it is sorted in a temporary file. It is for one goroutine.
type Profile struct {
	kinds []ValueKind
	calls []Call
	known map[callKey]int32
	// room is how many bytes more the calls may take. Beyond that all new ones are other, of which there were others.
	room   int
	other  int32
	others int64
	// stacks counts the stacks by the numbers of their calls, the outermost first.
	stacks *counter
	// err is what keeps samples from being counted: a full disk.
	err error
}

// callKey tells calls apart. Calls without a module and an address differ by their names.
type callKey struct {
	module symsrc.Module
	addr   uint64
	name   string
}

const (
	// maxDepth is how many of the innermost frames of a stack count.
	maxDepth = 1024
	// maxCalls bounds the memory for the calls of a profile, in bytes: some 100,000.
	maxCalls = 64 << 20
)

// otherCalls is the module of the calls that there is no room for.
const otherCalls = "[other functions]"

// NewProfile makes an empty profile; each sample has a value of each kind.
func NewProfile(kinds ...ValueKind) *Profile {
	return &Profile{kinds: kinds, known: map[callKey]int32{}, room: maxCalls, other: -1, stacks: newCounter(len(kinds))}
}

// Close removes what the profile has in temporary files.
func (p *Profile) Close() {
	if p != nil {
		p.stacks.close()
	}
}

// Add adds a sample: a stack, the innermost call first, and its values in the order of the kinds. The stack may be used
// again; the frames of its calls must not change.
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

// makeRoom sees to it that a stack can be added. Where it writes stacks out, none that is known has its entry any more. It
// reports false when no more can be counted.
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

// size is about how many bytes a profile takes for a call.
func (c *Call) size() int {
	n := int(2*unsafe.Sizeof(*c)+unsafe.Sizeof(callKey{})) + len(c.Module.Name) + len(c.Module.BuildID) + len(c.Module.Member)
	for i := range c.Frames {
		f := &c.Frames[i]
		n += int(unsafe.Sizeof(*f)) + len(f.Func) + len(f.Linkage) + len(f.File)
	}
	return n
}

// each visits the stacks that have a value, the outermost call first. What it visits with is valid until visit returns.
func (p *Profile) each(ctx context.Context, visit func(calls []int32, values []int64) error) error {
	if p.err != nil {
		return p.err
	}
	return p.stacks.each(ctx, visit)
}

// notes says what the sums of the profile leave out.
func (p *Profile) notes() (all []string) {
	if p.others > 0 {
		all = append(all, fmt.Sprintf("%d functions are told apart in the profile; %d calls of more of them count as %s",
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

// beyondNote says that a sum is not what its values add up to.
const beyondNote = "a sum is beyond 64 bits: the greatest number of 64 bits stands in its place"

// name is what a call is called where no function is known: by its module.
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

// foldedNames returns the names of all functions in the order that text has them before a semicolon, and for each call of the
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

// foldedName is a name without what parts the fields of a folded line.
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
