package worker

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestPattern(t *testing.T) {
	for _, c := range []struct{ pattern, wildcard, partitioned, subject, key, process string }{
		{"logs.>", "logs.>", "{{partition(4)}}.logs.>", "logs.h1.42", "h1.42", "logs.h1.42"},
		{"logs.*.*", "logs.*.*", "{{partition(4,1,2)}}.logs.{{wildcard(1)}}.{{wildcard(2)}}", "logs.h1.42", "h1.42", "logs.h1.42"},
		{"a.*.{host}.x.{pid}", "a.*.*.x.*", "{{partition(4,2,3)}}.a.{{wildcard(1)}}.{{wildcard(2)}}.x.{{wildcard(3)}}", "a.eu.h1.x.42", "h1.42", "a.*.h1.x.42"},
		{"a.*.>", "a.*.>", "{{partition(4)}}.a.{{wildcard(1)}}.>", "a.b.c.d", "b.c.d", "a.b.c.d"},
		{"a.{app}.>", "a.*.>", "{{partition(4,1)}}.a.{{wildcard(1)}}.>", "a.b.c.d", "b", "a.b.>"},
	} {
		p, err := parsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if p.wildcard() != c.wildcard || p.partitioned(4) != c.partitioned || p.keyOf(c.subject) != c.key {
			t.Errorf("%s is %s, %s; the key of %s is %s", c.pattern, p.wildcard(), p.partitioned(4), c.subject, p.keyOf(c.subject))
		}
		for subject, want := range map[string]string{c.subject: c.process, c.process: c.process, "other.h1.42.x.7": "", "logs": ""} {
			if got := p.ofProcess(subject); got != want {
				t.Errorf("%s: the process of %s has %s, want %s", c.pattern, subject, got, want)
			}
		}
		if n, _ := partitions(p.partitioned(12)); n != 12 {
			t.Errorf("%s: %d partitions", c.pattern, n)
		}
	}
	for _, bad := range []string{"", "logs", "logs..x", "logs.>.x", "a.b*", "a.{x", "a. .*"} {
		if _, err := parsePattern(bad); err == nil {
			t.Errorf("%q is taken for a pattern", bad)
		}
	}
	for _, other := range []string{"", "x.>", "{{partition(", "{{partition(x)}}.a", "{{partition(0)}}.a", "{{wildcard(1)}}"} {
		if n, _ := partitions(other); n != 0 {
			t.Errorf("%q has %d partitions", other, n)
		}
	}
}

func TestNames(t *testing.T) {
	if got := stateName("h-1.a b:c*é"); got != "key.h-1.a=20b=3Ac=2A=C3=A9" {
		t.Error(got)
	}
	if got := outSubject("annotated.>", "h1.42"); got != "annotated.h1.42" {
		t.Error(got)
	}
	of := map[string]string{}
	for text, want := range map[string]string{"": "=", "my.host": "my_host", "my_host": "my=5Fhost", "my host": "my=20host", "my*host": "my=2Ahost",
		"my>host": "my=3Ehost", "my=5Fhost": "my=3D5Fhost", "=": "=3D", "_": "=5F", ".": "_", "a\t\x7f": "a=09=7F", "{pid}": "=7Bpid=7D",
		"h\xc3": "h=C3", "h\ufffd": "h\ufffd", "hé": "hé", "plain-1": "plain-1"} {
		got := tokenOf(text)
		if got != want {
			t.Errorf("%q is %q", text, got)
		}
		if of[got] != "" {
			t.Errorf("%q and %q are both %q", of[got], text, got)
		}
		of[got] = text
	}
}

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
		{"logs.{host}.*", "logs.>", "logs.>", all, "split what is one process"},
		{"logs.{host}.*", "logs.*.*", "logs.*.*", two, "split what is one process"},
		{"logs.{host}.>", "logs.*.*", "logs.*.*", two, "split what is one process"},
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

// TestKey holds that a process is what its key says, however its subjects differ otherwise: within a run, and when it is taken up.
func TestKey(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FLEET", Subjects: []string{"fleet.>"}}); err != nil {
		t.Fatal(err)
	}
	sent := 0
	send := func(lines string) {
		for line := range strings.Lines(lines) {
			subject := []string{"fleet.us.h1.app.7", "fleet.eu.h1.app.7"}[sent%2]
			if _, err := js.Publish(t.Context(), subject, []byte(line)); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	keyed := func(o *Options) { o.Stream, o.In, o.Key = "FLEET", "fleet.>", "fleet.*.{host}.app.{pid}" }
	send(contextLines + strings.Repeat(frameLine, 7))
	_, stop := inProcess(t, url, keyed)
	annotated(t, js, "h1.7", sent)
	stop()
	send(strings.Repeat(frameLine, 2))
	inProcess(t, url, keyed)
	if got := annotated(t, js, "h1.7", sent); strings.Count(strings.Join(got, ""), " a.so@10 ") != 9 {
		t.Errorf("got %q", got)
	}
}

// TestSpelledKeys takes lines that publish has divided, and those that a worker of another spelling has.
func TestSpelledKeys(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	publish(t, url, "1", contextLines+frameLine)
	sent := 4
	for _, key := range []string{"logs.{host}.{pid}", "logs.>", "logs.*.*"} {
		_, stop := inProcess(t, url, func(o *Options) { o.Key = key })
		publish(t, url, "1", frameLine)
		sent++
		if got := annotated(t, js, "h.1", sent); !strings.Contains(got[sent-1], " a.so@10 ") {
			t.Errorf("%s: got %q", key, got)
		}
		stop()
	}
	if _, err := js.Stream(t.Context(), "LOGS-d"); err == nil {
		t.Error("the lines are stored once more for a key that means the same")
	}
}

// TestOutside passes over lines of a stream that are not asked for: they are of no process, not of one with the same begin.
func TestOutside(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	publish(t, url, "1", contextLines)
	for subject, line := range map[string]string{"logs.h": "short", "logs.h.1.x": "{{{reset}}}"} {
		if _, err := js.Publish(t.Context(), subject, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, url, "1", frameLine)
	inProcess(t, url, func(o *Options) { o.Key = "logs.{host}.{pid}" })
	if got := annotated(t, js, "h.1", 4); !strings.Contains(got[3], " a.so@10 ") {
		t.Errorf("got %q", got)
	}
	stream, err := js.Stream(t.Context(), "ANNOTATED")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 4 {
		t.Errorf("%d annotated lines of 4", n)
	}
}

// FuzzSubject takes any texts for a pattern, a subject and a name.
func FuzzSubject(f *testing.F) {
	for _, c := range [][2]string{{"logs.>", "logs.h1.42"}, {"logs.*.*", "logs.h1.42"}, {"a.*.{host}.x.{pid}", "a.eu.h1.x.42"}, {"a.*.>", "a.b.c.d"},
		{"logs..x", "a"}, {"{a}", ""}, {"a.{x", ".."}, {">", "\xff .*"}} {
		f.Add(c[0], c[1], "h-1.a b:c*é")
	}
	f.Fuzz(func(t *testing.T, subject, other, name string) {
		if p, err := parsePattern(subject); err == nil {
			wildcard := p.wildcard()
			again, err := parsePattern(wildcard)
			if err != nil || again.wildcard() != wildcard {
				t.Fatalf("%q becomes %q: %v", subject, wildcard, err)
			}
			if n, _ := partitions(p.partitioned(7)); n != 7 {
				t.Fatalf("%q has %d partitions", p.partitioned(7), n)
			}
			p.keyOf(other)
			if key := p.keyOf(wildcard); key == "" {
				t.Fatalf("%q has no key in its own subject", subject)
			}
		}
		partitions(other)
		for _, c := range stateName(name) {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._=/-", c) {
				t.Fatalf("%q in %q", c, stateName(name))
			}
		}
		token := tokenOf(name)
		if token == "" || strings.ContainsAny(token, ".*>{} \t\r\n\x00\x7f") {
			t.Fatalf("%q becomes %q", name, token)
		}
		if other != name && tokenOf(other) == token {
			t.Fatalf("%q and %q both become %q", other, name, token)
		}
	})
}
