package worker

import (
	"errors"
	"flag"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"qss-filter/filter"
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
	// Filters bounds the processes that are held in memory, and Memory what they take together, in bytes; 0 is defaultMemory. The
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

// Register adds the flags that set o, but for those of Filter.
func (o *Options) Register(fs *flag.FlagSet) {
	o.Connection.Register(fs)
	fs.StringVar(&o.Stream, "stream", "LOGS", "`NAME` of the stream with the lines; created if it does not exist")
	fs.StringVar(&o.In, "in", "logs.>", "`SUBJECT` of lines in that stream")
	fs.StringVar(&o.Key, "key", "", "`SUBJECT` that says what of it tells processes apart, as logs.{host}.{pid}.* (default: all wildcards of --in)")
	fs.StringVar(&o.Out, "out", "annotated.>", "`SUBJECT` of annotated lines; > is the key")
	fs.StringVar(&o.OutStream, "out-stream", "", "`NAME` of the stream of annotated lines; created if it does not exist (default: from --out)")
	fs.StringVar(&o.Durable, "durable", "qss-filter", "`NAME` that the workers of a fleet share")
	fs.IntVar(&o.Partitions, "partitions", 16, "`N` partitions in streams that are created: as many workers can share the work")
	fs.IntVar(&o.Replicas, "replicas", 1, "`N` servers that keep what is created")
	fs.IntVar(&o.Parallel, "workers-per-host", 0, "`N` lines that are annotated at once (default: one per core)")
	fs.IntVar(&o.Filters, "filters", 4096, "`N` processes at most that are held in memory; the others are restored when they write again")
	o.Memory = defaultMemory
	fs.Var((*bytesValue)(&o.Memory), "filters-memory", "`SIZE` that these processes take at most, all together, such as 2G: beyond it those that have not written for longest are restored when they write again")
	fs.DurationVar(&o.Idle, "idle", time.Second, "`TIME` that a folded line and the like waits for what may still belong to it")
	fs.StringVar(&o.Metrics, "metrics", "", "`ADDRESS` to serve /metrics and /healthz at, such as :9464")
}

// Common are the flags that the help of a worker shows.
var Common = []string{"nats", "nats-creds", "nats-ca", "log-json", "stream", "in", "key", "out", "durable", "partitions", "replicas",
	"workers-per-host", "filters", "filters-memory", "idle", "metrics", "symbols", "debuginfod-url", "rootfs", "frames", "help", "help-all"}

// check completes o, and gives the pattern of the key.
func (o *Options) check() (key pattern, err error) {
	if o.Key == "" {
		o.Key = o.In
	}
	key, err = parsePattern(o.Key)
	switch {
	case err != nil:
		return key, err
	case !covers(strings.Split(o.In, "."), strings.Split(key.wildcard(), ".")):
		return key, errors.New("--key " + o.Key + ": it goes beyond --in " + o.In)
	case len(o.Out) < 3 || !strings.HasSuffix(o.Out, ".>") || strings.ContainsAny(o.Out[:len(o.Out)-1], "*> "):
		return key, errors.New("--out " + o.Out + ": want a subject that ends with .> and has no other wildcard")
	case covers(strings.Split(o.In, "."), strings.Split(o.Out, ".")) || covers(strings.Split(o.Out, "."), strings.Split(o.In, ".")):
		return key, errors.New("--out " + o.Out + ": it is part of --in, or the other way round")
	case o.Stream == "" || o.Durable == "" || strings.ContainsFunc(o.Stream+o.Durable+o.OutStream, unnamed):
		return key, errors.New("--stream, --out-stream and --durable: want names of letters, digits, - and _")
	case o.Partitions < 1 || o.Partitions > maxPartitions:
		return key, errors.New("--partitions: want 1 to 1024")
	case o.Filters < 1 || o.Replicas < 1 || o.Parallel < 0 || o.Idle < 0:
		return key, errors.New("--filters, --replicas, --workers-per-host and --idle: want positive values")
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
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

// defaultMemory is room for some ten thousand processes of fifty modules each.
const defaultMemory = 512 << 20

// bytesValue is a number of bytes as a flag: digits, and K, M or G for powers of 1024.
type bytesValue int64

func (b *bytesValue) String() string {
	n := int64(*b)
	for _, unit := range []string{"", "K", "M"} {
		if n%1024 != 0 || n == 0 {
			return strconv.FormatInt(n, 10) + unit
		}
		n /= 1024
	}
	return strconv.FormatInt(n, 10) + "G"
}

func (b *bytesValue) Set(text string) error {
	shift := 0
	if i := strings.IndexAny(text, "KMG"); i >= 0 && i == len(text)-1 {
		shift = 10 * (1 + strings.IndexByte("KMG", text[i]))
		text = text[:i]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64>>shift {
		return errors.New("want a size such as 512M or 2G")
	}
	*b = bytesValue(n << shift)
	return nil
}

// unnamed tells what may not be part of the name of a bucket, which has those of the stream and the fleet.
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
