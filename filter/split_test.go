package filter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/frame"
	"qss-filter/filter/print"
)

// transport writes the parts of a program's line as a logger does that has split it.
type transport struct {
	name string
	// parts returns a line for each part. who tells writers apart.
	parts func(who int, parts ...string) []string
	// fill is how long a part has to be for the logger to split it.
	fill int
}

func transports() []transport {
	each := func(parts []string, line func(part string, last bool) string) (lines []string) {
		for i, part := range parts {
			lines = append(lines, line(part, i == len(parts)-1))
		}
		return lines
	}
	return []transport{
		{"cri", func(who int, parts ...string) []string {
			return each(parts, func(part string, last bool) string {
				return "2026-11-20T15:58:12.000000001Z " + [...]string{"stderr", "stdout"}[who] + " " + map[bool]string{false: "P", true: "F"}[last] + " " + part + "\n"
			})
		}, 0},
		{"docker", func(who int, parts ...string) []string {
			return each(parts, func(part string, last bool) string {
				if last {
					part += "\n"
				}
				return `{"log":` + strings.ReplaceAll(strconv.Quote(part), `\x`, `\u00`) + `,"stream":"` + [...]string{"stderr", "stdout"}[who] + `","time":"2026-11-20T15:58:12.1Z"}` + "\n"
			})
		}, 16 << 10},
		{"logcat", func(who int, parts ...string) []string {
			return each(parts, func(part string, _ bool) string {
				return fmt.Sprintf("11-20 15:58:12.000 %5d %5d I wrap.sh : %s\n", 4711+who, 4712+who, part)
			})
		}, 4068 - len("wrap.sh") - 3},
	}
}

// cutLines are lines that are cut at every byte.
func cutLines() []string {
	lines := []string{
		"#0 0x7f0000001000 (/usr/lib/liba.so+0x1000) (BuildId: 8fe381949ea8c764) and text",
		"==7==ERROR: AddressSanitizer: SEGV /usr/lib/x.so(+0x1234)[0x7f0000001234] #1 0x7f0000002000 (/usr/lib/libb.so+0x2000) (BuildId: 0102)",
		"text {{{bt:1:0x7f0000001010:pc}}} text",
		"{{{module:0:/usr/lib/libm.so:elf:0102}}}{{{mmap:0x7f0000001000:0x1000:load:0:rx:0x1000}}} {{{pc:0x7f0000001014}}}",
	}
	for _, f := range frame.Formats() {
		if strings.HasPrefix(f.Sample, "{") {
			continue // an object of JSON that is cut stays as it is
		}
		lines = append(lines, f.Sample, "text; "+f.Sample)
	}
	return lines
}

// observed returns what a filter says of the frames of a log, and its output.
func observed(t *testing.T, log []string) (said, out []string) {
	t.Helper()
	f := filter.New(filter.Options{Symbols: addresses{}, Ran: filtertest.Ran, Context: print.ContextKeep, Renumber: print.RenumberNever, Observe: func(o *print.Observation) {
		said = append(said, fmt.Sprintf("%s %x %x %q %v %q", o.Module.Name, o.Module.BuildID, o.At, o.Whole, o.Outcome, o.Address))
	}})
	d := f.Feed()
	for _, line := range log {
		out = append(out, string(d.Flush(d.Add(context.Background(), nil, []byte(line)))))
	}
	return said, out
}

// expect returns what a filter says of the frames of a line that is not split, and whether it keeps all bytes of it.
func (tr *transport) expect(t *testing.T, line string) (said []string, kept bool) {
	t.Helper()
	said, out := observed(t, tr.parts(0, tr.filler(line, 0)[tr.fill/2:]+line)) // shorter than what is split
	return said, subsequence(line, out[0])
}

// filler returns what stands before the first part of a line, so that it is as long as the logger lets it be.
func (tr *transport) filler(line string, cut int) string {
	n := max(0, tr.fill-cut)
	return strings.Repeat("y", max(0, n-2*len(line))) + strings.Repeat(" ", min(n, 2*len(line)))
}

// TestSplitLines holds that a frame or an element that a logger has cut, at whichever byte, is the one that it was, and that each part has
// left when the next one comes, with all of its bytes. Where logcat cuts after a frame, that might have gone on: it stays as it is.
func TestSplitLines(t *testing.T) {
	for _, tr := range transports() {
		for _, line := range cutLines() {
			if tr.fill > 0 && strings.HasPrefix(line, "text;") {
				continue // other text stands before it in any case
			}
			if tr.name == "logcat" && strings.HasPrefix(line, "==7==") {
				continue // no mark says that a headline goes on
			}
			if tr.name == "logcat" && boardList.MatchString(line) {
				continue // no word of them is searched for, and consoles of boards write no logcat: what is cut between two addresses stays so
			}
			want, kept := tr.expect(t, line)
			for cut := 1; cut < len(line); cut++ {
				first := tr.filler(line, cut) + line[:cut]
				log := append(tr.parts(0, first, line[cut:]), tr.parts(0, "#0 0x7f0000009000 (/usr/lib/libz.so+0x9000)")...)
				said, out := observed(t, log)
				said = said[:max(0, len(said)-1)]
				if strings.Join(said, "\n") != strings.Join(want, "\n") && !(tr.name == "logcat" && lacksOnly(said, want, line[:cut])) {
					t.Errorf("%s, cut to %q and %q:\n got %q\nwant %q\n%.200q", tr.name, line[:cut], line[cut:], said, want, out[1])
				}
				for i := range log {
					if !strings.HasSuffix(out[i], "\n") || kept && !subsequence(log[i], out[i]) {
						t.Errorf("%s, cut to %q and %q: %q became %q", tr.name, line[:cut], line[cut:], log[i], out[i])
					}
				}
			}
		}
	}
}

// boardList matches what begins the lists of addresses of NuttX and of ESP-IDF's heap traces, and the registers of U-Boot.
var boardList = regexp.MustCompile(`backtrace\| 2:| caller 0x|freed by 0x|^elr: |^EPC: `)

// lacksOnly reports whether only one frame is missing of those wanted, and stands at the end of a text.
func lacksOnly(said, want []string, text string) bool {
	i := 0
	for i < len(said) && said[i] == want[i] {
		i++
	}
	if len(said)+1 != len(want) || !slices.Equal(said[i:], want[i+1:]) {
		return false
	}
	_, quoted, _ := strings.Cut(want[i], `"`)
	whole, err := strconv.QuotedPrefix(`"` + quoted)
	if err != nil {
		return false
	}
	whole, err = strconv.Unquote(whole)
	at := strings.LastIndex(text, whole)
	return err == nil && at >= 0 && len(text)-at-len(whole) < 64 // what may be the beginning of its module
}

// TestSplitLinesOfTwo holds that the parts of two streams, or of two processes, are told apart, and that a second run changes nothing.
func TestSplitLinesOfTwo(t *testing.T) {
	lines := [2]string{"#1 0x7f0000001000 (/usr/lib/liba.so+0x1000) (BuildId: 8fe381949ea8c764) .", "#2 0x7f0000002000 (/usr/lib/libbcd.so+0x2000) (BuildId: 0123456789abcdef) ."}
	for _, tr := range transports() {
		var want []string
		for _, line := range lines {
			said, _ := tr.expect(t, line)
			want = append(want, said...)
		}
		for cut := 2; cut < len(lines[0])-2; cut++ {
			var parts [2][]string
			for who, line := range lines {
				parts[who] = tr.parts(who, tr.filler(line, cut)+line[:cut], line[cut:])
			}
			log := []string{parts[0][0], parts[1][0], "plain\n", parts[0][1], parts[1][1]}
			said, out := observed(t, log)
			if strings.Join(said, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s, cut after %d:\n got %q\nwant %q", tr.name, cut, said, want)
			}
			if _, again := observed(t, out); strings.Join(again, "") != strings.Join(out, "") {
				t.Errorf("%s, cut after %d: filtered twice:\n got %q\nwant %q", tr.name, cut, again, out)
			}
		}
	}
}

// TestSplitObject holds that the parts of an object are one object afterwards, too, with the frames of its strings in it.
func TestSplitObject(t *testing.T) {
	object := `{"level":"fatal","message":"==7==ERROR: \"x\"\n#0 0x7f0000001000 (/usr/lib/li\"ba.so+0x1000)\n#1 0x7f0000002000 (/usr/lib/libb.so+0x2000) (BuildId: 0102)\n","pid":7}`
	const head = "2026-11-20T15:58:12.000000001Z stderr "
	for first := 2; first < len(object)-2; first++ {
		for _, second := range []int{first, min(first+3, len(object)-1), (first + len(object)) / 2} {
			log := []string{head + "P " + object[:first] + "\n", head + "P " + object[first:second] + "\n", head + "F " + object[second:] + "\n"}
			said, out := observed(t, log)
			whole := ""
			for i := range out {
				text, ok := strings.CutPrefix(out[i], log[i][:len(head)+2])
				if !ok || strings.Count(text, "\n") != 1 {
					t.Fatalf("cut at %d and %d: %q became %q", first, second, log[i], out[i])
				}
				whole += strings.TrimSuffix(text, "\n")
			}
			var is struct{ Message string }
			if err := json.Unmarshal([]byte(whole), &is); err != nil || len(said) != 2 ||
				!strings.Contains(is.Message, `/usr/lib/li"ba.so@1000`) || !strings.Contains(is.Message, "/usr/lib/libb.so@1fff") {
				t.Errorf("cut at %d and %d: %v, %q\n%s", first, second, err, said, whole)
			}
		}
	}
}

// TestSplitFar holds that a part that does not come is not awaited, however the log comes.
func TestSplitFar(t *testing.T) {
	const head = "2026-11-20T15:58:12.000000001Z stderr "
	first, last := head+"P #0 0x7f0000001000 (/usr/lib/li\n", head+"F ba.so+0x1000)\n"
	for _, other := range []int{0, 1 << 10, 19 << 10, 21 << 10, 2 << 20} {
		line := strings.Replace(head, "stderr", "stdout", 1) + "F plain text\n"
		log := first + strings.Repeat(line, other/len(line)) + last
		want := log
		if other < 20<<10 {
			want = strings.TrimSuffix(log, "\n") + " in /usr/lib/liba.so@1000\n"
		}
		for _, size := range []int{1 << 30, 4096, 100} {
			f := filter.New(filter.Options{Symbols: addresses{}, Ran: filtertest.Ran})
			d := f.Feed()
			var out []byte
			for rest := []byte(log); len(rest) > 0; {
				n := min(size, len(rest))
				out = d.Add(t.Context(), out, rest[:n])
				rest = rest[n:]
			}
			if string(d.Flush(out)) != want {
				t.Errorf("%d bytes between, in pieces of %d: the end is %.200q", other, size, out[len(out)-min(len(out), 200):])
			}
		}
	}
}

// subsequence reports whether all bytes of a text are in another one, in their order.
func subsequence(text, of string) bool {
	for i := 0; i < len(of) && text != ""; i++ {
		if of[i] == text[0] {
			text = text[1:]
		}
	}
	return text == ""
}
