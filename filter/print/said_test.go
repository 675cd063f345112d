package print

import (
	"testing"

	"qss-filter/symsrc"
)

// TestReadPlaced reads names with places in parentheses.
func TestReadPlaced(t *testing.T) {
	for text, want := range map[string]symsrc.Frame{
		"f<int>(int*, int) (crash.cc:12)":      {Func: "f<int>(int*, int)", File: "crash.cc", Line: 12},
		": a<...>::b() const (/src/a b.h:339)": {Func: "a<...>::b() const", File: "/src/a b.h", Line: 339},
		"f(int, char)":                         {Func: "f(int, char)"},
		"f (in /bin/a.out)":                    {Func: "f (in /bin/a.out)"},
		"a::f (a::b)":                          {Func: "a::f (a::b)"},
	} {
		if got := readPlaced(text); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// TestReadNamed reads frames that a log names. Nothing of a debugger's or of a sanitizer's syntax is in their names.
func TestReadNamed(t *testing.T) {
	for text, want := range map[string]symsrc.Frame{
		" 0x1 in main /src/m.c:12:3":                                  {Func: "main", File: "/src/m.c", Line: 12, Column: 3},
		" 0x1 in main /src/m.c:12 (/a.out+0x1)":                       {Func: "main", File: "/src/m.c", Line: 12},
		" 0x1 in main /src/m.c:12:3 (/a.out+0x1) (BuildId: 316c)":     {Func: "main", File: "/src/m.c", Line: 12, Column: 3},
		" 0x1 in main (/a.out+0x1) (BuildId: 316c)":                   {Func: "main"},
		" 0x1 in f(int, char) /s r/m.c:1":                             {Func: "f(int, char)", File: "/s r/m.c", Line: 1},
		" 0x1 in f(int) const (/a.out+0x1)":                           {Func: "f(int) const"},
		" 0x1 in main":                                                {Func: "main"},
		" 0x1 in malloc ??:?":                                         {Func: "malloc"},
		" 0x1 in __aeabi_memcpy ()":                                   {Func: "__aeabi_memcpy"},
		" 0x1 in f(int) ./m.rs:12 <>+0xb8bff":                         {Func: "f(int)", File: "./m.rs", Line: 12},
		" 0x1 in start_main ././../a_b.c:140 <libc.so>+0x9840e":       {Func: "start_main", File: "././../a_b.c", Line: 140},
		" 0x1 in f<a> <<application>>+0x1":                            {Func: "f<a>"},
		" 0x1 (<unknown module>)":                                     {},
		" 0x1 in a::operator() (int) const m.cc:9":                    {Func: "a::operator() (int) const", File: "m.cc", Line: 9},
		" 0x1 in lib_step (kind=<optimized out>) at src/l.cc:2":       {Func: "lib_step", File: "src/l.cc", Line: 2},
		" 0x1 in abort () from /lib/libc.so.6":                        {Func: "abort", File: "/lib/libc.so.6"},
		"  f<int> (p=0x0, i=i@entry=0) at src/c.cc:12":                {Func: "f<int>", File: "src/c.cc", Line: 12},
		"    0x1 int f<int>(int*, int) /src/m.c:12:3 (/a.out+0x1)":    {Func: "int f<int>(int*, int)", File: "/src/m.c", Line: 12, Column: 3},
		"    0x1 operator delete[](void*) <invalid>:0:0 (/a.out+0x1)": {Func: "operator delete[](void*)"},
		"    0x1 a::f(int) (/a.out+0x1)":                              {},
		" 0x1 in f /src/a.c:12 (approximate) (/a.so+0x1)":             {Func: "f", File: "/src/a.c", Line: 12, Approx: true},
	} {
		if got := readNamed([]byte(text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// TestHint holds what is taken for the name that a log has for a frame.
func TestHint(t *testing.T) {
	for text, want := range map[string]string{" in foo": "foo", " in in": "in", " in": "", "in": "", " - inner": "inner", "index": "index", " ?? ()": "", " in <null>": ""} {
		if got := hint([]byte(text)); string(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
