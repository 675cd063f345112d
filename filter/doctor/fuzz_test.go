package doctor

import (
	"bytes"
	"os"
	"testing"
	"unicode"

	"qss-filter/filter"
)

// FuzzLog examines any bytes as a log: there is a report, which a terminal shows as it stands.
func FuzzLog(f *testing.F) {
	near, err := os.ReadFile("testdata/near.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(near) {
		f.Add(line)
	}
	for _, log := range []string{"#0 0x7f10 (/usr/lib/good.so+0x10) (BuildId: 0102)\n#1 0x7f20 (/usr/\x1b[31mlib\x07/gone.so+0x20)\n#2 0x1 (/a\u202eb.so+0x1)\n",
		"{{{mmap:0x1000:0x10:load:7:r:0x0}}}\n#5 0x7f10 (/usr/lib/other.so+0x10) (BuildId: 0102)\n{{{bt:0:0x10", "\xff\xfe#\x000\x00 \x00", "\x1f\x8b\x08\x00",
		"555500001000-555500002000 r-xp 00000000 08:01 7 /usr/lib/good.so\n    @     0x777700001020 f\n", "==7==ERROR: AddressSanitizer: x\n#1 0x7f20 (<unknown module>)\n"} {
		f.Add([]byte(log))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		var out bytes.Buffer
		o := Options{Log: "the.log", Finder: files{}, New: func(j filter.JSONOptions) (*filter.Filter, func(), error) {
			return filter.New(filter.Options{Symbols: files{}, JSON: &j}), func() {}, nil
		}}
		if _, err := o.examine(t.Context(), bytes.NewReader(log), &out); err != nil || out.Len() == 0 {
			t.Fatalf("%v, %d bytes", err, out.Len())
		}
		for _, r := range out.String() {
			if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar && !bytes.ContainsRune(log, r) {
				t.Fatalf("%q in %q", r, out.String())
			}
		}
	})
}
