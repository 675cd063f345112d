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

// pattern is a subject with wildcards that says which of its tokens name a process. `{host}` is a wildcard with a name; where
// any have one, those are the key, and otherwise all wildcards are.
type pattern struct {
	tokens []string
	// wild are the tokens as a server knows them.
	wild []string
	// key is where the tokens of the key are; with tail all that `>` covers belongs to it, too.
	key  []int
	tail bool
	// free are the places of wildcards that do not belong to the key.
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
		return p, fmt.Errorf("subject %q: nothing in it tells processes apart; want a wildcard, or {pid}", subject)
	}
	return p, nil
}

// isName recognizes `{host}` and the like.
func isName(token string) bool {
	return len(token) > 2 && token[0] == '{' && token[len(token)-1] == '}' && !strings.ContainsAny(token[1:len(token)-1], "*>{} \t")
}

// wildcard is the pattern as a server knows it.
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

// ofProcess returns all subjects of a process by one of them: those with the same key, whatever is where the key does not look.
// It is "" for a subject that the pattern does not cover.
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

// Longest names that are made of keys, in bytes: a server takes commands of 4096.
const (
	longestKey  = 1024
	longestName = 1024
	// longestFilter is how much of a subject is asked for at most.
	longestFilter = 1024
)

// outSubject puts a key in the place of the `>` that out ends with. A key that is too long for that, or in no encoding that servers
// can be asked about, is spelled otherwise; what would look like such a spelling is, too, so that no two keys have one subject.
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

// spelling ends the name of a key that is not spelled as it is.
func spelling(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "==" + hex.EncodeToString(sum[:16])
}

// isSpelled reports whether a key ends as a spelling does.
func isSpelled(key string) bool {
	n := len(key) - len(spelling(""))
	return n >= 0 && strings.HasPrefix(key[n:], "==") && strings.Trim(key[n+2:], "0123456789abcdef") == ""
}

// filterable returns a subject that servers can be asked about and that covers subject. exact is set where that is itself.
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

// stateName spells a key as one of a key-value bucket's, which allow but few characters; others become =XX.
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

// tokenOf spells a text as one token of a subject, each text as another one: a dot, as host names have them, becomes _, and what
// cannot be in a token or would be taken for something else =XX for each of its bytes. Of no text it is a lone =.
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
			fmt.Fprintf(&b, "=%02X", text[0]) // each of them has one byte
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// partitioned returns the destination of a subject transform from wildcard, which puts the number of a partition, below n, in
// front. All subjects with the same key fall into one partition.
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

// partitions returns the number of partitions of a transform's destination, 0 where it is not one of partitioned. by are the
// wildcards that decide the partition, from 1; where there are none, the whole subject does.
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

// ofStream returns the number of partitions that a stream has its lines in, 0 where it is not divided. The error says why it can
// have no lines, or in partitions that do not serve the key.
func (p *pattern) ofStream(config *jetstream.StreamConfig) (n int, err error) {
	overlaps := func(subject string) bool { return overlap(strings.Split(subject, "."), p.wild) }
	t := config.SubjectTransform
	if t != nil {
		if n, _ = partitions(t.Destination); n == 0 { // then it is not known how it names its lines
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

// divided returns the number of partitions that a stream of the given subjects is in by its transform, 0 where that makes none. The
// error says why they do not serve the key.
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
		return 0, fmt.Errorf("its subject transform, from %s to %s, does more than to divide it into partitions", t.Source, t.Destination)
	case !p.within(source.wild, subjects):
		return 0, fmt.Errorf("only %s of it is divided into partitions, and that is not all of %s", t.Source, p.wildcard())
	case len(source.key) == 0 && len(p.free) > 0, slices.ContainsFunc(source.key, func(i int) bool { return !p.decides(i) }):
		return 0, fmt.Errorf("its partitions, from %s to %s, tear apart what is one process by the key %s: want a stream divided by that key, as a worker creates, or an undivided one",
			t.Source, t.Destination, strings.Join(p.tokens, "."))
	}
	return n, nil
}

// within reports whether all that p covers of a stream's subjects is covered by source, too. No subjects stand for any.
func (p *pattern) within(source, subjects []string) bool {
	return covers(source, p.wild) || len(subjects) > 0 && !slices.ContainsFunc(subjects, func(subject string) bool {
		tokens := strings.Split(subject, ".")
		return overlap(tokens, p.wild) && !covers(source, tokens)
	})
}

// decides reports whether all subjects of a process have the same token there.
func (p *pattern) decides(i int) bool {
	if last := len(p.wild) - 1; i >= last && p.wild[last] == ">" {
		return p.tail
	}
	return i < len(p.wild) && (p.wild[i] != "*" || slices.Contains(p.key, i))
}

// overlap reports whether a subject can be one of a and of b.
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
