package worker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

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
// wildcards that tell the partition, from 1; where there are none, the whole subject does.
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
		if n, _ = partitions(t.Destination); n == 0 { // then nobody knows how it names its lines
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
