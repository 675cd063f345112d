package itanium

import (
	"runtime/debug"
	"strings"
	"testing"
)

// nest returns a name of at most maxName bytes: before, as many copies of open as fit, middle, as many copies of end.
func nest(before, open, middle, end string) string {
	n := (maxName - len(before) - len(middle)) / len(open+end)
	return before + strings.Repeat(open, n) + middle + strings.Repeat(end, n)
}

// hostileNames are deeply nested, expand to much more than their length, or contain cycles.
var hostileNames = map[string]string{
	"pointers":         nest("_Z1f", "P", "i", ""),
	"references":       nest("_Z1fIiEv", "R", "T_", ""),
	"qualifiers":       nest("_Z1f", "VK", "i", ""),
	"vendor":           nest("_Z1f", "U1aI", "i", "Ei"),
	"protocols":        nest("_Z1f", "U11objcproto1A", "i", ""),
	"scopes":           nest("_ZN", "1a", "Ev", ""),
	"templates":        nest("_Z1f", "1aI", "i", "E"),
	"functions":        nest("_Z1f", "F", "v", "E"),
	"function types":   nest("_Z1f", "Fv", "i", "E"),
	"arrays":           nest("_Z1f", "A_", "i", ""),
	"members":          nest("_Z1f", "M1a", "i", ""),
	"tags":             nest("_Z1f", "B1a", "", ""),
	"packs":            nest("_Z1fI", "J", "", "E"),
	"declarations":     nest("_Z1fI", "Tp", "Tyi", "")[:maxName],
	"templates of":     nest("_Z1fI", "Tt", "", "Ei"),
	"pack expansions":  nest("_Z1fIJiiiiiiiiEEv", "Dp", "T_", ""),
	"expanded packs":   nest("_Z1fIJiiiiiiiiEEv", "DpP", "T_", ""),
	"empty packs":      nest("_Z1fIJEJiiiiiiiiEEv", "Dp1aIT_", "T0_", "E"),
	"many packs":       nest("_Z1fIJ", "i", "EEvDp1aIDpT_T_E", ""),
	"expressions":      nest("_Z1fIX", "nt", "Li0EEEvv", ""),
	"folds":            nest("_Z1fIJiiiiEEvDT", "flpl", "T_", ""),
	"lists":            nest("_Z1fIX", "il", "", "E"),
	"designators":      nest("_Z1fIXil", "di1a", "Li1EEE", ""),
	"encodings":        nest("_Z1fI", "L_Z1fI", "", ""),
	"local names":      nest("_Z", "Z1f", "", ""),
	"lambdas":          nest("_Z", "Z1fvENKUlvE_", "", ""),
	"lambda types":     nest("_ZUl", "Z1fvEUl", "v", "E_"),
	"conversions":      nest("_Z", "cv", "i", ""),
	"decltypes":        nest("_Z1fIiEv", "DTnt", "", ""),
	"unresolved":       nest("_Z1fI", "Xsr3fooI", "T_", "E"),
	"requirements":     nest("_Z1fIX", "rqX", "", ""),
	"constraints":      nest("_Z1fIiEvvQ", "1CIX", "fp_", "EE"),
	"discriminators":   nest("_ZZ1fvE1x", "_", "", ""),
	"numbers":          nest("_Z", "9", "", ""),
	"zeros":            nest("_Z", "0", "1f", "v"),
	"suffix":           nest("_Z1fv", ".", "", ""),
	"circle":           "_ZN1AcvT_IS_EEv",
	"circles":          "_ZN1AcvPFT_T0_T1_EI" + strings.Repeat("S_S1_S0_", 500) + "EEv",
	"reference circle": "_ZN1AcvRT_IS_EEv",
	"circle of packs":  "_ZN1AcvDpRT_IJ" + strings.Repeat("S_", 100) + "S0_EEEv",
	"doubling":         doubling("_Z1fPFivE", "PFS_S_E"),
	"doubling packs":   doubling("_Z1fIJiiEEvPFivE", "PFDpT_S_E"),
	"tuples":           doubling("_Z1f1aIiE", "1aIS_S_E"),
	"rebinding":        "_Z1fIiEv1aIT_E" + strings.Repeat("ZNK1bUlS0_S1_E_E1c", 100),
	"rebound lists":    rebinding(),
}

// doubling returns a name in which each type uses the previous one twice. S_ in of is replaced with the last candidate.
func doubling(begin, of string) string {
	p := parser{lambdaLevel: -1, llvm: true}
	name := begin
	for {
		p.begin(name, LLVM)
		p.symbol()
		last := seqID(len(p.subs) - 1)
		p.used, p.subs = 0, p.subs[:0]
		next := name + strings.ReplaceAll(of, "S_", last)
		if len(next) > maxName {
			return name
		}
		name = next
	}
}

// rebinding returns a name in which lambdas refer to types with a template parameter, each of which contains the previous ones.
func rebinding() string {
	name := "_Z1fIiEvPT_"
	for i := 1; ; i++ {
		next := name + "NUl" + seqID(i) + seqID(i+1) + "E_1aIPT_" + seqID(i) + "EE"
		if len(next) > maxName {
			return name
		}
		name = next
	}
}

// seqID returns a reference to candidate n.
func seqID(n int) string {
	if n <= 0 {
		return "S_"
	}
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	text := ""
	for n--; ; n /= 36 {
		text = digits[n%36:n%36+1] + text
		if n < 36 {
			return "S" + text + "_"
		}
	}
}

// TestHostile limits the stack, because a stack overflow ends the process. The readable form of each name is within the limit.
func TestHostile(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(32 << 20))
	for what, name := range hostileNames {
		if len(name) > maxName {
			t.Errorf("%s: %d bytes", what, len(name))
		}
		for _, style := range []Style{Standard, LLVM} {
			got, ok := Demangle(name, style)
			if len(got) > maxOutput {
				t.Errorf("%s: %d bytes", what, len(got))
			}
			t.Logf("%s: demangled %v, %d bytes", what, ok, len(got))
		}
	}
	if _, ok := Demangle("_Z1f"+strings.Repeat("i", maxName), LLVM); ok {
		t.Error("a name that is too long was demangled")
	}
}

// TestBounds checks that the printer stops at its limits for names that expand to too much.
func TestBounds(t *testing.T) {
	for _, what := range []string{"doubling", "doubling packs", "tuples", "many packs"} {
		var p parser
		p.begin(hostileNames[what], LLVM)
		if p.symbol(); p.bad || p.pos != len(p.s) {
			t.Errorf("%s: was not parsed", what)
		}
		if _, ok := Demangle(hostileNames[what], LLVM); ok {
			t.Errorf("%s: was demangled", what)
		}
	}
	for what, name := range hostileNames {
		var p parser
		p.begin(name, LLVM)
		root := p.symbol()
		if p.bad {
			continue
		}
		w := printer{packIndex: noPack, packCount: noPack, llvm: true}
		w.print(root)
		if w.visits > maxVisits+maxName || len(w.out) > maxOutput+2*maxName {
			t.Errorf("%s: %d visits, %d bytes", what, w.visits, len(w.out))
		}
	}
}

// TestReuse checks that a name does not influence the next one, which reuses its memory.
func TestReuse(t *testing.T) {
	names, want := namesOfLLVM(t)
	for _, hostile := range hostileNames {
		Demangle(hostile, LLVM)
		for i := 0; i < len(names); i += 50 {
			if got, _ := Demangle(names[i], LLVM); got != want[i] {
				t.Fatalf("%s after %.40s…\n got %s\nwant %s", names[i], hostile, got, want[i])
			}
		}
	}
}

func FuzzDemangle(f *testing.F) {
	for _, name := range hostileNames {
		f.Add(name)
	}
	names, _ := namesOfLLVM(f)
	for _, name := range names {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		debug.SetMaxStack(32 << 20)
		for _, style := range []Style{Standard, LLVM} {
			got, ok := Demangle(name, style)
			if len(got) > maxOutput || ok && !strings.HasPrefix(strings.TrimLeft(name, "_"), "Z") {
				t.Errorf("Demangle(%q, %d) = %q, %v", name, style, got, ok)
			}
			if again, _ := Demangle(name, style); again != got {
				t.Errorf("Demangle(%q, %d) = %q, then %q", name, style, got, again)
			}
		}
	})
}
