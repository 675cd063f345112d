package worker

import (
	"errors"
	"runtime"
	"strings"
	"time"

	"qss-filter/filter"
	"qss-filter/symsrc"
)

// Options say what a worker does.
type Options struct {
	Connection
	// Stream has the lines, under the subjects In, of which Key says what tells processes apart; Key "" is In.
	Stream, In, Key string
	// Out is the subject of annotated lines, with `>` for the key, in OutStream; "" names that after Out.
	Out, OutStream string
	// Durable is the name that all workers of one fleet share: consumers and the bucket of states have it.
	Durable string
	// Partitions is how many there are in streams that are created, and Replicas how many servers keep those.
	Partitions, Replicas int
	// Parallel is how many lines are annotated at once; 0 for as many as there are cores.
	Parallel int
	// Filters bounds the processes that are held in memory, and Memory what they take together, in bytes; 0 is DefaultMemory. The
	// others are restored when they write again.
	Filters int
	Memory  int64
	// Idle is how long text that is held back waits for the next line of its process.
	Idle time.Duration
	// Metrics is the address that metrics and health are served at; "" for none.
	Metrics string
	// Filter is what becomes of lines.
	Filter filter.Options
	// now is the clock by which work is too slow; nil for the real one.
	now func() time.Time
}

// check completes o, and returns the pattern of the key.
func (o *Options) check() (key pattern, err error) {
	if o.Key == "" {
		o.Key = o.In
	}
	key, err = parsePattern(o.Key)
	switch {
	case err != nil:
		return key, err
	case !covers(strings.Split(o.In, "."), strings.Split(key.wildcard(), ".")):
		return key, wrong("Key", o.Key, "it goes beyond the subjects of lines, "+o.In)
	case len(o.Out) < 3 || !strings.HasSuffix(o.Out, ".>") || strings.ContainsAny(o.Out[:len(o.Out)-1], "*> "):
		return key, wrong("Out", o.Out, "want a subject that ends with .> and has no other wildcard")
	case covers(strings.Split(o.In, "."), strings.Split(o.Out, ".")) || covers(strings.Split(o.Out, "."), strings.Split(o.In, ".")):
		return key, wrong("Out", o.Out, "it is part of the subjects of lines, "+o.In+", or the other way round")
	case o.Partitions < 1 || o.Partitions > maxPartitions:
		return key, wrong("Partitions", "", "want 1 to 1024")
	}
	for _, one := range []struct {
		field, name string
		optional    bool
	}{{"Stream", o.Stream, false}, {"Durable", o.Durable, false}, {"OutStream", o.OutStream, true}} {
		if one.name == "" && !one.optional || strings.ContainsFunc(one.name, unnamed) {
			return key, wrong(one.field, one.name, "want a name of letters, digits, - and _")
		}
	}
	for _, one := range []struct {
		field string
		value int64
		least int64
	}{{"Filters", int64(o.Filters), 1}, {"Replicas", int64(o.Replicas), 1}, {"Parallel", int64(o.Parallel), 0}, {"Idle", int64(o.Idle), 0}} {
		if one.value < one.least {
			return key, wrong(one.field, "", "want a positive value")
		}
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Parallel == 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.OutStream == "" {
		first, _, _ := strings.Cut(o.Out, ".")
		o.OutStream = strings.ToUpper(first)
	}
	return key, nil
}

// DefaultMemory, 512 MiB, is room for some ten thousand processes of fifty modules each.
const DefaultMemory = 512 << 20

// wrong returns what is wrong with an option.
func wrong(field, value, reason string) error {
	return &symsrc.OptionError{Option: "worker." + field, Value: value, Err: errors.New(reason)}
}

// unnamed reports what may not be part of the name of a bucket, which has those of the stream and the fleet.
func unnamed(r rune) bool {
	return !(r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r == '-' || r == '_')
}

// maxPartitions bounds the consumers that a worker asks.
const maxPartitions = 1024

// covers reports whether every subject of inner is one of outer.
func covers(outer, inner []string) bool {
	for i, token := range outer {
		switch {
		case token == ">":
			return len(inner) > i
		case i >= len(inner), inner[i] == ">", token != "*" && token != inner[i]:
			return false
		}
	}
	return len(outer) == len(inner)
}
