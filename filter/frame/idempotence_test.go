package frame

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
)

// places are answers as the filter writes them after " in "; done is set where they name a line.
var places = []struct {
	text string
	done bool
}{
	{"f a.c:1:2", true},
	{"ns::g<int (*)(char), 3>::operator()(int) const /src dir/x+y (1).cc:10:3", true},
	{"f(int) /src/a.c:5 (approximate)", true},
	{"<a::B as c::D<u8>>::e::{{closure}} ./src/main.rs:7:9 (inlined)", true},
	{"f /s/a.c:5:1 (inlined into g /s/b.c:6, h /c.c:7)", true},
	{"main", false},
	{"operator new(unsigned long)", false},
	{"(anonymous namespace)::f(char const*, int (*)(int)) const", false},
}

// annotate writes an answer as the filter does: into the gap, or before a pair in a sentence.
func annotate(line []byte, f *Frame, number, place string) []byte {
	var b bytes.Buffer
	pos := 0
	if !f.Num.Empty() && number != "" {
		b.Write(line[:f.Num.Start])
		b.WriteString(number)
		pos = f.Num.End
	}
	b.Write(line[pos:f.Gap.Start])
	if f.Shape == Pair {
		b.WriteString(place + " ")
	} else {
		b.WriteString(" in " + place)
	}
	b.Write(line[f.Gap.End:])
	return b.Bytes()
}

// TestIdempotence holds that the filter's own output is not annotated again: with a line it is done or no frame at all, and
// a bare name is at most replaced by itself.
func TestIdempotence(t *testing.T) {
	n := 0
	for _, line := range samples(t) {
		for k, f := range all(line) {
			if f.Done || f.Shape == NumberOnly || f.Shape == Fields {
				continue
			}
			n++
			for _, p := range places {
				again := annotate(line, &f, "", p.text)
				checkAgain(t, line, again, f.Whole.Start, p.text, p.done)
				if f.Num.Empty() || f.Counts || k > 0 {
					continue
				}
				// The line of an inlined function has a number of its own.
				inlined := annotate(line, &f, strconv.FormatUint(f.Number, 10)+".1", p.text)
				for _, g := range all(inlined) {
					if !g.Done && g.Whole.Start <= f.Whole.End {
						t.Errorf("%q: read again as %s", inlined, describe(inlined, &g))
					}
				}
			}
		}
	}
	if n < 80 {
		t.Errorf("only %d frames to annotate", n)
	}
}

func checkAgain(t *testing.T, line, again []byte, start int, place string, done bool) {
	t.Helper()
	for _, g := range all(again) {
		if g.Done || g.Whole.Start > start+len(place)+len(" in ") || g.Whole.End <= start {
			continue
		}
		if done && !strings.Contains(string(line[:start]), "acktrace:") {
			t.Errorf("%q: read again as %s", again, describe(again, &g))
			continue
		}
		if g.Shape == NumberOnly || g.Shape == Pair {
			continue
		}
		if twice := annotate(again, &g, "", place); !bytes.Equal(twice, again) {
			t.Errorf("%q becomes %q, as %s", again, twice, describe(again, &g))
		}
	}
}

// TestSeveralLines holds that the lines of a JSON string, which come with their breaks, do not run into each other.
func TestSeveralLines(t *testing.T) {
	for _, pair := range [][2]string{
		{"#0 0x1\nx (/lib/a.so+0x2)", "numbered|"},
		{"#0 0x1 f()\n#1 0x2 (/lib/a.so+0x2)\n", "numbered|sanitizer|"},
		{"bin/a(+0x1)[0x1001]\n/lib/b(+0x2)[0x1002]\nbin/c(f+0x3)[0x1003]\n", "glibc|glibc|glibc|"},
		{"bin/a[0x401001]\nbin/b[0x401002]", "glibc|glibc|"},
		{"    @     0x7f4d8065a050 f()\n    @     0x7f4d8065a051 g()\n", "glog|glog|"},
		{"  a+0x1/0x2\n  b+0x1/0x2 [m]\n", "kernel|kernel|"},
		{"#00 pc 0012  /lib/a.so (f+1)\n#01 pc 0034  /lib/b.so\n", "android|android|"},
		{"#0  0x00007fd2dab662a2 a (b.so + 0x1)\n#1  0x00007fd2dab662a2 c (d.so + 0x2)", "systemd|systemd|"},
		{"C  [liba.so+0x1]  a+0x0\nC  [libb.so+0x1]\n", "hs_err|hs_err|"},
		{" 0: (0xb6be63cf) [/a] + 0x13cf\n 1: f + 0x1 (0xb6be63cf) [/b] + 0x13cf", "tizen|tizen|"},
	} {
		for _, escape := range []bool{false, true} {
			line := []byte(pair[0])
			if escape {
				line = []byte(strings.ReplaceAll(pair[0], "\n", `\n`))
			}
			var got string
			for _, f := range all(line) {
				got += f.Family + "|"
				if bytes.ContainsAny(f.Whole.Of(line), "\n") || bytes.Contains(f.Whole.Of(line), []byte(`\n`)) {
					t.Errorf("%q: a frame over two lines: %s", line, describe(line, &f))
				}
			}
			if got != pair[1] && !escape {
				t.Errorf("%q: got %s, want %s", line, got, pair[1])
			}
		}
	}
}

// FuzzAgain holds for any line what TestIdempotence holds for the samples: what has been answered with a place is done.
func FuzzAgain(f *testing.F) {
	for _, line := range samples(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, fr := range all(line) {
			if fr.Done || fr.Shape == NumberOnly || fr.Shape == Fields {
				continue
			}
			const place = "f a.c:1:2"
			again := annotate(line, &fr, "", place)
			for _, g := range all(again) {
				if g.Whole.Start == fr.Whole.Start && g.Family == fr.Family && g.Shape == fr.Shape && !g.Done {
					t.Fatalf("%q: answered in %q, read again as %s", line, again, describe(again, &g))
				}
			}
		}
	})
}
