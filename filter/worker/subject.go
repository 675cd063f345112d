package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nats-io/nats.go/jetstream"
)

// pattern is a subject with wildcards that says which of its tokens name a process. `{host}` is a wildcard with a name. If
// any wildcards have names, those are the key; otherwise all wildcards are.
type pattern struct {
	tokens []string
	// wild are the tokens with plain wildcards.
	wild []string
	// key are the indexes of the key's tokens; if tail is set, everything that `>` covers belongs to the key, too.
	key  []int
	tail bool
	// free are the indexes of wildcards that do not belong to the key.
	free []int
}

// parsePattern reads a subject such as `logs.>`, `logs.*.*` or `fleet.*.{host}.{pid}`.
func parsePattern(subject string) (p pattern, err error) {
	p.tokens = strings.Split(subject, ".")
	var wild, named []int
	for i, token := range p.tokens {
		switch {
		case token == "*":
			wild = append(wild, i)
		case token == ">" && i == len(p.tokens)-1:
			p.tail = true
		case isName(token):
			named = append(named, i)
		case token == "" || strings.ContainsAny(token, "*>{} \t\r\n"):
			return p, fmt.Errorf("subject %q: %q is not a token", subject, token)
		}
	}
	p.key = wild
	if len(named) > 0 {
		p.key, p.tail = named, false
	}
	for i, token := range p.tokens {
		if isName(token) {
			token = "*"
		}
		p.wild = append(p.wild, token)
		if token == "*" && !slices.Contains(p.key, i) || token == ">" && !p.tail {
			p.free = append(p.free, i)
		}
	}
	if len(p.key) == 0 && !p.tail {
		return p, fmt.Errorf("subject %q: nothing in it identifies a process; want a wildcard, or {pid}", subject)
	}
	return p, nil
}

// isName reports whether a token is a named wildcard such as `{host}`.
func isName(token string) bool {
	return len(token) > 2 && token[0] == '{' && token[len(token)-1] == '}' && !strings.ContainsAny(token[1:len(token)-1], "*>{} \t")
}

// wildcard returns the pattern with plain wildcards.
func (p *pattern) wildcard() string { return strings.Join(p.wild, ".") }

// keyOf returns the tokens that name a subject's process, joined by dots.
func (p *pattern) keyOf(subject string) string {
	tokens := strings.Split(subject, ".")
	var key []string
	for _, i := range p.key {
		if i < len(tokens) {
			key = append(key, tokens[i])
		}
	}
	if p.tail && len(tokens) >= len(p.tokens) {
		key = append(key, tokens[len(p.tokens)-1:]...)
	}
	return strings.Join(key, ".")
}

// ofProcess returns a pattern of all subjects with the same key as the given one, or "" for a subject that the pattern does not
// cover.
func (p *pattern) ofProcess(subject string) string {
	tokens := strings.Split(subject, ".")
	if !covers(p.wild, tokens) {
		return ""
	}
	if len(p.free) == 0 {
		return subject
	}
	for _, i := range p.free {
		tokens[i] = p.wild[i]
	}
	if last := len(p.wild) - 1; p.wild[last] == ">" && !p.tail {
		tokens = tokens[:last+1]
	}
	return strings.Join(tokens, ".")
}

// Limits of names that are made of keys, in bytes: a server accepts commands of 4096.
const (
	longestKey  = 1024
	longestName = 1024
	// longestFilter bounds a subject in a request.
	longestFilter = 1024
)

// outSubject replaces the `>` at the end of out with a key. A key that is too long for that, or whose encoding cannot be used in
// requests, is spelled in another way, and so is a key that looks like such a spelling, so that no two keys have the same subject.
func outSubject(out, key string) string {
	if len(key) > longestKey || !utf8.ValidString(key) || isSpelled(key) {
		var b strings.Builder
		for _, c := range []byte(key[:min(len(key), longestKey/4)]) {
			if c < 0x7f {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "=%02X", c)
			}
		}
		key = strings.TrimRight(b.String(), ".") + spelling(key)
	}
	return strings.TrimSuffix(out, ">") + key
}

// spelling returns the end of the name of a key that is spelled in another way.
func spelling(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "==" + hex.EncodeToString(sum[:16])
}

// isSpelled reports whether a key ends like a spelling.
func isSpelled(key string) bool {
	n := len(key) - len(spelling(""))
	return n >= 0 && strings.HasPrefix(key[n:], "==") && strings.Trim(key[n+2:], "0123456789abcdef") == ""
}

// filterable returns a subject for requests that covers subject. exact is true if it is subject itself.
func filterable(subject string) (filter string, exact bool) {
	if utf8.ValidString(subject) && len(subject) <= longestFilter {
		return subject, true
	}
	tokens := strings.Split(subject, ".")
	size := 0
	for i, token := range tokens {
		if size += len(token) + 1; size > longestFilter {
			return strings.Join(append(tokens[:i], ">"), "."), false
		}
		if !utf8.ValidString(token) {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, "."), false
}

// stateName spells a key for a key-value bucket, which allows only few characters; others become =XX.
func stateName(key string) string {
	var b strings.Builder
	b.WriteString("key.")
	for i := 0; i < len(key); i++ {
		if b.Len() > longestName {
			return strings.TrimRight(b.String(), ".") + spelling(key)
		}
		c := key[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', c == '.', c == '-', c == '_', c == '/':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// tokenOf spells a text as one token of a subject; different texts become different tokens. A dot, as in host names, becomes _. Bytes
// that are not allowed in a token or would be ambiguous become =XX. An empty text becomes =.
func tokenOf(text string) string {
	if text == "" {
		return "="
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == '.':
			b.WriteByte('_')
		case r <= ' ', r == 0x7f, r == utf8.RuneError && n == 1, strings.ContainsRune("_*>{}=", r):
			fmt.Fprintf(&b, "=%02X", text[0]) // each has one byte
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// partitioned returns the destination of a subject transform from wildcard that puts the number of a partition, below n, in
// front. All subjects with the same key are in one partition.
func (p *pattern) partitioned(n int) string {
	function := "{{partition(" + strconv.Itoa(n)
	wildcards := 0
	tokens := slices.Clone(p.wild)
	for i, token := range tokens {
		if token != "*" {
			continue
		}
		wildcards++
		tokens[i] = fmt.Sprintf("{{wildcard(%d)}}", wildcards)
		if slices.Contains(p.key, i) && !p.tail {
			function += "," + strconv.Itoa(wildcards)
		}
	}
	return function + ")}}." + strings.Join(tokens, ".")
}

// partitions returns the number of partitions of a transform's destination, 0 if partitioned has not made it. by are the
// wildcards that determine the partition, counted from 1; if there are none, the whole subject does.
func partitions(destination string) (n int, by []int) {
	rest, ok := strings.CutPrefix(destination, "{{partition(")
	list, _, closed := strings.Cut(rest, ")")
	if !ok || !closed {
		return 0, nil
	}
	for i, text := range strings.Split(list, ",") {
		number, err := strconv.Atoi(strings.TrimSpace(text))
		switch {
		case err != nil || number < 1:
			return 0, nil
		case i == 0:
			n = number
		default:
			by = append(by, number)
		}
	}
	return n, by
}

// ofStream returns the number of partitions of a stream, 0 if it is not divided. The error says why the stream cannot
// have lines of the pattern, or why its partitions do not fit the key.
func (p *pattern) ofStream(config *jetstream.StreamConfig) (n int, err error) {
	overlaps := func(subject string) bool { return overlap(strings.Split(subject, "."), p.wild) }
	t := config.SubjectTransform
	if t != nil {
		if n, _ = partitions(t.Destination); n == 0 { // the subjects of its lines are not known
			return 0, nil
		}
	}
	if !slices.ContainsFunc(config.Subjects, overlaps) && config.Mirror == nil && len(config.Sources) == 0 {
		return 0, fmt.Errorf("it has the subjects %s, and none of %s", strings.Join(config.Subjects, " "), p.wildcard())
	}
	if t == nil || !overlaps(t.Source) {
		return 0, nil
	}
	return p.divided(t, config.Subjects)
}

// divided returns the number of partitions that a transform makes of a stream with the given subjects, 0 if it makes none. The
// error says why they do not fit the key.
func (p *pattern) divided(t *jetstream.SubjectTransformConfig, subjects []string) (n int, err error) {
	n, by := partitions(t.Destination)
	if n == 0 {
		return 0, nil
	}
	source := pattern{wild: strings.Split(t.Source, ".")}
	wildcards := 0
	for i, token := range source.wild {
		if token != "*" {
			continue
		}
		if wildcards++; slices.Contains(by, wildcards) {
			source.key = append(source.key, i)
		}
	}
	switch {
	case n > maxPartitions:
		return 0, fmt.Errorf("it has %d partitions", n)
	case source.partitioned(n) != t.Destination:
		return 0, fmt.Errorf("its subject transform, from %s to %s, does more than divide it into partitions", t.Source, t.Destination)
	case !p.within(source.wild, subjects):
		return 0, fmt.Errorf("only %s of it is divided into partitions, and that is not all of %s", t.Source, p.wildcard())
	case len(source.key) == 0 && len(p.free) > 0, slices.ContainsFunc(source.key, func(i int) bool { return !p.decides(i) }):
		return 0, fmt.Errorf("its partitions, from %s to %s, split what is one process by the key %s: want a stream divided by that key, as a worker creates, or an undivided one",
			t.Source, t.Destination, strings.Join(p.tokens, "."))
	}
	return n, nil
}

// within reports whether source covers everything that p covers of a stream's subjects. No subjects mean any.
func (p *pattern) within(source, subjects []string) bool {
	return covers(source, p.wild) || len(subjects) > 0 && !slices.ContainsFunc(subjects, func(subject string) bool {
		tokens := strings.Split(subject, ".")
		return overlap(tokens, p.wild) && !covers(source, tokens)
	})
}

// decides reports whether all subjects of a process have the same token at an index.
func (p *pattern) decides(i int) bool {
	if last := len(p.wild) - 1; i >= last && p.wild[last] == ">" {
		return p.tail
	}
	return i < len(p.wild) && (p.wild[i] != "*" || slices.Contains(p.key, i))
}

// overlap reports whether a subject can match both a and b.
func overlap(a, b []string) bool {
	for i := 0; i < len(a) && i < len(b); i++ {
		switch {
		case a[i] == ">" || b[i] == ">":
			return true
		case a[i] != "*" && b[i] != "*" && a[i] != b[i]:
			return false
		}
	}
	return len(a) == len(b)
}
