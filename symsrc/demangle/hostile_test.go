package demangle

import (
	_ "embed"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

//go:embed testdata/rust_v0.tsv
var rustNames string

func TestRust(t *testing.T) {
	for line := range strings.Lines(rustNames) {
		name, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		if got := Demangle(name); got != want {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
		for n := range name { // a truncated name must either be demangled or stay unchanged
			if got := Demangle(name[:n]); strings.HasPrefix(got, "_R") && got != name[:n] {
				t.Errorf("Demangle(%q) = %q", name[:n], got)
			}
		}
	}
}

// maxReadable is the limit on the length of a readable form, in bytes.
const maxReadable = 1 << 16

// nest returns a name of at most maxName bytes: before, as many copies of open as fit, middle, as many copies of end.
func nest(before, open, middle, end string) string {
	n := (maxName - len(before) - len(middle)) / len(open+end)
	return before + strings.Repeat(open, n) + middle + strings.Repeat(end, n)
}

// hostileNames are deeply nested, or expand to much more than their length.
var hostileNames = map[string]string{
	"pointers":         nest("_Z1f", "P", "i", ""),
	"qualifiers":       nest("_Z1f", "K", "i", ""),
	"qualifiers set":   nest("_Z1fIiEvRK", "VKr", "T_", ""),
	"noexcept":         nest("_Z1f", "Do", "FvvE", ""),
	"noexcept const":   nest("_Z1fI", "DoV", "FvvE", "")[:maxName-8],
	"unresolved names": nest("_ZN1aE", "sr2", "", ""),
	"scopes":           nest("_ZN", "1a", "Ev", ""),
	"templates":        nest("_Z1f", "1aI", "i", "E"),
	"functions":        nest("_Z1f", "F", "v", "E"),
	"function types":   nest("_Z1f", "Fv", "i", "E"),
	"arrays":           nest("_Z1f", "A_", "i", ""),
	"members":          nest("_Z1f", "M1a", "i", ""),
	"vendor":           nest("_Z1f", "U1aI", "i", "E"),
	"ABI tags":         nest("_Z1f", "B1a", "", ""),
	"packs":            nest("_Z1fI", "J", "", "E"),
	"pack expansions":  nest("_Z1fIJiiiiiiiiEEv", "Dp", "T_", ""),
	"expanded packs":   nest("_Z1fIJiiiiiiiiEEv", "DpP", "T_", ""),
	"expressions":      nest("_Z1fIX", "nt", "Li0EEEvv", ""),
	"lists":            nest("_Z1fIX", "il", "", "E"),
	"encodings":        nest("_Z1fI", "L_Z1fI", "", ""),
	"local names":      nest("_Z", "Z1f", "", ""),
	"lambdas":          nest("_Z", "Z1fvENKUlvE_", "", ""),
	"conversions":      nest("_Z", "cv", "i", ""),
	"conversions to":   nest("_Zcv1aIiE", "cvT_", "", ""),
	"casts":            nest("_ZN1AIiE", "cvT_INS_", "", "iE"),
	"cast arguments":   nest("_ZN1AIiE", "cvT_IXadL_ZN1AIiE", "", "E"),
	"cast pointers":    nest("_ZN1AIiE", "cvPKT_I", "", "iE"),
	"decltypes":        nest("_Z1fIiEv", "DTnt", "", ""),
	"unresolved":       nest("_Z1fIiEvDT", "sr3fooIiE3bar", "E", ""),
	"unresolved arg":   nest("_Z1fI", "Xsr3fooI", "T_", "E"),
	"references":       "_Z1fIiEvXsr3fooIT_E1xE" + strings.Repeat("S_", 1900),
	"requires":         nest("_Z1fIX", "rqX", "", ""),
	"blocks":           nest("___Z1fv_block_invoke", "_block_invoke", "", ""),
	"doubling":         doubling(),
	"Rust tuples":      nest("_RIC1a", "T", "", "E"),
	"Rust references":  nest("_RIC1a", "R", "i", ""),
	"Rust paths":       nest("_R", "Nv", "C1a", "1b"),
	"Rust arguments":   nest("_R", "I", "C1a", "iE"),
	"Rust doubling":    "_RIC1aTiE" + strings.Repeat("TB4_B4_E", 2) + rustDoubling() + "E",
	"Rust loop":        nest("_RIC1a", "TB4_B5_", "", ""),
	"Rust binder":      "_RIC1aFGzzzzzzz_EuE",
	"Rust binders":     nest("_RIC1a", "FGz_", "u", "Eu"),
	"legacy escapes":   nest("_ZN4000$", "u7b$$", "", ""),
}

// doubling returns a name in which each function type uses the previous one twice.
func doubling() string {
	name := "_Z1fPFivE"
	for k := 0; len(name) < maxName-20; k++ {
		s := "S" + strings.ToUpper(strconv.FormatInt(int64(2*k), 36)) + "_"
		name += "PF" + s + s + "E"
	}
	return name
}

// rustDoubling returns tuples that each use the previous one twice, by a back-reference.
func rustDoubling() string {
	var b strings.Builder
	for range 40 {
		b.WriteString("TBo_Bo_E")
	}
	return b.String()
}

// TestHostile limits the stack, because a stack overflow ends the process.
func TestHostile(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(32 << 20))
	for what, name := range hostileNames {
		if len(name) > maxName {
			t.Errorf("%s: %d bytes", what, len(name))
		}
		if got := Demangle(name); len(got) > maxReadable+len(name) {
			t.Errorf("%s: %d bytes", what, len(got))
		}
		Type(strings.TrimLeft(name, "_Z"))
	}
	long := "_Z1f" + strings.Repeat("i", maxName)
	if got := Demangle(long); got != long {
		t.Errorf("a name of %d bytes was demangled", len(long))
	}
	if got := Type("P" + nest("P", "P", "1a", "") + "K"); len(got) < maxName {
		t.Errorf("a type that is too long was demangled to %d bytes", len(got))
	}
}

func FuzzDemangle(f *testing.F) {
	for _, name := range hostileNames {
		f.Add(name)
	}
	for line := range strings.Lines(rustNames) {
		name, _, _ := strings.Cut(line, "\t")
		f.Add(name)
	}
	for _, name := range []string{
		"_Z1fv.cold", "___Z1fv_block_invoke_2", "1C", "PKc", "St6vectorIiSaIiEE", "_ZN3foo17h0123456789abcdefE",
		"_ZSt4swapI1AENSt9enable_ifIXsr6__and_ISt6__not_ISt15__is_tuple_likeIT_EEEE5valueEvE4typeERS4_SD_",
		"_ZNK4llvm5MachO6TargetcvNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEv",
		"_ZZN1a1bIZ1cvEUlT_DpT0_E_EEvvENKUliE_clEi", "_ZN1AIiEcvT_IjEEv", "_Z1fITkN1aE1bEvDTfL0p_E",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		debug.SetMaxStack(64 << 20)
		got := Demangle(name)
		if got != name && (name[0] != '_' && name[0] != '?' || got == "") {
			t.Errorf("Demangle(%q) = %q", name, got)
		}
		if len(got) > maxReadable+len(name)+8 {
			t.Errorf("Demangle(%q) returned %d bytes", name, len(got))
		}
		if got := Type(name); got != name && (!isWord(name) || len(name) < 2) {
			t.Errorf("Type(%q) = %q", name, got)
		}
	})
}

func BenchmarkDemangle(b *testing.B) {
	cpp := libstdcxx(b)
	var rust []string
	for line := range strings.Lines(rustNames) {
		name, _, _ := strings.Cut(line, "\t")
		rust = append(rust, name)
	}
	for what, names := range map[string][]string{"cpp": cpp, "rust": rust, "plain": {"main", "_start", "memcpy"}} {
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				Demangle(names[i%len(names)])
			}
		})
	}
}
