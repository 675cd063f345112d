package demangle

import "testing"

func TestPlainName(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"main", "main"},
		{"_Z3hoti", "hot"},
		{"hot(int)", "hot"},
		{"hot(int) [clone .part.0]", "hot"},
		{"_Z3hoti.part.0.cold", "hot"},
		{"step.isra.0", "step"},
		{"main.main", "main.main"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"memcpy@GLIBC_2.2.5", "memcpy"},
		{"memcpy@plt", ""},
		{"_ZN12_GLOBAL__N_11fEv", "{anonymous}::f"},
		{"(anonymous namespace)::f()", "{anonymous}::f"},
		{"A<int, B<long> >::g(void (*)(int)) const", "A<int,B<long>>::g"},
		{"A<void (int)>::g", "A<void(int)>::g"},
		{"_ZN1AppEv", ""},
		{"void (*f())(int)", ""},
		{"_Zx", ""},
	} {
		if got := PlainName(tc.name); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
