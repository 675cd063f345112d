package cli

import "testing"

func TestNear(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"doctor", "doctr", true}, {"doctor", "docctor", true}, {"symbolize", "symbolise", true}, {"where", "wehre", true},
		{"man", "an", true}, {"man", "mann", true}, {"dump-sym", "dumpsym", true}, {"cache", "acche", true},
		{"doctor", "dctr", false}, {"man", "nam", false}, {"where", "ewhre", false}, {"cache", "cachefs", false}, {"man", "", false},
		{"publish", "worker", false}, {"cache", "acceh", false},
	} {
		if near(c.a, c.b) != c.want || near(c.b, c.a) != c.want {
			t.Errorf("%s near %s: want %t", c.a, c.b, c.want)
		}
	}
}
