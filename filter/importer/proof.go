package importer

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"path"
	"slices"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
)

// proof decides which names of a profile hold. No input has build IDs, so that this machine's files may not be those that ran. Those that
// the user has not pointed at name a call only if the stacks of the input prove it, as in a log.
type proof struct {
	resolver *resolve.Resolver // nil until there is such a file
	line     int
	seed     maphash.Seed
	weighed  map[uint64]bool // hashes of stacks
	// refused counts the calls without names for each reason, and modules has the modules of these calls.
	refused map[string]int
	modules map[string]map[string]bool
}

// weigh takes a stack of calls as evidence, the innermost one first.
func (p *proof) weigh(ctx context.Context, o *Options, calls []Call) {
	if !slices.ContainsFunc(calls, func(c Call) bool { return c.assumed }) {
		return
	}
	if p.resolver == nil {
		p.seed = maphash.MakeSeed()
		p.resolver = resolve.New(resolve.Options{Symbols: o.Symbols, Trust: o.Trust, Broken: o.warn})
	}
	if !p.isNew(calls) {
		return
	}
	stack, thread := &resolve.Stack{}, p.resolver.Processes.Unnamed
	for i := range calls {
		fr := parse.Frame{Frame: frame.Frame{Num: frame.Span{End: 1}, Number: uint64(i), Offset: calls[i].Addr + 1}, ModuleText: []byte(calls[i].Module.Name)}
		p.line++
		p.resolver.Proofs.Add(ctx, stack, thread, p.line, nil, &fr)
	}
	p.resolver.Proofs.Weigh(ctx, stack)
}

// maxWeighed is how many stacks are remembered. Beyond it all are forgotten, and may be weighed again.
const maxWeighed = 1 << 16

// isNew reports whether a stack was not weighed before. Weighed again it would say the same.
func (p *proof) isNew(calls []Call) bool {
	var h maphash.Hash
	h.SetSeed(p.seed)
	var addr [8]byte
	for i := range calls {
		binary.LittleEndian.PutUint64(addr[:], calls[i].Addr)
		_, _ = h.Write(addr[:])
		_, _ = h.WriteString(calls[i].Module.Name)
		_ = h.WriteByte(0)
	}
	sum := h.Sum64()
	if p.weighed[sum] {
		return false
	}
	if p.weighed == nil || len(p.weighed) >= maxWeighed {
		p.weighed = map[uint64]bool{}
	}
	p.weighed[sum] = true
	return true
}

// verify takes the names of a call away if its file is not proven.
func (p *proof) verify(c *Call) {
	if !c.assumed || len(c.Frames) == 0 {
		return
	}
	if why := p.resolver.Proofs.Refusal(p.resolver.Processes.Unnamed.Process, p.resolver.Module([]byte(c.Module.Name), ""), c.Addr+1); why != "" {
		p.refuse(c, why)
	}
}

// refuse takes the names of a call away.
func (p *proof) refuse(c *Call, why string) {
	c.Frames = nil
	if p.refused == nil {
		p.refused, p.modules = map[string]int{}, map[string]map[string]bool{}
	}
	if p.modules[why] == nil {
		p.modules[why] = map[string]bool{}
	}
	p.refused[why]++
	p.modules[why][path.Base(c.Module.Name)] = true
}

// notes returns a remark for each reason.
func (p *proof) notes() (all []string) {
	for _, why := range slices.Sorted(maps.Keys(p.refused)) {
		modules := slices.Sorted(maps.Keys(p.modules[why]))
		of := modules[0]
		if n := len(modules) - 1; n > 0 {
			of += fmt.Sprintf(" and %d more", n)
		}
		all = append(all, fmt.Sprintf("%s: addresses without a name: %d: %s", of, p.refused[why], why))
	}
	return all
}
