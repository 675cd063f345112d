package prefix_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"qss-filter/filter/match"
	"qss-filter/filter/prefix"
	"qss-filter/filter/prefix/prefixtest"
)

// check asserts what holds for every line: spans inside of it, and the same answer when it is read again.
func check(t *testing.T, r *prefix.Reader, line []byte) {
	t.Helper()
	p := r.Read(line)
	if p.Start < 0 || p.Start > p.End || p.End > len(line) || p.Start > 512 {
		t.Fatalf("%q: text %d to %d", line, p.Start, p.End)
	}
	spans := []prefix.Span{p.PID, p.TID, p.Claimed, p.Host, p.Tag}
	for i := range p.Units() {
		spans = append(spans, p.Unit(i))
	}
	for _, s := range spans {
		if s.Start < 0 || s.Start > s.End || int(s.End) > len(line) {
			t.Fatalf("%q: span %v of %+v", line, s, p)
		}
	}
	for _, s := range spans[:3] {
		for _, c := range s.Of(line) {
			if c < '0' || c > '9' {
				t.Fatalf("%q: %q is no process", line, s.Of(line))
			}
		}
	}
	if p.Kind == prefix.KindNone && (p.Start != 0 || p.End != len(line)) {
		t.Fatalf("%q: no logger, text %d to %d", line, p.Start, p.End)
	}
	key := p.AppendKey(nil, line, prefix.ByAuto)
	again := r.Read(line)
	if again != p || !bytes.Equal(again.AppendKey(nil, line, prefix.ByAuto), key) {
		t.Fatalf("%q read again: %+v, before %+v", line, again, p)
	}
	p.AppendThread(nil, line, prefix.ByHostPID)
	prefix.IsHeader(line)
	if pid, ok := prefix.Crashed(line, match.Look(line)); ok && len(bytes.Trim(pid.Of(line), "0123456789")) > 0 {
		t.Fatalf("%q names %q", line, pid.Of(line))
	}
	j := prefix.JSONKey(line)
	j.AppendKey(nil, line, prefix.ByAuto)
}

func FuzzRead(f *testing.F) {
	for _, s := range prefixtest.All() {
		f.Add([]byte(s.Line(payload[0], 19531, 1)), []byte(payload[1]))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var r prefix.Reader
		check(t, &r, first)
		check(t, &r, second)
		check(t, &r, first)
	})
}

// TestMutations reads every sample cut at every place, and with bytes of it exchanged.
func TestMutations(t *testing.T) {
	const signs = "0 :[](){}<>=-/.\x1bTZEF|,@"
	rnd := rand.New(rand.NewPCG(1, 2))
	var r prefix.Reader
	for _, s := range prefixtest.All() {
		line := []byte(s.Line("==7== x  (T)", 19531, 1))
		for n := range line {
			check(t, &r, line[:n])
			check(t, &r, line[n:])
		}
		for range 200 {
			changed := bytes.Clone(line)
			for range 1 + rnd.IntN(3) {
				changed[rnd.IntN(len(changed))] = signs[rnd.IntN(len(signs))]
			}
			check(t, &r, changed)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	var r prefix.Reader
	var key []byte
	for _, s := range prefixtest.All() {
		line := []byte(s.Line(payload[0], 19531, 1))
		key = append(key[:0], make([]byte, 256)...)
		if n := testing.AllocsPerRun(10, func() {
			p := r.Read(line)
			key = p.AppendKey(key[:0], line, prefix.ByAuto)
			prefix.Crashed(line, match.Look(line))
			j := prefix.JSONKey(line)
			key = j.AppendKey(key, line, prefix.ByAuto)
		}); n > 0 {
			t.Errorf("%s: %v allocations", s.Name, n)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, s := range prefixtest.All() {
		switch s.Name {
		case "logcat threadtime", "logcat brief", "logcat raw", "cri", "syslog rfc3164", "syslog rfc5424", "github actions",
			"compose + logcat threadtime", "fuchsia klog", "printk", "logcat threadtime color", "timestamp":
		default:
			continue
		}
		line := []byte(s.Line(payload[0], 19531, 1))
		b.Run(s.Name, func(b *testing.B) {
			var r prefix.Reader
			b.ReportAllocs()
			for b.Loop() {
				p := r.Read(line)
				if p.Kind != s.Kind {
					b.Fatal(p.Kind)
				}
			}
		})
	}
}

func BenchmarkCrashed(b *testing.B) {
	line := []byte(payload[0])
	for b.Loop() {
		if _, ok := prefix.Crashed(line, match.Look(line)); ok {
			b.Fatal("a frame names no process")
		}
	}
}

func BenchmarkJSONKey(b *testing.B) {
	line := []byte(`{"log":"    #0 0x55aefc1432a3  (/home/dev/crash+0x1182a3)\n","stream":"stderr","time":"2026-11-20T15:58:12.000000000Z"}`)
	for b.Loop() {
		prefix.JSONKey(line)
	}
}
