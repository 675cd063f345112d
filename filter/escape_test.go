package filter_test

import (
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
)

// TestAnswerAtTheEndOfColour holds that a frame whose answer stands at its end keeps it there where an escape sequence follows,
// and that what a logger puts behind its lines is no part of a frame.
func TestAnswerAtTheEndOfColour(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[32mbin/bt/bt-pie(+0x1255)[0x56235714a255]\x1b[0m\n":       "\x1b[32mbin/bt/bt-pie(+0x1255)[0x56235714a255] in exported_fn /home/dev/crash-examples/src/bt.c:12:63\x1b[0m\n",
		"D(10123: 4711) # C  [libhs.so+0x10f9]  inner+0x0  (wrap.sh)\n": "D(10123: 4711) # C  [libhs.so+0x10f9] in inner /home/dev/crash-examples/src/hsjni.c:2:61  (wrap.sh)\n",
	} {
		if got := filtertest.Run(t, filter.Options{}, in); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
