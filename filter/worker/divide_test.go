package worker

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestDivided holds which streams serve a key as they are, by the subjects that they take and their transform's source and destination.
func TestDivided(t *testing.T) {
	const all, two = "{{partition(4)}}.logs.>", "{{partition(4,1,2)}}.logs.{{wildcard(1)}}.{{wildcard(2)}}"
	for _, c := range []struct{ key, subjects, source, destination, want string }{
		{"logs.>", "logs.>", "logs.>", all, ""},
		{"logs.{host}.{pid}", "logs.>", "logs.>", all, ""}, // as publish divides it
		{"logs.*.*", "logs.>", "logs.>", all, ""},
		{"logs.>", "logs.*.*", "logs.*.*", two, ""}, // as a worker with a longer key does
		{"logs.{host}.{pid}", "logs.*.*", "logs.*.*", two, ""},
		{"logs.{host}.{pid}", "logs.*.*", "logs.*.*", "{{partition(4,1)}}.logs.{{wildcard(1)}}.{{wildcard(2)}}", ""}, // a host's lie together
		{"logs.h.*", "logs.*.*", "logs.*.*", two, ""},
		{"logs.{host}.*", "logs.*.*", "logs.*.*", "{{partition(4,1)}}.logs.{{wildcard(1)}}.{{wildcard(2)}}", ""},
		{"logs.*.>", "logs.>", "logs.>", all, ""},
		{"logs.{host}.*", "logs.>", "logs.>", all, "tear apart"},
		{"logs.{host}.*", "logs.*.*", "logs.*.*", two, "tear apart"},
		{"logs.{host}.>", "logs.*.*", "logs.*.*", two, "tear apart"},
		{"logs.>", "logs.>", "logs.*.*", two, "only logs.*.* of it"},
		{">", "logs.> x", "logs.>", all, "only logs.> of it"},
		{"logs.>", "logs.>", "logs.>", "{{partition(2000)}}.logs.>", "2000 partitions"},
		{"logs.>", "logs.*.*", "logs.*.*", "{{partition(4,1,2)}}.logs.{{wildcard(2)}}.{{wildcard(1)}}", "does more"},
		{"logs.>", "logs.>", "logs.>", "{{partition(4,1)}}.logs.>", "does more"},
		{"other.>", "logs.>", "logs.>", all, "it has the subjects logs.>, and none of other.>"},
		{"other.>", "logs.*.a other", "", "", "none of other.>"},
		{"logs.>", "logs.*.a x", "", "", "undivided"},
		{"logs.*.*", "*.h.>", "", "", "undivided"},
		{"x.>", "logs.> x.>", "logs.>", all, "undivided"},
		{"logs.>", "raw.>", "raw.>", "logs.>", "undivided"},
		{"logs.>", "", "", "", "none of"},
	} {
		key, err := parsePattern(c.key)
		if err != nil {
			t.Fatal(err)
		}
		config := jetstream.StreamConfig{Subjects: strings.Fields(c.subjects)}
		if c.source != "" {
			config.SubjectTransform = &jetstream.SubjectTransformConfig{Source: c.source, Destination: c.destination}
		}
		n, err := key.ofStream(&config)
		got := ""
		if err != nil {
			got = err.Error()
		} else if n == 0 {
			got = "undivided"
		}
		if !strings.Contains(got, c.want) || c.want == "" && (got != "" || n != 4) {
			t.Errorf("%s of %s, from %s to %s: %d partitions, %q", c.key, c.subjects, c.source, c.destination, n, got)
		}
	}
	key, err := parsePattern("logs.>")
	if err != nil {
		t.Fatal(err)
	}
	for _, unknown := range []jetstream.StreamConfig{{Mirror: &jetstream.StreamSource{}}, {Sources: []*jetstream.StreamSource{{}}}} {
		if n, err := key.ofStream(&unknown); n != 0 || err != nil {
			t.Errorf("a stream that another one fills: %d partitions, %v", n, err)
		}
	}
}
