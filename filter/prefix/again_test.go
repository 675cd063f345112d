package prefix_test

import (
	"math/rand/v2"
	"testing"

	"qss-filter/filter/prefix"
	"qss-filter/filter/prefix/prefixtest"
)

// TestAgain holds that a prefix which comes again is what is read of its line, whatever came before, and that a line with another one is not
// taken for one with it: lines of all loggers, with bytes that have changed.
func TestAgain(t *testing.T) {
	words := []string{"#0 0x55aefc1432a3  (/home/dev/crash+0x1182a3)", "    #12 0x7f00 (a (1): b) x(7): y", " #1 0x7f00 host prog[7]: 12:34:56 I/x(7): y"}
	repeated := map[prefix.Kind]int{}
	for _, s := range prefixtest.All() {
		if s.JSON || s.Own {
			continue
		}
		for seed := range uint64(40) {
			r := rand.New(rand.NewPCG(seed, 5))
			text := words[r.IntN(len(words))]
			line := []byte(s.Line(text, 19531, r.IntN(3)))
			var reader prefix.Reader
			p := reader.Read(line)
			var h prefix.Head
			if !h.Learn(line, &p) {
				continue
			}
			for range 200 {
				text = words[r.IntN(len(words))]
				other := append([]byte(s.Line(text, 19531, r.IntN(9))), '\n')
				begin := len(other) - 1 - len(text)
				for range r.IntN(3) {
					at := &other[r.IntN(begin)]
					if *at = "0123456789:. -T,Z+#)(][xI/"[r.IntN(26)]; r.IntN(2) == 0 {
						*at = byte('0' + r.IntN(10))
					}
				}
				body := other[:len(other)-1]
				fresh := reader
				again := reader.Again(&h, other)
				want := fresh.Read(body)
				if !again {
					reader = fresh
					continue
				}
				repeated[p.Kind]++
				got := h.Prefix
				got.End = len(body)
				if got != want {
					t.Fatalf("%q after %q: got %+v, want %+v", body, line, got, want)
				}
				if next := []byte("2026-11-20T15:58:12Z box app: text"); reader.Read(next) != fresh.Read(next) {
					t.Fatalf("%q after %q: %q is read in another way", body, line, next)
				}
			}
		}
	}
	for _, kind := range []prefix.Kind{prefix.LogcatThreadtime, prefix.SyslogBSD, prefix.SyslogISO, prefix.CRI, prefix.Timestamp} {
		if repeated[kind] < 100 {
			t.Errorf("%v came %d times again", kind, repeated[kind])
		}
	}
}
