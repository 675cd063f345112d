package filter_test

import (
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
)

// TestWhoPrints holds how the lines above a stack decide what its addresses are, where there is no machine code to look at.
func TestWhoPrints(t *testing.T) {
	const context = "{{{reset}}}\n{{{module:0:/a.so:elf:01}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x1000}}}\n"
	const element = "{{{bt:1:0x1100}}}\n"
	for above, want := range map[string]string{
		"": "/a.so@10ff",
		"==7==ERROR: AddressSanitizer: SEGV on unknown address\n":                                      "/a.so@1100",
		"==7==ERROR: AddressSanitizer: SEGV\nSUMMARY: AddressSanitizer: SEGV\n":                        "/a.so@10ff",
		"WARNING: ThreadSanitizer: data race (pid=7)\n":                                                "/a.so@10ff",
		"src/crash.cc:24:35: runtime error: signed integer overflow\n":                                 "/a.so@1100",
		"panic: runtime error: invalid memory address or nil pointer dereference\n":                    "/a.so@10ff",
		"2026/11/20 15:58:12 http: panic serving 127.0.0.1:5: runtime error: index out of range [3]\n": "/a.so@10ff",
	} {
		if out := filtertest.Run(t, filter.Options{Symbols: addresses{}}, context+above+element); !strings.Contains(out, want+" ") {
			t.Errorf("behind %q: no %s in\n%s", above, want, out)
		}
	}
}

// TestNoModule holds that frames of formats with a module pass where the emitter knows none.
func TestNoModule(t *testing.T) {
	const log = "#5    Object \"\", at 0x403460, in \n#4    Object \"\", at 0x403460, in main\nepc = 77f4a3c4 in [77e3c000+16c000]\n"
	for _, own := range []bool{false, true} {
		o := filter.Options{Symbols: addresses{}, Ran: filtertest.RanAll(own), Warn: func(m string) { t.Errorf("own %v: %s", own, m) }}
		if out := filtertest.Run(t, o, log); out != log {
			t.Errorf("own %v: got %q", own, out)
		}
	}
}
