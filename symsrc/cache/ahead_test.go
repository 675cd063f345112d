//go:build linux || darwin

package cache

import (
	"context"
	"testing"

	"qss-filter/symsrc"
)

// told is a source that records the queries of Prefetch.
type told struct {
	*engine
	qs []symsrc.Expected
}

func (e *told) Prefetch(_ context.Context, qs []symsrc.Expected) (helps bool) {
	e.qs = append(e.qs, qs...)
	return true
}

// TestPassOn checks that Prefetch passes the queries that the cache cannot answer on to the wrapped source.
func TestPassOn(t *testing.T) {
	unhurried(t)
	dir := tempDir(t)
	warm(t, dir, many)
	s, w := source(t, dir, &engine{})
	behind := &told{engine: &engine{}}
	s.behind = behind
	connect(t, s)
	other := addr(0)
	other.Module.BuildID = "\x09\x09\x09\x09"
	s.Prefetch(context.Background(), []symsrc.Expected{{Addr: addr(2)}, {Addr: addr(4)}, {Addr: other}})
	if len(behind.qs) != 1 || behind.qs[0].Addr != other {
		t.Errorf("told of %+v", behind.qs)
	}
	s.Close()
	w.check(t)
}
