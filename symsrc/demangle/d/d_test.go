package d

import "testing"

func FuzzDemangle(f *testing.F) {
	f.Add("8demangle4test6__initZ")
	f.Add("8demangle3ABCQe1aQd")
	f.Fuzz(func(t *testing.T, name string) {
		if s, ok := Demangle("_D" + name); ok == (s == "") {
			t.Errorf("Demangle(%q) = %q, %v", "_D"+name, s, ok)
		}
	})
}
