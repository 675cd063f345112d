package rust

import "testing"

// FuzzDemangle demangles any bytes as a name of either scheme.
func FuzzDemangle(f *testing.F) {
	for _, name := range []string{"_RNvC1a1b", "_RINvC1a1bhKj7f_E", "_RNvC1au5a_6ja", "_ZN4core3fmt5Write9write_str17h0123456789abcdefE"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if s, ok := Demangle(name); ok == (s == "") || len(s) > maxOutput+2*maxName {
			t.Errorf("Demangle(%q) = %d bytes, %v", name, len(s), ok)
		}
		if s, ok := DemangleLegacy(name); ok == (s == "") || len(s) > len(name)+8 {
			t.Errorf("DemangleLegacy(%q) = %q, %v", name, s, ok)
		}
	})
}
