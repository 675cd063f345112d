package filter_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/prefix/prefixtest"
	"qss-filter/filter/print"
)

// escape writes text into a JSON string as loggers do.
func escape(text string) string {
	var out strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out.WriteString("\\" + string(rune(c)))
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\t':
			out.WriteString(`\t`)
		case c < 0x20:
			fmt.Fprintf(&out, `\u%04x`, c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// TestSamplesEverywhere runs every sample log behind every prefix, and holds that each line becomes what it becomes without
// one, with the line's own prefix and suffix around every line that it becomes; JSON stays JSON. With
// TestNothingElseChanges that is: whatever the prefix, nothing changes but frames. It also filters what came out: nothing
// changes any more.
func TestSamplesEverywhere(t *testing.T) {
	logs := filtertest.Samples(t)
	prefixes := prefixtest.All()
	combinations, failures := 0, 0
	for name, log := range logs {
		lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
		plain := filtertest.LineByLine(t, filter.Options{Context: print.ContextKeep}, lines)
		for i := range prefixes {
			p := &prefixes[i]
			if strings.Contains(p.Name, "valgrind") && strings.Contains(log, "==ERROR") {
				continue // a report that names two processes
			}
			if p.JSON && strings.HasPrefix(log, "{") {
				continue // JSON in a string of JSON is text: what is added goes into the outer string
			}
			combinations++
			want := make([]string, len(lines))
			for k, text := range plain {
				became := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
				if p.JSON {
					became = []string{escape(strings.Join(became, "\n"))}
				}
				if !p.Own {
					for j := range became {
						became[j] = p.Line(became[j], 4711, 3*k)
					}
				} else {
					became = append(append([]string{p.Before(4711, 3*k)}, became...), "")
				}
				want[k] = strings.Join(became, "\n") + "\n"
			}
			got := filtertest.Run(t, filter.Options{Context: print.ContextKeep}, wrap(p, lines))
			if got != strings.Join(want, "") {
				failures++
				if failures < 40 {
					t.Errorf("%s behind %s: %s", name, p.Name, firstDifference(got, strings.Join(want, "")))
				}
				continue
			}
			if again := filtertest.Run(t, filter.Options{Context: print.ContextKeep}, got); again != got {
				failures++
				t.Errorf("%s behind %s, filtered twice: %s", name, p.Name, firstDifference(again, got))
			}
			if p.JSON {
				for line := range strings.Lines(got) {
					if !json.Valid([]byte(line)) {
						t.Errorf("%s behind %s: not JSON any more: %s", name, p.Name, line)
					}
				}
			}
		}
	}
	t.Logf("%d combinations, %d wrong", combinations, failures)
}

// wrap writes lines behind a prefix, all of them from one thread: every third of the prefixes is one.
func wrap(p *prefixtest.Sample, lines []string) string {
	var log strings.Builder
	for i, text := range lines {
		if p.JSON {
			text = escape(text)
		}
		if p.Own {
			log.WriteString(p.Before(4711, 3*i) + "\n" + text + "\n\n")
			continue
		}
		log.WriteString(p.Line(text, 4711, 3*i) + "\n")
	}
	return log.String()
}

// firstDifference shows the first line that is not as it should be.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n got %q\nwant %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}
