package filter_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
)

// TestElementsInJSON holds that what elements in JSON strings say is read as JSON says it: the string that leaves is that of
// the same line by itself. Elements of which nothing is known stay byte for byte.
func TestElementsInJSON(t *testing.T) {
	const context = `{"m":"{{{module:0:\/usr\/l \"q\" \u00e9\ud83d\ude00.so:elf:0123abcd}}}"}` + "\n" + `{"m":"{{{mmap:0x1000:0x100:load:0:rx:0x0}}}"}` + "\n"
	const name = "/usr/l \"q\" \u00e9\U0001f600.so"
	for _, tc := range []struct{ in, want string }{
		{`{{{bt:0:0x1020:pc}}}`, "    #0    0x0000000000001020 plain /src/p.c:3:1 (" + name + "+0x20)"},
		{`at {{{pc:0x1099}}}`, "at 0x0000000000001099 (" + name + "+0x99) (BuildId: 0123abcd)"},
		{`{{{bt:0:0x1020:pc:\"m\/\"}}}`, "    #0    0x0000000000001020 plain /src/p.c:3:1 (" + name + "+0x20) \"m/\""},
		{`{{{dumpfile:t:a\"b\/c\u0041}}}`, "[[[dumpfile t \"a\"b/cA\"]]]"},
		{`x {{{symbol:a\/b}}}`, "x a/b"},
	} {
		got := feed(filter.Options{}, context+`{"m":"`+tc.in+`"}`+"\n")
		var last struct{ M string }
		if err := json.Unmarshal([]byte(got[strings.LastIndex(got[:len(got)-1], "\n")+1:]), &last); err != nil || last.M != tc.want {
			t.Errorf("%s: %q, %v, want %q", tc.in, last.M, err, tc.want)
		}
	}
	for _, in := range []string{`x {{{bt:0:0x9020:\"m\/\"}}} {{{pc:0x9000:\/}}}`, `{{{mmap:\/}}} \/`, `{{{bt:1:0x9020:pc:\u0041}}}`, `{{{dumpfile:\/}}}`} {
		line := `{"m":"` + in + `"}` + "\n"
		for _, style := range []print.Style{print.Annotate, print.Append, print.Replace} {
			if got := feed(filter.Options{Style: style}, line); got != line {
				t.Errorf("%s became %s", line, got)
			}
		}
	}
	var seen []filter.Dumpfile
	feed(filter.Options{OnDumpfile: func(d filter.Dumpfile) { seen = append(seen, d) }}, `{"m":"{{{dumpfile:t:a\"b\/c\u0041}}}"}`+"\n")
	if !slices.ContainsFunc(seen, func(d filter.Dumpfile) bool { return d.Name == `a"b/cA` }) {
		t.Errorf("told of %+v", seen)
	}
}
