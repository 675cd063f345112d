package filter_test

import (
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
)

// TestDedupToken holds that the functions which the token of a sanitizer lacks are those of the stack above it, also of a stack that is known,
// and that a token which says something else stays as it came. The tokens are those of a stripped program: of `----` in place of names.
func TestDedupToken(t *testing.T) {
	const stack = "    #0 0x7f0000001000 in f (/usr/lib/liba.so+0x1000) (BuildId: 01)\n    #1 0x7f0000002000  (/usr/lib/libb.so+0x2000) (BuildId: 02)\n" +
		"    #2 0x7f0000003000  (/usr/lib/liba.so+0x3000) (BuildId: 01)\n    #3 0x7f0000004005 in named a.c:3:4\n    #4 0x7f0000004000  (/usr/lib/liba.so+0x4000) (BuildId: 01)\n"
	const first = "/usr/lib/liba.so@1000"
	for _, tc := range []struct{ token, want string }{
		{first + "----", first + "--/usr/lib/libb.so@2000--/usr/lib/liba.so@3000"},
		{first + "--", first + "--/usr/lib/libb.so@2000"},
		{first + "--/usr/lib/libb.so@2000", first + "--/usr/lib/libb.so@2000"},
		{"other----", "other----"},
		{first + "----------", first + "----------"},
	} {
		log := strings.Repeat("==7==ERROR: AddressSanitizer: x at pc 0x7f0000001000\n\n\n\n\n"+stack+"DEDUP_TOKEN: "+tc.token+"\n\n", 4)
		out := filtertest.Run(t, filter.Options{Symbols: addresses{}}, log)
		if n := strings.Count(out, "\nDEDUP_TOKEN: "+tc.want+"\n"); n != 4 {
			t.Errorf("%s: %d of 4 are %s in\n%s", tc.token, n, tc.want, out)
		}
	}
	// The second of two stacks with the same first function, which begins close below the first one.
	next := strings.Replace(stack, "x2000", "x5000", 2)
	out := filtertest.Run(t, filter.Options{Symbols: addresses{}}, stack+"DEDUP_TOKEN: "+first+"--\nfreed by thread T0 here:\n"+next+"DEDUP_TOKEN: "+first+"--\n")
	if !strings.HasSuffix(out, "\nDEDUP_TOKEN: "+first+"--/usr/lib/libb.so@5000\n") {
		t.Errorf("the token of the second stack is another one's in\n%s", out)
	}
	if out := filtertest.Run(t, filter.Options{Symbols: addresses{}}, stack+"\n\n\n\nDEDUP_TOKEN: "+first+"----\n"); !strings.HasSuffix(out, first+"----\n") {
		t.Errorf("a token of no stack became %q", out)
	}
}
