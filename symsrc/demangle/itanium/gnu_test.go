package itanium

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// sameForms replace the different spellings of binutils and llvm with a common one.
var sameForms = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\s+`), ""},
	{regexp.MustCompile(`std::basic_string<char,std::char_traits<char>,std::allocator<char>>`), "std::string"},
	{regexp.MustCompile(`std::basic_(i|o|io)stream<char,std::char_traits<char>>`), "std::${1}stream"},
	{regexp.MustCompile(`~basic_(string|istream|ostream|iostream)\b`), "~$1"},
	{regexp.MustCompile(`\{lambda\(([^{}]*)\)#\d+\}`), "lambda($1)"},
	{regexp.MustCompile(`\{unnamedtype#\d+\}`), "unnamed"},
	{regexp.MustCompile(`'(lambda|unnamed)\d*'`), "$1"},
	{regexp.MustCompile(`auto:\d+`), "auto"},
	{regexp.MustCompile(`\(auto(&*)\)\.\.\.`), "auto$1..."},
	{regexp.MustCompile(`\[clone(\.[^\]]*)\]`), "($1)"},
}

func sameForm(name string) string {
	for _, f := range sameForms {
		name = f.from.ReplaceAllString(name, f.to)
	}
	return name
}

// gnu returns c++filt's readable forms of names. It skips the test if c++filt is not installed.
func gnu(t testing.TB, names []string) []string {
	t.Helper()
	tool, err := exec.LookPath("c++filt")
	if err != nil {
		t.Skip("c++filt is not installed (Debian: binutils)")
	}
	cmd := exec.Command(tool)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(names) {
		t.Fatalf("%d lines of output for %d names", len(lines), len(names))
	}
	return lines
}

// TestGNU compares style Standard with c++filt for names that llvm demangles incorrectly.
func TestGNU(t *testing.T) {
	names := strings.Fields(`
		_ZZ1fvENKUlOT_E_clIiEEDaS0_ _ZN1AcvNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEv
		_ZZL1fP1AENK3$_0clINS_1BEEESt8optionalIbEPT_b.cold _ZSt4moveIRSt5tupleIIiEEEONSt16remove_referenceIT_E4typeEOS4_
		_Z1fIiZN1AC1IlEET_EUlvE_EvS2_ _ZNSt12__shared_ptrIiEC2ISaIiEIPKcEEESt20_Sp_alloc_shared_tagIT_EDpOT0_
		_ZSt4swapIiENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt5tupleIT_EESt8optionalIS3_EEE5valueEvE4typeERS3_
		_ZN5boost1fIRiEENS_12disable_if_cIXsrNS_7is_sameIT_S3_EE5valueElE4typeEOS3_
		_ZGTtNSt11logic_errorD0Ev _ZGTn1fv _ZGA1f _Z1fCfGd _Z1fIKiEvPKT_ _Z1fIiEvDtawfp_E
		_ZTSSt5_BindIFM1AFivEPS0_EE _Z1fPU11objcproto1A1B`)
	want := gnu(t, names)
	for i, name := range names {
		got, _ := Demangle(name, Standard)
		if name == "_Z1fIiEvDtawfp_E" { // c++filt has another spelling for function parameters
			want[i] = strings.ReplaceAll(want[i], "{parm#1}", "fp")
		}
		if sameForm(got) != sameForm(want[i]) {
			t.Errorf("%s\n got %s\nwant %s", name, got, want[i])
		}
	}
}

// TestConstrained compares functions with a constraint with the second name that gcc 16 gives them, which is without the constraint.
func TestConstrained(t *testing.T) {
	for with, without := range map[string]string{
		"_ZSt4swapIiQaaaantsrSt15__is_tuple_likeIT_E5value23is_move_constructible_vIS1_E20is_move_assignable_vIS1_EEvRS1_S3_": "_ZSt4swapIiEvRT_S1_",
		"_Z3oneIilQaa5SmallIT_E5SmallIT0_EES0_RS0_S1_PS0_":                                                                    "_Z3oneIilET_RS0_T0_PS0_",
		"_Z3tenIJislEQfraa5SmallIT_EEiDpPS0_":                                                                                 "_Z3tenIJislEEiDpPT_",
		"_Z4nineI1AiQ5SmallIT_IT0_EEES3_PS3_S2_":                                                                              "_Z4nineI1AiET_IT0_EPS3_S2_",
		"_Z6elevenILi5EiQgtT_Li3EET0_RAT__S0_":                                                                                "_Z6elevenILi5EiET0_RAT__S0_",
		"_Z5eightIiQaantsr3stdE12is_pointer_vIT_ErQS0__XplfL0p_fL0p_TSt6vectorIS0_SaIS0_EEXmlfL0p_Li2ERSt14convertible_toIS0_EEES3_RKS3_S0_": "_Z5eightIiESt6vectorIT_SaIS1_EERKS3_S1_",
		"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2EvQ26is_default_constructible_vIT1_E":                                        "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2Ev",
		// gcc refers to the base of an inherited constructor by a substitution. The name of the constructor itself is the same.
		"_ZN1A1BCI1S_Eim": "_ZN1A1BC1Eim",
	} {
		got, ok := Demangle(with, Standard)
		got, _, _ = strings.Cut(got, " requires ")
		if want, _ := Demangle(without, Standard); !ok || got != want {
			t.Errorf("%s\n got %s\nwant %s", with, got, want)
		}
	}
}

// TestGNULibrary compares the names of the C++ library with c++filt, which does not support all of them.
func TestGNULibrary(t *testing.T) {
	names := realNames(t)
	different, refused := 0, 0
	for i, want := range gnu(t, names) {
		got, ok := Demangle(names[i], Standard)
		switch {
		case want == names[i]:
			refused++
		case !ok || sameForm(got) != sameForm(want):
			different++
			t.Logf("%s\n got %s\nwant %s", names[i], got, want)
		}
	}
	t.Logf("%d names, %d are refused by c++filt, %d are demangled differently", len(names), refused, different)
	if different > len(names)/1000 {
		t.Errorf("%d of %d names are demangled differently by c++filt", different, len(names))
	}
}
