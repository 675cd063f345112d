package command

import (
	"flag"
	"time"

	"qss-filter/filter/worker"
)

// connectionFlags adds the flags that say how NATS servers are reached.
func connectionFlags(fs *flag.FlagSet, c *worker.Connection) {
	fs.StringVar(&c.URLs, "nats", worker.DefaultURL, "`URL[,URL]` of NATS servers; tls://, user:password@ and tokens as NATS has them")
	fs.StringVar(&c.Credentials, "nats-creds", "", "`FILE` of credentials")
	fs.StringVar(&c.CA, "nats-ca", "", "`FILE` of certificates that servers are trusted by (PEM)")
	fs.StringVar(&c.Certificate, "nats-cert", "", "`FILE` of the client's certificate (PEM)")
	fs.StringVar(&c.Key, "nats-key", "", "`FILE` of the client's key (PEM)")
	fs.BoolVar(&c.LogJSON, "log-json", false, "write diagnostics as lines of JSON")
}

// workerFlags adds the flags of `worker`, but for those of its filters.
func workerFlags(fs *flag.FlagSet, o *worker.Options) {
	connectionFlags(fs, &o.Connection)
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
	o.Memory = worker.DefaultMemory
	fs.Var((*bytesValue)(&o.Memory), "filters-memory", "`SIZE` that these processes take at most, all together, such as 2G: beyond it those that have not written for longest are restored when they write again")
	fs.DurationVar(&o.Idle, "idle", time.Second, "`TIME` that a folded line and the like waits for what may still belong to it")
	fs.StringVar(&o.Metrics, "metrics", "", "`ADDRESS` to serve /metrics and /healthz at, such as :9464")
}

// workerCommon are the flags that the help of `worker` shows.
var workerCommon = []string{"nats", "nats-creds", "nats-ca", "log-json", "stream", "in", "key", "out", "durable", "partitions", "replicas",
	"workers-per-host", "filters", "filters-memory", "idle", "metrics", "symbols", "debuginfod-url", "rootfs", "frames", "help", "help-all"}

// publishFlags adds the flags of `publish`.
func publishFlags(fs *flag.FlagSet, o *worker.PublishOptions) {
	connectionFlags(fs, &o.Connection)
	fs.StringVar(&o.Subject, "subject", "logs.{host}.{pid}", "`SUBJECT` of lines; {host} and {pid} are taken from their prefixes")
	fs.StringVar(&o.Stream, "stream", "LOGS", "`NAME` of the stream, created if it does not exist")
	fs.StringVar(&o.Host, "host", "", "`NAME` of the machine, for lines that do not tell (default: this one)")
	fs.StringVar(&o.PID, "pid", "0", "`PID` for lines that do not tell")
	fs.IntVar(&o.Partitions, "partitions", 16, "`N` partitions in a stream that is created: as many workers can share the work")
	fs.IntVar(&o.Replicas, "replicas", 1, "`N` servers that keep a stream that is created")
}
