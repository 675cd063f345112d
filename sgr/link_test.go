package sgr

import "testing"

func TestLink(t *testing.T) {
	const open, end = "\x1b]8;;http://x/\x1b\\", "\x1b]8;;\x1b\\"
	for in, want := range map[string]bool{
		"": false, "text": false, open: true, open + "text": true, open + end: false, open + end + open: true, end: false,
		"\x1b]8;id=1:a=b;file:///x\a": true, open + "\x1b]8;id=1;\a": false, open + "\x1b[0m\x1b]0;title\a": true,
		open + "\x1b[31\x1b]8;;\a": false,
		// Unfinished, or not a link.
		"\x1b]8;;http://x/": false, open + "\x1b]8;;": true, "\x1b]8;x\a": false, "\x1b]88;;x\a": false, "\x1b]8;;x\x1b[m": false,
	} {
		var l Link
		l.Feed([]byte(in))
		if bool(l) != want {
			t.Errorf("%q: %v", in, l)
		}
		var bytewise Link
		bytewise.Feed([]byte("before" + in + "after"))
		if in != "\x1b]8;;http://x/" && bool(bytewise) != want {
			t.Errorf("%q in a text: %v", in, bytewise)
		}
	}
}

func FuzzLink(f *testing.F) {
	f.Add([]byte("\x1b]8;;http://x/\x1b\\a\x1b]8;;\a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var l Link
		l.Feed(append(b, "\x1b\\\x1b]8;;\x1b\\"...)) // closes any link
		if l {
			t.Errorf("%q stays open", b)
		}
	})
}
