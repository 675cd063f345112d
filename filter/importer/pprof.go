package importer

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"qss-filter/symsrc"
)

// The messages of profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto) that are written, and their fields.
const (
	profileSampleType = 1 // of Profile: a ValueType
	profileSample     = 2 // a Sample
	profileMapping    = 3 // a Mapping
	profileLocation   = 4 // a Location
	profileFunction   = 5 // a Function
	profileStrings    = 6 // a string, whose number is its place among them; the first one is empty

	valueType = 1 // of ValueType: a string's number, as for all strings below
	valueUnit = 2

	sampleLocations = 1 // of Sample: packed numbers
	sampleValues    = 2

	mappingID      = 1 // of Mapping
	mappingLimit   = 3
	mappingFile    = 5
	mappingBuildID = 6
	mappingHas     = 7 // and the three after it: functions, file names, lines and inlined functions

	locationID      = 1 // of Location
	locationMapping = 2
	locationAddress = 3
	locationLine    = 4 // a Line

	lineFunction = 1 // of Line
	lineLine     = 2
	lineColumn   = 3

	fnID         = 1 // of Function
	fnName       = 2
	fnSystemName = 3
	fnFile       = 4
)

// WritePprof writes the profile in the format of pprof (profile.proto), compressed. The samples are not collected in memory,
// where they would take many times the size of the stacks: the fields of a message may come in any order.
func (p *Profile) WritePprof(ctx context.Context, w io.Writer) error {
	packed := gzip.NewWriter(w)
	out := bufio.NewWriterSize(packed, 1<<16)
	b := pprofWriter{out: out, functions: map[pprofFunction]uint64{}, mappings: map[symsrc.Module]int{}, strings: map[string]uint64{"": 0}}
	b.bytes(profileStrings, nil)
	for _, k := range p.kinds {
		b.bytes(profileSampleType, appendNumber(appendNumber(nil, valueType, b.string(k.Type)), valueUnit, b.string(k.Unit)))
	}
	for i := range p.calls {
		b.location(uint64(i)+1, &p.calls[i])
	}
	for i := range b.ranges {
		b.mapping(uint64(i)+1, &b.ranges[i])
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
		return b.bytes(profileSample, sample)
	})
	return errors.Join(err, out.Flush(), packed.Close())
}

// pprofWriter writes the functions, modules, addresses and strings of a profile, and numbers them.
type pprofWriter struct {
	out       *bufio.Writer
	functions map[pprofFunction]uint64
	mappings  map[symsrc.Module]int // the index in ranges
	ranges    []pprofRange
	strings   map[string]uint64
	// line and scratch are scratch memory.
	line, scratch []byte
}

// pprofFunction is what functions differ by.
type pprofFunction struct{ name, linkage, file string }

// pprofRange is the mapping of a module. Its addresses are the module's own; pprof needs a range that contains them.
type pprofRange struct {
	module symsrc.Module
	limit  uint64
}

// bytes writes a field of the profile. Its error is that of the output, which stays.
func (b *pprofWriter) bytes(field int, content []byte) error {
	_, err := b.out.Write(appendBytes(b.out.AvailableBuffer(), field, content))
	return err
}

// string returns the number of a string.
func (b *pprofWriter) string(s string) uint64 {
	n, ok := b.strings[s]
	if !ok {
		n = uint64(len(b.strings))
		b.strings[s] = n
		b.bytes(profileStrings, []byte(s))
	}
	return n
}

// location writes the address of a call, with its functions.
func (b *pprofWriter) location(id uint64, c *Call) {
	var mapping uint64
	if c.Module.Name != "" {
		at, ok := b.mappings[c.Module]
		if !ok {
			at = len(b.ranges)
			b.mappings[c.Module] = at
			b.ranges = append(b.ranges, pprofRange{module: c.Module})
		}
		b.ranges[at].limit, mapping = max(b.ranges[at].limit, c.Addr+1), uint64(at)+1
	}
	frames := c.Frames
	if len(frames) == 0 {
		frames = []symsrc.Frame{{}}
	}
	lines := b.scratch[:0]
	for i := range frames {
		f := &frames[i]
		b.line = appendNumber(b.line[:0], lineFunction, b.function(f, c))
		b.line = appendNumber(appendNumber(b.line, lineLine, uint64(f.Line)), lineColumn, uint64(f.Column))
		lines = appendBytes(lines, locationLine, b.line)
	}
	lines = appendNumber(appendNumber(appendNumber(lines, locationID, id), locationMapping, mapping), locationAddress, c.Addr)
	b.bytes(profileLocation, lines)
	b.scratch = lines
}

// mapping writes the mapping of a module.
func (b *pprofWriter) mapping(id uint64, m *pprofRange) {
	text := appendNumber(appendNumber(nil, mappingID, id), mappingLimit, m.limit)
	text = appendNumber(appendNumber(text, mappingFile, b.string(m.module.Name)), mappingBuildID, b.string(m.module.BuildID.String()))
	for has := range 4 {
		text = appendNumber(text, mappingHas+has, 1)
	}
	b.bytes(profileMapping, text)
}

// function returns the number of a function of a call, and writes it the first time.
func (b *pprofWriter) function(f *symsrc.Frame, c *Call) uint64 {
	name := cmp.Or(f.Func, c.name())
	key := pprofFunction{name, f.Linkage, f.File}
	id, ok := b.functions[key]
	if !ok {
		id = uint64(len(b.functions)) + 1
		b.functions[key] = id
		text := appendNumber(appendNumber(nil, fnID, id), fnName, b.string(name))
		text = appendNumber(text, fnSystemName, b.string(cmp.Or(f.Linkage, name)))
		b.bytes(profileFunction, appendNumber(text, fnFile, b.string(f.File)))
	}
	return id
}

// appendNumber appends a field of wire type 0 (varint). A number of 0 is what a reader takes for a field that is not there.
func appendNumber(dst []byte, field int, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(field)<<3), n)
}

// appendBytes appends a field of wire type 2 (length-delimited).
func appendBytes(dst []byte, field int, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}
