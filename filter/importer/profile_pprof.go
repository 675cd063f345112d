package importer

import (
	"io"

	"github.com/google/pprof/profile"

	"qss-filter/symsrc"
)

// WritePprof writes the profile in the form of pprof (profile.proto), compressed.
func (p *Profile) WritePprof(w io.Writer) error {
	b := pprofBuilder{functions: map[functionKey]*profile.Function{}, mappings: map[symsrc.Module]*profile.Mapping{}}
	for _, k := range p.kinds {
		b.out.SampleType = append(b.out.SampleType, &profile.ValueType{Type: k.Type, Unit: k.Unit})
	}
	locations := make(map[*Call]*profile.Location, len(p.calls))
	for i := range p.calls {
		locations[&p.calls[i]] = b.location(&p.calls[i])
	}
	p.each(func(calls []*Call, values []int64) {
		s := &profile.Sample{Value: append([]int64(nil), values...)}
		for _, c := range calls {
			s.Location = append(s.Location, locations[c])
		}
		b.out.Sample = append(b.out.Sample, s)
	})
	return b.out.Write(w)
}

// pprofBuilder numbers the functions, modules and addresses of a profile, from 1.
type pprofBuilder struct {
	out       profile.Profile
	functions map[functionKey]*profile.Function
	mappings  map[symsrc.Module]*profile.Mapping
}

type functionKey struct{ name, linkage, file string }

func (b *pprofBuilder) location(c *Call) *profile.Location {
	l := &profile.Location{ID: uint64(len(b.out.Location) + 1), Address: c.Addr}
	if c.Module.Name != "" {
		l.Mapping = b.mapping(c)
	}
	for i := range c.Frames {
		l.Line = append(l.Line, b.line(&c.Frames[i], c))
	}
	if len(c.Frames) == 0 {
		l.Line = []profile.Line{b.line(&symsrc.Frame{}, c)}
	}
	b.out.Location = append(b.out.Location, l)
	return l
}

// mapping is that of a module. Its addresses are the module's own; pprof wants a range that holds them.
func (b *pprofBuilder) mapping(c *Call) *profile.Mapping {
	m := b.mappings[c.Module]
	if m == nil {
		m = &profile.Mapping{ID: uint64(len(b.out.Mapping) + 1), File: c.Module.Name, BuildID: c.Module.BuildID.String(),
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
		b.mappings[c.Module] = m
		b.out.Mapping = append(b.out.Mapping, m)
	}
	m.Limit = max(m.Limit, c.Addr+1)
	return m
}

func (b *pprofBuilder) line(f *symsrc.Frame, c *Call) profile.Line {
	name := f.Func
	if name == "" {
		name = c.name()
	}
	key := functionKey{name, f.Linkage, f.File}
	fn := b.functions[key]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(b.out.Function) + 1), Name: name, SystemName: f.Linkage, Filename: f.File}
		if fn.SystemName == "" {
			fn.SystemName = name
		}
		b.functions[key] = fn
		b.out.Function = append(b.out.Function, fn)
	}
	return profile.Line{Function: fn, Line: int64(f.Line), Column: int64(f.Column)}
}
