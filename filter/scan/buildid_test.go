package scan

import "testing"

// TestBuildID finds build IDs in all spellings of what stands around them. Before the IDs there are as many bytes as "at" says.
func TestBuildID(t *testing.T) {
	for _, c := range []struct{ text, id, rest string }{
		{" (BuildId: 5290)", "5290", ""},
		{" (Buildid: 5290) in f", "5290", " in f"},
		{"(Build-id:5290)", "5290", ""},
		{"  ( Build ID = 52 90 )", "52 90", ""},
		{" (build_id=5290)", "5290", ""},
		{" (BUILD ID 5290)", "5290", ""},
		{" [BuildID: 5290]", "5290", ""},
		{" (BuildID[sha1]=5290)", "5290", ""},
		{" (BuildId: 11223344-5566)", "11223344-5566", ""},
		{" (BuildId: sha1:5290)", "sha1:5290", ""},
		{" (BuildId: (null))", "(null)", ""},
		{" (BuildId: <none>)", "<none>", ""},
		{" (BuildId: )", "", ""},
		{" (BuildId: 52", "52", ""},
		{" (BuildId: 52\" }", "52", "\" }"},
		{" BuildId: 5290 rest", "5290", " rest"},
		{", build-id=5290, rest", "5290", ", rest"},
		{" BuildID[sha1]=5290, stripped", "5290", ", stripped"},
	} {
		id, end, ok := BuildID([]byte(c.text), 0)
		if got := string(id.Of([]byte(c.text))); !ok || got != c.id || c.text[end:] != c.rest {
			t.Errorf("%q: %q, the rest is %q, %v; want %q and %q", c.text, got, c.text[end:], ok, c.id, c.rest)
		}
	}
	for _, text := range []string{"", " ", ",", "(", " (build)", " (BuildIdentity)", " (BuildId)", " (BuildId", " BuildId 5290", " buildid:", " (Builder: 5290)", " (offset 0x1)", " in build id"} {
		if id, _, ok := BuildID([]byte(text), 0); ok {
			t.Errorf("%q has the build ID %v", text, id)
		}
	}
}
