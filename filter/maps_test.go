package filter_test

import (
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
)

// The program's code lies at 0x1000 of its image and of its file, 0x55cf1954e000 being where that begins.
const (
	glogFrames = "*** SIGSEGV (@0x0) received by PID 22721 (TID 0x7f) from PID 0; stack trace: ***\n" +
		"    @     0x55cf1954f255 (unknown)\n    @     0x55cf1954f284 main\n"
	wantFrames = "in exported_fn /home/dev/crash-examples/src/bt.c:12:63"
)

// lists are lists of mappings of bt-pie, in every form.
var lists = map[string]string{
	"proc": "55cf1954e000-55cf1954f000 r--p 00000000 fe:00 5316636    /x/bt-pie\n55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /x/bt-pie\n" +
		"55cf19550000-55cf19551000 r--p 00002000 fe:00 5316636    /x/bt-pie\n",
	"tombstone": "memory map (3 entries): (fault address prefixed with --->)\n" +
		"    000055cf'1954e000-000055cf'1954efff r--         0      1000  /x/bt-pie (load bias 0x0)\n--->000055cf'1954f000-000055cf'1954ffff r-x      1000      1000  /x/bt-pie\n",
	"tizen":     "Maps Information\n55cf1954f000 55cf19550000 r-xp /x/bt-pie\nEnd of Maps Information\n",
	"sanitizer": "==22721==Process memory map follows:\n\t0x55cf1954e000-0x55cf1954f000\t/x/bt-pie\n\t0x55cf1954f000-0x55cf19550000\t/x/bt-pie\n==22721==End of process memory map.\n",
	"hs_err":    "Dynamic libraries:\n55cf1954e000-55cf1954f000 r--p 00000000 fe:00 5316636                    /x/bt-pie\n55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636                    /x/bt-pie\n\nVM Arguments:\n",
	"gdb":       "      0x55cf1954e000     0x55cf1954f000     0x1000        0x0  r--p   /x/bt-pie\n      0x55cf1954f000     0x55cf19550000     0x1000     0x1000  r-xp   /x/bt-pie\n",
}

// TestLists resolves absolute addresses through lists of mappings above and below them, and from a file.
func TestLists(t *testing.T) {
	for name, list := range lists {
		above := filtertest.Run(t, filter.Options{}, list+"\n"+glogFrames)
		below := filtertest.Run(t, filter.Options{Lookahead: filter.Lookahead{Lines: 100, Time: 1e9}}, glogFrames+list+"end\n")
		for where, out := range map[string]string{"above": above, "below": below} {
			if !strings.Contains(out, wantFrames) || !strings.Contains(out, "in main ") {
				t.Errorf("%s list %s: no %q in\n%s", name, where, wantFrames, out)
			}
		}
		if out := filtertest.Run(t, filter.Options{}, glogFrames+list); out != glogFrames+list {
			t.Errorf("%s list below, without lookahead: %s", name, out)
		}
	}
	f := filter.New(filter.Options{Symbols: filtertest.Programs()})
	if err := f.Preload([]byte(lists["proc"])); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := f.Run(t.Context(), strings.NewReader(glogFrames), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), wantFrames) {
		t.Errorf("named list: %s", out.String())
	}
}

// TestLaterList holds that a list is a snapshot: the next one replaces it.
func TestLaterList(t *testing.T) {
	moved := strings.ReplaceAll(lists["proc"], "55cf1954", "55cf2954")
	moved = strings.ReplaceAll(moved, "55cf1955", "55cf2955")
	const stack = "7ffd1c5e7000-7ffd1c608000 rw-p 00000000 00:00 0                          [stack]\n"
	out := filtertest.Run(t, filter.Options{}, lists["proc"]+stack+"\n"+moved+stack+"\n"+glogFrames)
	if strings.Contains(out, wantFrames) {
		t.Errorf("resolved through a list that was replaced:\n%s", out)
	}
}
