package importer

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"qss-filter/symsrc"
)

// WritePprof writes the profile in the form of pprof (profile.proto), compressed. The samples are not put together in memory,
// where they take many times what the stacks do: a message may be written in parts, each with some of its fields.
func (p *Profile) WritePprof(ctx context.Context, w io.Writer) error {
	b := pprofBuilder{functions: map[functionKey]*profile.Function{}, mappings: map[symsrc.Module]*profile.Mapping{}}
	for _, k := range p.kinds {
		b.out.SampleType = append(b.out.SampleType, &profile.ValueType{Type: k.Type, Unit: k.Unit})
	}
	for i := range p.calls {
		b.location(&p.calls[i]) // its ID is i+1
	}
	packed := gzip.NewWriter(w)
	out := bufio.NewWriterSize(packed, 1<<16)
	if err := b.out.WriteUncompressed(out); err != nil {
		return err
	}
	var sample, ids, numbers []byte
	err := p.each(ctx, func(calls []int32, values []int64) error {
		ids, numbers = ids[:0], numbers[:0]
		for _, c := range slices.Backward(calls) {
			ids = binary.AppendUvarint(ids, uint64(c)+1)
		}
		for _, v := range values {
			numbers = binary.AppendUvarint(numbers, uint64(v))
		}
		sample = appendBytes(appendBytes(sample[:0], sampleLocations, ids), sampleValues, numbers)
		_, err := out.Write(appendBytes(out.AvailableBuffer(), profileSample, sample))
		return err
	})
	return errors.Join(err, out.Flush(), packed.Close())
}

// The numbers of fields of profile.proto.
const (
	profileSample   = 2 // of Profile: a Sample
	sampleLocations = 1 // of Sample: packed numbers
	sampleValues    = 2
)

// appendBytes appends a field of length-delimited wire type (2).
func appendBytes(dst []byte, field int, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// pprofBuilder numbers the functions, modules and addresses of a profile, from 1.
type pprofBuilder struct {
	out       profile.Profile
	functions map[functionKey]*profile.Function
	mappings  map[symsrc.Module]*profile.Mapping
}

type functionKey struct{ name, linkage, file string }

func (b *pprofBuilder) location(c *Call) {
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
