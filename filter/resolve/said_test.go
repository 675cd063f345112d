package resolve

import "testing"

// TestSaid holds what function a frame names that the emitter has resolved.
func TestSaid(t *testing.T) {
	for text, want := range map[string]string{
		"#1 0x40 in f(int) /src/f.c:12":                                               "f(int)",
		"#1 0x40 in f (n=1) at f.c:12":                                                "f",
		"#9 0x5f in main chrome/app/chrome_exe_main_aura.cc:17:10":                    "main",
		"#3 0x7f in __libc_start_main csu/../csu/libc-start.c:332:16":                 "__libc_start_main",
		"#2 0x7f in start_main ././../../zircon/src/env/x.c:140 <libc.so>+0x9840e":    "start_main",
		"#1.1 0x4 in CrashTrampolineAsm <<application>>+0x75c0e":                      "CrashTrampolineAsm",
		"#4 0x5f in std::operator<< <char>(std::ostream&) /usr/include/c++/ostream:5": "std::operator<< <char>(std::ostream&)",
		"#4 0x5f in operator new(unsigned long) a.cc:3":                               "operator new(unsigned long)",
		"#5 0x7f in ?? ??:0":             "",
		"#6 0x0000000000401136 in ?? ()": "",
		"#7 0x40 in <null> <null>":       "",
		"#0 0x41 (/lib/libc.so.6+0x41)":  "",
	} {
		if got := said([]byte(text), 100); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := said([]byte("#1 0x40 in a_long_name /src/f.c:12"), 18); got != "" {
		t.Errorf("the beginning of a name is taken for one: %q", got)
	}
}
