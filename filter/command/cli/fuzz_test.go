package cli

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// FuzzConfig reads any bytes as a configuration: what is understood means the same when it is written out, and an error
// names the line.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{"# all\n\n  --mode=slow  \r\n--loud\n--dir=a b\n", "\ufeff--name", "--name=x=y # z", "-x", "--mode slow", "--depth=1\n--config=2",
		"--style=plain", "--dir=\x00\xff\n--\n", "--loud=perhaps\n--mode=none", "---\n=\n--=", "-- =", "--\f ="} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseConfig("file", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file:") {
				t.Fatalf("no place in %q", err)
			}
			return
		}
		var again strings.Builder
		for i, s := range all {
			again.WriteString("--" + s.name)
			if s.valued {
				again.WriteString("=" + s.value)
			}
			again.WriteByte('\n')
			all[i].line = i + 1
		}
		if got, err := parseConfig("file", []byte(again.String())); err != nil || !reflect.DeepEqual(got, all) {
			t.Fatalf("%q is read as %+v, %v; want %+v", again.String(), got, err, all)
		}
		p, _, _ := configured(t)
		for _, c := range p.Commands {
			flags, _ := p.flags(c)
			if err := p.apply("file", all, c, flags); err != nil {
				var line int
				if n, _ := fmt.Sscanf(err.Error(), "file:%d: ", &line); n != 1 || line < 1 || line > len(all) {
					t.Fatalf("no place in %q", err)
				}
			}
		}
	})
}
