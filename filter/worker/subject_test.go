package worker

import "testing"

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
