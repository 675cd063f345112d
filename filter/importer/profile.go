package importer

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"

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
// with how long it does it. It is for one goroutine.
type Profile struct {
	kinds []ValueKind
	calls []Call
	known map[callKey]int32
	// stacks is a tree: an entry is a call from the one above. Entry 0 is the root.
	stacks []stack
	below  map[edge]int32
	// values holds len(kinds) numbers per entry of stacks: of the stacks that end there.
	values []int64
}

// callKey tells calls apart. Calls without a module and an address differ by their names.
type callKey struct {
	module symsrc.Module
	addr   uint64
	name   string
}

type stack struct{ parent, call int32 }

type edge struct{ parent, call int32 }

// maxDepth is how many of the innermost frames of a stack count.
const maxDepth = 1024

// NewProfile makes an empty profile; each sample has a value of each kind.
func NewProfile(kinds ...ValueKind) *Profile {
	return &Profile{kinds: kinds, known: map[callKey]int32{}, stacks: make([]stack, 1), below: map[edge]int32{},
		values: make([]int64, len(kinds))}
}

// Add adds a sample: a stack, the innermost call first, and its values in the order of the kinds. The stack may be used
// again; the frames of its calls must not change.
func (p *Profile) Add(stack []Call, values ...int64) {
	at := int32(0)
	for i := min(len(stack), maxDepth) - 1; i >= 0; i-- {
		at = p.step(at, p.call(&stack[i]))
	}
	p.add(at, values...)
}

// add adds values to the stack that ends at an entry.
func (p *Profile) add(at int32, values ...int64) {
	for i, v := range values[:min(len(values), len(p.kinds))] {
		p.values[int(at)*len(p.kinds)+i] += v
	}
}

func (p *Profile) call(c *Call) int32 {
	key := callKey{module: c.Module, addr: c.Addr}
	if c.Addr == 0 && len(c.Frames) > 0 {
		key.name = c.Frames[0].Func
	}
	id, ok := p.known[key]
	if !ok {
		id = int32(len(p.calls))
		p.calls = append(p.calls, *c)
		p.known[key] = id
	}
	return id
}

func (p *Profile) step(from, call int32) int32 {
	to, ok := p.below[edge{from, call}]
	if !ok {
		to = int32(len(p.stacks))
		p.stacks = append(p.stacks, stack{from, call})
		p.values = append(p.values, make([]int64, len(p.kinds))...)
		p.below[edge{from, call}] = to
	}
	return to
}

// each gives the stacks that have a value, in the order in which they came first.
func (p *Profile) each(visit func(calls []*Call, values []int64)) {
	n := len(p.kinds)
	var calls []*Call
	for i := range p.stacks {
		values := p.values[i*n : i*n+n]
		if !slices.ContainsFunc(values, func(v int64) bool { return v != 0 }) {
			continue
		}
		calls = calls[:0]
		for at := int32(i); at != 0; at = p.stacks[at].parent {
			calls = append(calls, &p.calls[p.stacks[at].call])
		}
		visit(calls, values)
	}
}

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
func (p *Profile) WriteFolded(w io.Writer) error {
	sums := map[string]int64{}
	p.each(func(calls []*Call, values []int64) {
		var names []string
		for _, c := range slices.Backward(calls) {
			for _, f := range slices.Backward(c.Frames) {
				names = append(names, foldedName(cmp.Or(f.Func, c.name())))
			}
			if len(c.Frames) == 0 {
				names = append(names, foldedName(c.name()))
			}
		}
		sums[strings.Join(names, ";")] += values[0]
	})
	lines := make([]string, 0, len(sums))
	for line := range sums {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	out := bufio.NewWriter(w)
	for _, line := range lines {
		if sums[line] != 0 {
			_, _ = out.WriteString(line + " " + digits(sums[line]) + "\n") // a failed write shows in Flush
		}
	}
	return out.Flush()
}

// foldedName is a name without what parts the fields of a folded line.
func foldedName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case r < ' ':
			return ' '
		}
		return r
	}, s)
}
