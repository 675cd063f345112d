package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qss-filter/symsrc"
)

// streams are where lines come from and go to.
type streams struct {
	// in has the lines by partition, under `PARTITION.subject`; tag names it in message IDs. It is the stream of the lines
	// itself, or where that was created by others, one that the server fills from it.
	in  jetstream.Stream
	tag string
	out jetstream.Stream
	// state keeps where each process can be taken up, and which worker has which partition.
	state      jetstream.KeyValue
	partitions int
	// all are the streams of these, with that of the bucket.
	all []jetstream.Stream
}

const (
	// duplicateWindow is how long a server knows message IDs in streams that are created.
	duplicateWindow = 10 * time.Minute
	// stateAge is how long a process that writes nothing can be taken up without its whole log.
	stateAge = 7 * 24 * time.Hour
)

// errUnfit is a stream that is there and cannot be used.
var errUnfit = errors.New("cannot be used")

// openStreams finds the streams, and creates those that do not exist.
func openStreams(ctx context.Context, js jetstream.JetStream, o *Options, key *pattern, log *slog.Logger) (s *streams, err error) {
	s = &streams{}
	if err := s.openLines(ctx, js, o, key, log); err != nil {
		return nil, err
	}
	s.tag = s.in.CachedInfo().Config.Name + "." + strconv.FormatInt(s.in.CachedInfo().Created.UnixMilli(), 36)
	s.out, err = openStream(ctx, js, log, jetstream.StreamConfig{Name: o.OutStream, Subjects: []string{o.Out}, AllowDirect: true,
		AllowAtomicPublish: true, Replicas: o.Replicas, Duplicates: duplicateWindow})
	if err != nil {
		return nil, err
	}
	s.state, err = openState(ctx, js, log, jetstream.KeyValueConfig{Bucket: o.Durable + "-" + o.Stream, TTL: stateAge,
		Description: "where qss-filter takes up each process of " + o.Stream, Replicas: o.Replicas})
	if err != nil {
		return nil, err
	}
	bucket, err := js.Stream(ctx, "KV_"+s.state.Bucket())
	if err != nil {
		return nil, fmt.Errorf("look for bucket %s: %w", s.state.Bucket(), err)
	}
	s.all = append(s.all, s.out, bucket)
	return s, nil
}

// openLines finds the lines by partition. Where their own stream is not divided the server fills another one from it.
func (s *streams) openLines(ctx context.Context, js jetstream.JetStream, o *Options, key *pattern, log *slog.Logger) (err error) {
	transform := jetstream.SubjectTransformConfig{Source: key.wildcard(), Destination: key.partitioned(o.Partitions)}
	s.in, err = openStream(ctx, js, log, jetstream.StreamConfig{Name: o.Stream, Subjects: []string{key.wildcard()},
		SubjectTransform: &transform, AllowDirect: true, AllowAtomicPublish: true, Replicas: o.Replicas, Duplicates: duplicateWindow})
	if err != nil {
		return err
	}
	config := s.in.CachedInfo().Config
	if config.Retention != jetstream.LimitsPolicy {
		return fmt.Errorf("stream %s %w: its lines vanish once they are read, and a restart needs them: want retention by limits", o.Stream, errUnfit)
	}
	if s.partitions, err = key.ofStream(&config); err != nil {
		return fmt.Errorf("stream %s %w: %w", o.Stream, errUnfit, err)
	}
	s.all = []jetstream.Stream{s.in}
	if s.partitions > 0 {
		return nil
	}
	name := o.Stream + "-" + o.Durable
	s.in, err = openStream(ctx, js, log, jetstream.StreamConfig{Name: name,
		Description: "the lines of " + o.Stream + " by partition", AllowDirect: true, Replicas: config.Replicas, Storage: config.Storage,
		MaxAge: config.MaxAge, MaxBytes: config.MaxBytes, MaxMsgs: config.MaxMsgs, MaxMsgsPerSubject: config.MaxMsgsPerSubject,
		Sources: []*jetstream.StreamSource{{Name: o.Stream, SubjectTransforms: []jetstream.SubjectTransformConfig{transform}}}})
	if err != nil {
		return err
	}
	s.all = append(s.all, s.in)
	if sources := s.in.CachedInfo().Config.Sources; len(sources) == 1 && len(sources[0].SubjectTransforms) == 1 {
		s.partitions, err = key.divided(&sources[0].SubjectTransforms[0], config.Subjects)
	}
	switch {
	case err != nil:
		return &symsrc.AvoidableError{Option: "worker.Durable", Err: fmt.Errorf("stream %s %w: %w", name, errUnfit, err)}
	case s.partitions == 0:
		return fmt.Errorf("stream %s %w: it is not the lines of %s by partition", name, errUnfit, o.Stream)
	}
	return nil
}

// openStream finds a stream or creates it.
func openStream(ctx context.Context, js jetstream.JetStream, log *slog.Logger, config jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, config.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		if err != nil {
			return nil, fmt.Errorf("look for stream %s: %w", config.Name, err)
		}
		return s, nil
	}
	s, err = js.CreateStream(ctx, config)
	switch {
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // another worker was faster
		s, err = js.Stream(ctx, config.Name)
	case err == nil:
		log.Info("stream created", "stream", config.Name, "subjects", fmt.Sprint(config.Subjects), "replicas", config.Replicas)
	}
	if err != nil {
		return nil, fmt.Errorf("create stream %s: %w", config.Name, err)
	}
	return s, nil
}

// openState finds the bucket of states or creates it.
func openState(ctx context.Context, js jetstream.JetStream, log *slog.Logger, config jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	kv, err := js.KeyValue(ctx, config.Bucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		if err != nil {
			return nil, fmt.Errorf("look for bucket %s: %w", config.Bucket, err)
		}
		return kv, nil
	}
	kv, err = js.CreateKeyValue(ctx, config)
	switch {
	case errors.Is(err, jetstream.ErrBucketExists):
		kv, err = js.KeyValue(ctx, config.Bucket)
	case err == nil:
		log.Info("bucket created", "bucket", config.Bucket, "replicas", config.Replicas)
	}
	if err != nil {
		return nil, fmt.Errorf("create bucket %s: %w", config.Bucket, err)
	}
	return kv, nil
}

// group is the priority group of which one member at a time is pinned to a consumer.
const group = "worker"

// How the server hands partitions over. A worker that is gone has the pin for pinned, its lines come again after ackWait.
const (
	pinned     = 3 * time.Second
	ackWait    = 3 * time.Second
	pullWait   = time.Second
	maxPending = 20_000 // lines on their way, or whose annotated form is not stored yet
)

// consumer returns the consumer of a partition, which hands lines to one worker at a time.
func (s *streams) consumer(ctx context.Context, o *Options, partition int) (jetstream.Consumer, error) {
	config := jetstream.ConsumerConfig{
		Durable: o.Durable + "-" + strconv.Itoa(partition), FilterSubject: s.filter(partition),
		AckPolicy: jetstream.AckAllPolicy, AckWait: ackWait, MaxAckPending: maxPending,
		PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{group}, PinnedTTL: pinned,
	}
	c, err := s.in.CreateConsumer(ctx, config)
	if errors.Is(err, jetstream.ErrConsumerExists) { // of another version, or changed on purpose
		c, err = s.in.Consumer(ctx, config.Durable)
	}
	if err != nil {
		return nil, fmt.Errorf("create consumer %s: %w", config.Durable, err)
	}
	return c, nil
}

// filter is the subjects of a partition's lines.
func (s *streams) filter(partition int) string { return strconv.Itoa(partition) + ".>" }

// errGone is a stream, or a consumer of one, that was there when the worker began and is no more. To work on without it makes
// no sense: lines, their order and where each process can be taken up begin again.
var errGone = errors.New("is gone")

// lookPause is the time between two looks for what is gone.
const lookPause = time.Second

// check asks the server for the streams. The error is errGone where one does not exist, or is another one of its name.
func (s *streams) check(ctx context.Context, js jetstream.JetStream) error {
	for _, was := range s.all {
		name := was.CachedInfo().Config.Name
		is, err := js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && !is.CachedInfo().Created.Equal(was.CachedInfo().Created):
			return fmt.Errorf("stream %s %w: a worker that starts now creates it again", name, errGone)
		case err != nil:
			return fmt.Errorf("look for stream %s: %w", name, err)
		}
	}
	return nil
}

// failed reports that something of a partition has failed, perhaps because it is gone. The answer is not waited for.
func (w *worker) failed(partition int) {
	select {
	case w.failures <- partition:
	default: // it is being looked for
	}
}

// look finds out whether what has failed is gone, until the end of ctx or until it is. The error is errGone then.
func (w *worker) look(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case partition := <-w.failures:
			if err := w.missing(ctx, partition); errors.Is(err, errGone) {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookPause):
		}
	}
}

// missing looks for all that a partition needs.
func (w *worker) missing(ctx context.Context, partition int) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	if err := w.streams.check(ctx, w.js); err != nil {
		return err
	}
	name := w.opt.Durable + "-" + strconv.Itoa(partition)
	_, err := w.streams.in.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("consumer %s %w: a worker that starts now creates it again", name, errGone)
	}
	return err
}

// find looks for the first line of a filter from a sequence on, or for the line of that sequence where filter is "". The error is
// jetstream.ErrMsgNotFound where there is none.
//
// A server that is asked directly answers with the message, and puts headers of its own beside those of the publisher, which
// may be anything. Where it is not plain which is which the server is asked in the other way, which is slower.
func (s *streams) find(ctx context.Context, nc *nats.Conn, from uint64, filter string) (seq uint64, subject string, err error) {
	config := s.in.CachedInfo().Config
	question, err := json.Marshal(struct {
		Seq  uint64 `json:"seq"`
		Next string `json:"next_by_subj,omitempty"`
	}{from, filter})
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if config.AllowDirect {
		m, err := nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+config.Name, question)
		if err != nil && !errors.Is(err, nats.ErrNoResponders) { // which a message may say, too
			return 0, "", fmt.Errorf("look for a line: %w", err)
		}
		if m == nil {
			m = &nats.Msg{}
		}
		status, seqs, subjects := m.Header["Status"], m.Header[jetstream.SequenceHeader], m.Header[jetstream.SubjectHeader]
		if len(status) == 1 && status[0] == "404" && len(seqs) == 0 {
			return 0, "", jetstream.ErrMsgNotFound
		}
		if len(status) == 0 && len(seqs) == 1 && len(subjects) == 1 {
			if seq, err = strconv.ParseUint(seqs[0], 10, 64); err == nil {
				return seq, subjects[0], nil
			}
		}
	}
	reply, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+config.Name, question)
	if err != nil {
		return 0, "", fmt.Errorf("look for a line: %w", err)
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return 0, "", fmt.Errorf("look for a line: %w", err)
	}
	if e := answer.Error; e != nil {
		if e.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return 0, "", jetstream.ErrMsgNotFound
		}
		return 0, "", fmt.Errorf("look for a line: %w", e)
	}
	return answer.Message.Seq, answer.Message.Subject, nil
}

// Sizes of messages. A server must take leastPayload, and so must a stream of annotated lines, whose pieces stay together in one
// batch; a stream of lines leastPart, since parts of a line are messages like others. headerRoom of it is for headers: less than
// 520 bytes even where a stream's name has the 255 characters that it may have.
const (
	leastPayload = 64 << 10
	leastPart    = headerRoom + 224
	headerRoom   = 544
)

// target holds that messages under a subject can be stored in a stream, and returns the longest text that one can have.
func target(nc *nats.Conn, stream jetstream.Stream, subject string, least int) (limit int, err error) {
	config := stream.CachedInfo().Config
	tokens := strings.Split(subject, ".")
	limit = int(nc.MaxPayload())
	if limit < leastPayload {
		return 0, fmt.Errorf("the server takes messages of %d bytes at most: want max_payload %d or more", limit, leastPayload)
	}
	if size := int(config.MaxMsgSize); size > 0 {
		limit = min(limit, size)
	}
	switch {
	case !config.AllowAtomicPublish:
		err = fmt.Errorf("want atomic publishing (nats stream edit %s --allow-batch)", config.Name)
	case limit < least:
		err = fmt.Errorf("it takes messages of %d bytes at most: want max_msg_size %d or more", limit, least)
	case !slices.ContainsFunc(config.Subjects, func(s string) bool { return overlap(strings.Split(s, "."), tokens) }):
		err = fmt.Errorf("its subjects are %s, and none of %s", strings.Join(config.Subjects, ", "), subject)
	}
	if err != nil {
		return 0, fmt.Errorf("stream %s %w: %w", config.Name, errUnfit, err)
	}
	return limit - headerRoom, nil
}

// insist asks servers for something, again while they do not know: those of a cluster that begins are without a leader for a
// while, which answers nothing, and then without the others. They get more time with each try.
func insist[T any](ctx context.Context, log *slog.Logger, ask func(context.Context) (T, error)) (T, error) {
	for pause, wait := retryPause, askWait; ; pause, wait = min(2*pause, maxRetryPause), 2*wait {
		try, cancel := context.WithTimeout(ctx, wait)
		answer, err := ask(try)
		cancel()
		if err == nil || !beginning(err) || ctx.Err() != nil {
			return answer, err
		}
		log.Warn("wait for JetStream", "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return answer, err
		}
	}
}

// beginning reports whether an error is that of servers that are about to begin.
func beginning(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == errNotAvailable || api.ErrorCode == errNoPeers
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// What a cluster says that has no leader, and one with less servers than are to keep something (nats-server, errors.json).
const (
	errNotAvailable = 10008
	errNoPeers      = 10005
)

// Connection says how the brokers are reached.
type Connection struct {
	// URLs are those of the servers, between commas.
	URLs string
	// Credentials is a file with a user's JWT and key; CA, Certificate and Key are PEM files. "" for none.
	Credentials, CA, Certificate, Key string
	// LogJSON writes diagnostics as lines of JSON.
	LogJSON bool
	// Stderr takes diagnostics.
	Stderr io.Writer
}

// DefaultURL is that of a server on this machine.
const DefaultURL = nats.DefaultURL

// reconnectWait is how long a lost server is left alone.
const reconnectWait = 500 * time.Millisecond

// connect returns a connection, once a server is there or until the end of ctx. It is never given up afterwards, unless a server
// refuses it for good: then lost is called.
func (c *Connection) connect(ctx context.Context, name string, log *slog.Logger, lost func()) (*nats.Conn, jetstream.JetStream, error) {
	options := []nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.IgnoreAuthErrorAbort(), // a password may be wrong for a while
		nats.ReconnectBufSize(-1),   // what is not sent is an error, and sent again by the caller, which knows whether it still matters
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("disconnected", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("connected again", "server", redacted(nc.ConnectedUrl())) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("from the server", "error", err) }),
		nats.ClosedHandler(func(*nats.Conn) { lost() }),
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	switch {
	case c.Certificate == "" && c.Key != "":
		return nil, nil, wrong("Certificate", "", "want it beside the client's key")
	case c.Certificate != "" && c.Key == "":
		return nil, nil, wrong("Connection.Key", "", "want it beside the client's certificate")
	}
	if c.Certificate != "" {
		options = append(options, nats.ClientCert(c.Certificate, c.Key))
	}
	if !parse(c.URLs) {
		return nil, nil, wrong("URLs", "", "want URL[,URL], such as nats://user:password@host:4222; a % in it is written %25")
	}
	nc, err := nats.Connect(c.URLs, options...)
	for pause := retryPause; absent(err) && ctx.Err() == nil; pause = min(2*pause, maxRetryPause) {
		log.Warn("wait for a server", "servers", redacted(c.URLs), "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			nc, err = nats.Connect(c.URLs, options...)
		}
	}
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			err = fmt.Errorf("%w (%w)", err, ctx.Err())
		}
		return nil, nil, fmt.Errorf("connect to %s: %w", redacted(c.URLs), err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("use JetStream of %s: %w", redacted(c.URLs), err)
	}
	return nc, js, nil
}

// absent reports whether an error is that of a server that is not there yet.
func absent(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) ||
		ok && (network.Op == "dial" || network.Op == "read")
}

// closed says why a connection was given up.
func closed(nc *nats.Conn) error {
	return fmt.Errorf("the server refuses the connection: %w", nc.LastError())
}

// parse reports whether all of the URLs can be parsed. The error would show passwords.
func parse(urls string) bool {
	for one := range strings.SplitSeq(urls, ",") {
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		if _, err := url.Parse(strings.TrimSpace(one)); err != nil {
			return false
		}
	}
	return true
}

// redacted leaves names and passwords out of URLs.
func redacted(urls string) string {
	list := strings.Split(urls, ",")
	for i, url := range list {
		if scheme, rest, ok := strings.Cut(url, "://"); ok {
			list[i] = scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
		} else {
			list[i] = url[strings.LastIndexByte(url, '@')+1:]
		}
	}
	return strings.Join(list, ",")
}
