package cli

import (
	"strings"
	"testing"

	"qss-filter/sgr"
)

// TestRendered shows a page as a narrow terminal does: nothing is wider, no mark is left, and each word is there.
func TestRendered(t *testing.T) {
	t.Parallel()
	const page = `# Title

A paragraph with ` + "`code`" + ` and **strong words**, which is
so long that it is *wrapped*.

* one item that is longer than the line is
* [a link](https://example.org)

1. first

| flag | what it does |
| --- | --- |
| ` + "`--a\\|b`" + ` | shows either of the two |
| フレーム | wide |

    code | stays  as it is
`
	const want = `Title

A paragraph with code and
strong words, which is so long
that it is *wrapped*.

* one item that is longer than
  the line is
* a link

1. first

flag      what it does
--a|b     shows either of the
          two
フレーム  wide

    code | stays  as it is
`
	if got := rendered(page, 30, nil); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	colored := rendered(page, 30, sgr.NewTheme(true))
	if plain := string(sgr.Uncolored(nil, []byte(colored))); plain != want || plain == colored {
		t.Errorf("in color\n%q\nwant the same text in color\n%q", colored, want)
	}
}

// FuzzRendered holds that no page makes it panic, or loses a letter.
func FuzzRendered(f *testing.F) {
	f.Add("| a | b |\n| --- | --- |\n| `c` | **d** |", 20)
	f.Add("* [x](y) `\n\n1. z", 1)
	f.Fuzz(func(t *testing.T, page string, width int) {
		got := rendered(page, width%200, nil)
		if len(page) < 100 && strings.Count(got, "e") < strings.Count(page, "e") && !strings.ContainsAny(page, "[(|") {
			t.Errorf("%q became %q", page, got)
		}
	})
}
