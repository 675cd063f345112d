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
	"qss-filter/symsrc/roots"
)

// streams are the streams of lines and of annotated lines.
type streams struct {
	// in has the lines by partition, under `PARTITION.subject`; tag names it in message IDs. It is the stream of the lines
	// itself, or, if others created that, one that the server fills from it.
	in  jetstream.Stream
	tag string
	out jetstream.Stream
	// state has the restore point of each process, and which worker has which partition.
	state      jetstream.KeyValue
	partitions int
	// all are these streams, with that of the bucket.
	all []jetstream.Stream
}

const (
	// duplicateWindow is how long a server remembers message IDs in streams that are created.
	duplicateWindow = 10 * time.Minute
	// stateAge is how long a silent process can be restored without its whole log.
	stateAge = 7 * 24 * time.Hour
)

// errUnfit is the error of an existing stream that cannot be used.
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

// openLines finds the lines by partition. If their own stream is not divided, the server fills another one from it.
func (s *streams) openLines(ctx context.Context, js jetstream.JetStream, o *Options, key *pattern, log *slog.Logger) (err error) {
	transform := jetstream.SubjectTransformConfig{Source: key.wildcard(), Destination: key.partitioned(o.Partitions)}
	s.in, err = openStream(ctx, js, log, jetstream.StreamConfig{Name: o.Stream, Subjects: []string{key.wildcard()},
		SubjectTransform: &transform, AllowDirect: true, AllowAtomicPublish: true, Replicas: o.Replicas, Duplicates: duplicateWindow})
	if err != nil {
		return err
	}
	config := s.in.CachedInfo().Config
	if config.Retention != jetstream.LimitsPolicy {
		return fmt.Errorf("stream %s %w: its lines are removed after they are read, but a restart needs them: want retention by limits", o.Stream, errUnfit)
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
		return fmt.Errorf("stream %s %w: it does not have the lines of %s by partition", name, errUnfit, o.Stream)
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

// group is the priority group of consumers; one member at a time is pinned.
const group = "worker"

// Limits of the assignment of partitions. A worker that has ended keeps the pin for pinned; its lines are delivered again after ackWait.
const (
	pinned     = 3 * time.Second
	ackWait    = 3 * time.Second
	pullWait   = time.Second
	maxPending = 20_000 // lines that are delivered and whose annotated form is not stored yet
)

// consumer returns the consumer of a partition, which delivers lines to one worker at a time.
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

// filter returns the subjects of a partition's lines.
func (s *streams) filter(partition int) string { return strconv.Itoa(partition) + ".>" }

// errGone is the error of a stream or consumer that was deleted after the worker started. The worker cannot continue
// without it: lines, their order and the restore points of the processes start over.
var errGone = errors.New("is gone")

// lookPause is the time between two checks for deleted streams.
const lookPause = time.Second

// check asks the server for the streams. The error is errGone if one does not exist, or was replaced.
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

// failed starts a check after a failure of a partition, whose consumer may have been deleted. It does not wait.
func (w *worker) failed(partition int) {
	select {
	case w.failures <- partition:
	default: // a check is pending
	}
}

// look checks for deleted streams and consumers after failures, until the end of ctx or until it finds one. The error is errGone then.
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

// missing returns an error if something that a partition needs was deleted.
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

// find looks for the first line of a filter from a sequence on, or for the line of that sequence if filter is "". The error is
// jetstream.ErrMsgNotFound if there is none.
//
// A server that is asked directly answers with the message, and adds its headers to those of the publisher, which
// may have any values. If the answer is ambiguous, the server is asked in the other, slower way.
func (s *streams) find(ctx context.Context, nc *nats.Conn, from uint64, filter string) (seq uint64, subject string, err error) {
	config := s.in.CachedInfo().Config
	request, err := json.Marshal(struct {
		Seq  uint64 `json:"seq"`
		Next string `json:"next_by_subj,omitempty"`
	}{from, filter})
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if config.AllowDirect {
		m, err := nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+config.Name, request)
		if err != nil && !errors.Is(err, nats.ErrNoResponders) { // a message may have that status, too
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
	reply, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+config.Name, request)
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

// Sizes of messages. A server must accept leastPayload, and so must a stream of annotated lines, whose pieces stay together in one
// batch. A stream of lines must accept leastPart, since parts of a line are ordinary messages. headerRoom of that is for headers: less
// than 520 bytes even if a stream's name has the maximum of 255 characters.
const (
	leastPayload = 64 << 10
	leastPart    = headerRoom + 224
	headerRoom   = 544
)

// target checks that messages under a subject can be stored in a stream, and returns the maximum length of their text.
func target(nc *nats.Conn, stream jetstream.Stream, subject string, least int) (limit int, err error) {
	config := stream.CachedInfo().Config
	tokens := strings.Split(subject, ".")
	limit = int(nc.MaxPayload())
	if limit < leastPayload {
		return 0, fmt.Errorf("the server accepts messages of at most %d bytes: want max_payload %d or more", limit, leastPayload)
	}
	if size := int(config.MaxMsgSize); size > 0 {
		limit = min(limit, size)
	}
	switch {
	case !config.AllowAtomicPublish:
		err = fmt.Errorf("want atomic publishing (nats stream edit %s --allow-batch)", config.Name)
	case limit < least:
		err = fmt.Errorf("it accepts messages of at most %d bytes: want max_msg_size %d or more", limit, least)
	case !slices.ContainsFunc(config.Subjects, func(s string) bool { return overlap(strings.Split(s, "."), tokens) }):
		err = fmt.Errorf("its subjects are %s, and none of %s", strings.Join(config.Subjects, ", "), subject)
	}
	if err != nil {
		return 0, fmt.Errorf("stream %s %w: %w", config.Name, errUnfit, err)
	}
	return limit - headerRoom, nil
}

// insist repeats a request while a cluster starts: it has no leader at first, so that nothing answers, and then the leader does
// not know the other servers. Each try has more time.
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

// beginning reports whether an error means that servers are starting.
func beginning(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == errNotAvailable || api.ErrorCode == errNoPeers
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// The errors of a cluster without a leader, and of one with fewer servers than replicas (nats-server, errors.json).
const (
	errNotAvailable = 10008
	errNoPeers      = 10005
)

// Connection says how to connect to the servers.
type Connection struct {
	// URLs are the servers, separated by commas.
	URLs string
	// Credentials is a file with a user's JWT and key; CA, Certificate and Key are PEM files. "" for none.
	Credentials, CA, Certificate, Key string
	// LogJSON writes diagnostics as lines of JSON.
	LogJSON bool
	// Stderr takes diagnostics.
	Stderr io.Writer
}

// DefaultURL is the URL of a server on this machine.
const DefaultURL = nats.DefaultURL

// reconnectWait is the pause before reconnecting to a lost server.
const reconnectWait = 500 * time.Millisecond

// connect waits for a server and returns a connection, or an error when ctx ends. The connection is restored forever, unless a server
// refuses it permanently: then lost is called.
func (c *Connection) connect(ctx context.Context, name string, log *slog.Logger, lost func()) (*nats.Conn, jetstream.JetStream, error) {
	options := []nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.IgnoreAuthErrorAbort(), // a password may be wrong for a while
		nats.ReconnectBufSize(-1),   // without a connection, sending is an error: the caller knows whether to send again
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
	} else {
		roots.Use()
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

// absent reports whether an error means that the server does not run yet.
func absent(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, io.EOF) ||
		ok && (network.Op == "dial" || network.Op == "read")
}

// closed returns why a connection was closed.
func closed(nc *nats.Conn) error {
	return fmt.Errorf("the server refuses the connection: %w", nc.LastError())
}

// parse reports whether all of the URLs can be parsed. An error would show passwords.
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
