package worker

import (
	"strings"
	"testing"
)

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
