package filter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/prefix/prefixtest"
	"qss-filter/symsrc"
)

// addresses is a source that answers with the module's name and the offset that it was asked for.
type addresses struct{}

func (addresses) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: fmt.Sprintf("%s@%x", q.Module.Name, q.Offset)}}, Files: &symsrc.Files{Elf: q.Module.Name}}
}

// Of the two processes below the modules have the same IDs and lie at overlapping addresses.
var (
	markupOf = func(name string, base int) []string {
		return []string{"{{{reset}}}", "{{{module:0:/" + name + ".so:elf:0123abcd}}}", fmt.Sprintf("{{{mmap:%#x:0x10000:load:0:rx:0x0}}}", base), "{{{bt:0:0x7f0000009000:pc}}}", "{{{bt:1:0x7f0000009100:ra}}}", "{{{bt:2:0x7f0000009200:pc}}}"}
	}
	mapsOf = func(name string, base int) []string {
		return []string{"dump of /proc/self/maps", fmt.Sprintf("%x-%x r--p 00000000 fe:00 1234    /%s.so", base, base+0x4000, name),
			fmt.Sprintf("%x-%x r-xp 00004000 fe:00 1234    /%s.so", base+0x4000, base+0x10000, name), "",
			"PC: @     0x7f0000009000  (unknown)  (unknown)", "    @     0x7f0000009101  (unknown)", "    @     0x7f0000009201  (unknown)"}
	}
)

// TestTwoProcesses interleaves two processes line by line behind every prefix that tells them apart.
func TestTwoProcesses(t *testing.T) {
	tried := 0
	for _, p := range prefixtest.All() {
		if !p.PID && !p.Unit {
			continue
		}
		for kind, of := range map[string]func(string, int) []string{"markup": markupOf, "maps": mapsOf} {
			tried++
			a, b := of("a", 0x7f0000000000), of("b", 0x7f0000004000)
			var log strings.Builder
			for i := range a {
				for k, text := range []string{a[i], b[i]} {
					pid := 4711 + 10*k
					if p.JSON {
						text = escape(text)
					}
					if p.Own {
						log.WriteString(p.Before(pid, 3*i) + "\n" + text + "\n\n")
					} else {
						log.WriteString(p.Line(text, pid, 3*i) + "\n")
					}
				}
			}
			out := filtertest.Run(t, filter.Options{Symbols: addresses{}}, log.String())
			for _, want := range []string{"/a.so@9000", "/b.so@5000", "/a.so@9100", "/b.so@5100", "/a.so@9200", "/b.so@5200"} {
				if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(out, "@90ff", "@9100"), "@50ff", "@5100"), want) {
					t.Errorf("%s of %s: no %s in\n%s", kind, p.Name, want, out)
					break
				}
			}
		}
	}
	t.Logf("%d prefixes with two kinds of mappings each", tried/2)
}
