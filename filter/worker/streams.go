package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"qss-filter/symsrc"
)

// streams are where lines come from and go to.
type streams struct {
	// in has the lines by partition, under `PARTITION.subject`; tag names it in message IDs. It is the stream of the lines
	// itself, or where that is of somebody else's making, one that the server fills from it.
	in  jetstream.Stream
	tag string
	out jetstream.Stream
	// state keeps where each process can be taken up, and who has which partition.
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
