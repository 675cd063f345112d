package markup

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// one returns the element of which a line consists.
func one(t testing.TB, line string) *Element {
	t.Helper()
	e, ok := Next([]byte(line), 0)
	if !ok || e.Start != 0 || e.End != len(line) {
		t.Fatalf("%s is not a single element", line)
	}
	return &e
}

func TestBT(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"0:0x1", "0 0 1 0x1 Unmarked -"},
		{"007:0x00000000000000000abCDef1", "7 007 abcdef1 0x00000000000000000abCDef1 Unmarked -"},
		{"18446744073709551615:0xffffffffffffffff:ra", "18446744073709551615 18446744073709551615 ffffffffffffffff 0xffffffffffffffff ReturnAddress -"},
		{"1:0:pc", "1 1 0 0 Exact -"},
		{"1:0000000000000000000000000:ra", "1 1 0 0000000000000000000000000 ReturnAddress -"},
		{"1:0x1:ra:from CFI", "1 1 1 0x1 ReturnAddress from CFI"},
		{"1:0x1:pc:from CFI:x:", "1 1 1 0x1 Exact from CFI:x:"},
		{"1:0x1:pc::x", "1 1 1 0x1 Exact :x"},
		{"1:0x1:sp 0x3f540e65ef0", "1 1 1 0x1 Unmarked sp 0x3f540e65ef0"},
		{"1:0x1:RA:x", "1 1 1 0x1 Unmarked RA:x"},
		{"1:0x1:", "1 1 1 0x1 Unmarked -"},
		{"1:0x1::ra", "1 1 1 0x1 Unmarked :ra"},
	} {
		f, err := one(t, "{{{bt:"+c.body+"}}}").BT()
		if err != nil {
			t.Error(c.body, err)
			continue
		}
		message := "-"
		if f.Message != nil {
			message = string(f.Message)
		}
		kind := [...]string{"Unmarked", "Exact", "ReturnAddress"}[f.Type]
		if got := fmt.Sprintf("%d %s %x %s %s %s", f.Num, f.NumText, f.Addr, f.AddrText, kind, message); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.body, got, c.want)
		}
	}
}

func TestPCAndData(t *testing.T) {
	for body, want := range map[string]PCFields{
		"0x10": {0x10, Unmarked}, "0": {0, Unmarked}, "0x10:ra": {0x10, ReturnAddress}, "0x10:pc:x:y": {0x10, Exact},
	} {
		if got, err := one(t, "{{{pc:"+body+"}}}").PC(); err != nil || got != want {
			t.Errorf("pc %s: %v %v", body, got, err)
		}
	}
	for body, want := range map[string]uint64{"0x10": 16, "00": 0, "0xFf:x": 255, "0x7fffffffffffffff": math.MaxInt64} {
		if got, err := one(t, "{{{data:"+body+"}}}").Data(); err != nil || got != want {
			t.Errorf("data %s: %v %v", body, got, err)
		}
	}
}

// TestSymbol checks where the name in a symbol element ends, with colons in readable names.
func TestSymbol(t *testing.T) {
	for body, want := range map[string]string{
		"_Z1fv": "_Z1fv", "_Z1fv:extra": "_Z1fv", "_Z1fv::": "_Z1fv", "_Z1fv::x": "_Z1fv", "__Z1fv::x": "__Z1fv", "_RNvC1a1b::x": "_RNvC1a1b",
		"?f@@YAXXZ:x": "?f@@YAXXZ", "?f@@YAXXZ::x": "?f@@YAXXZ", ".?AVf@@::x": ".?AVf@@", "_D1a1bi::x": "_D1a1bi", "": "", ":_Z1fv": "", "::a": "",
		"foobar:extra": "foobar", "ns::f:extra": "ns::f", "a::b::c": "a::b::c", "a:::b": "a", "a::": "a", "_Rust::f:x": "_Rust::f", "__cxx::f:x": "__cxx::f",
		"-[C a:b:]:x": "-[C a:b:]", "+[C(d) a:]": "+[C(d) a:]", "-[C a:b": "-[C a", "<a::B as c::D>::e:x": "<a::B as c::D>::e",
	} {
		if got, err := one(t, "{{{symbol:"+body+"}}}").Symbol(); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", body, got, err, want)
		}
	}
	if _, err := one(t, "{{{symbol}}}").Symbol(); err == nil {
		t.Error("a symbol element without a field has a name")
	}
}

func TestDumpfile(t *testing.T) {
	for body, want := range map[string]string{"t:a": "t a", "t:a:b": "t a:b", "t:": "t ", "t::": "t :", "t:C:/x": "t C:/x"} {
		if kind, name, err := one(t, "{{{dumpfile:"+body+"}}}").Dumpfile(); err != nil || string(kind)+" "+string(name) != want {
			t.Errorf("%s: %q %q, %v, want %s", body, kind, name, err, want)
		}
	}
	for _, body := range []string{"t", "", ":a"} {
		if _, _, err := one(t, "{{{dumpfile:"+body+"}}}").Dumpfile(); err == nil {
			t.Errorf("%s: no error", body)
		} else if strings.Contains(err.Error(), "no further field") {
			t.Errorf("%s: %v, but a field is missing", body, err)
		}
	}
}

func TestParseModule(t *testing.T) {
	for body, want := range map[string]ModuleFields{
		"0:a.so:elf:ab12":                   {0, "a.so", "\xab\x12"},
		"0x1F:/a b/c.so:elf:ABC":            {31, "/a b/c.so", "\x0a\xbc"},
		"017::elf:00":                       {15, "", "\x00"},
		"18446744073709551615:x:elf:1":      {math.MaxUint64, "x", "\x01"},
		"0:<VMO#1:x:y>:elf:ce72":            {0, "<VMO#1:x:y>", "\xce\x72"},
		"0:a:elf:b:elf:ab":                  {0, "a:elf:b", "\xab"},
		"0:x:elf:elf:ab":                    {0, "x:elf", "\xab"},
		"0:x:elf:ab:elf:more":               {0, "x", "\xab"},
		"0:x:elf:ab:elf:elf:elf:":           {0, "x", "\xab"},
		"0:a:elf:0b1:extra::":               {0, "a", "\x00\xb1"},
		"0b101:a:elf:0:more":                {5, "a", "\x00"},
		"0o17:::elf:1234567890":             {15, ":", "\x12\x34\x56\x78\x90"},
		"0X0000000000000000000f:\xff:elf:a": {15, "\xff", "\x0a"},
	} {
		got, err := ParseModule(one(t, "{{{module:"+body+"}}}"))
		if (err == nil) == (want == ModuleFields{}) || got != want {
			t.Errorf("%s: %+v %v", body, got, err)
		}
	}
}

func TestParseMMap(t *testing.T) {
	for body, want := range map[string]MMapFields{
		"0x7acba69d5000:0x5a000:load:1:rx:0x1000":      {0x7acba69d5000, 0x5a000, 1, "rx", 0x1000},
		"0:0:load:010:RwX:000:extra":                   {0, 0, 8, "rwx", 0},
		"0x1:18446744073709551615:load:0:w:0xffff:::x": {1, math.MaxUint64, 0, "w", 0xffff},
		// As written by LLVM (%#016x of a 32-bit value).
		"0x000000f00b8786:0x0b:load:0:r:0000000000000000": {0xf00b8786, 11, 0, "r", 0},
	} {
		if got, err := ParseMMap(one(t, "{{{mmap:"+body+"}}}")); err != nil || got != want {
			t.Errorf("%s: %+v %v", body, got, err)
		}
	}
}

// malformed are malformed elements with their errors: the column and the message.
var malformed = []struct{ line, want string }{
	{"{{{bt}}}", "6: expected frame number; found the end of the element"},
	{"{{{bt:}}}", "7: expected frame number; found ''"},
	{"{{{bt:x:0x1}}}", "7: expected frame number; found 'x'"},
	{"{{{bt:0x1:0x1}}}", "7: expected frame number; found '0x1'"},
	{"{{{bt:-1:0x1}}}", "7: expected frame number; found '-1'"},
	{"{{{bt:18446744073709551616:0x1}}}", "7: expected frame number of at most 64 bits; found '18446744073709551616'"},
	{"{{{bt:0}}}", "8: expected address; found the end of the element"},
	{"{{{bt:0:}}}", "9: expected address; found ''"},
	{"{{{bt:0: 0x1}}}", "9: expected address; found ' 0x1'"},
	{"{{{bt:0:1}}}", "9: expected address; found '1'"},
	{"{{{bt:0:0x}}}", "9: expected address; found '0x'"},
	{"{{{bt:0:0X1}}}", "9: expected address; found '0X1'"},
	{"{{{bt:0:0x1_0}}}", "9: expected address; found '0x1_0'"},
	{"{{{bt:0:0x10000000000000000:ra}}}", "9: expected address of at most 64 bits; found '0x10000000000000000'"},
	{"{{{pc:0x1:x}}}", "11: expected PC type 'ra' or 'pc'; found 'x'"},
	{"{{{pc:0x1:}}}", "11: expected PC type 'ra' or 'pc'; found ''"},
	{"{{{pc:0x1::ra}}}", "11: expected PC type 'ra' or 'pc'; found ''"},
	{"{{{data}}}", "8: expected address; found the end of the element"},
	{"{{{data:\x1b[31m}}}", "9: expected address; found '.[31m'"},
	{"{{{module}}}", "10: expected module ID; found the end of the element"},
	{"{{{module:a:b:elf:c}}}", "11: expected module ID; found 'a'"},
	{"{{{module:08:b:elf:c}}}", "11: expected octal digits after a leading 0; found '08'"},
	{"{{{module:0x10000000000000000:b:elf:c}}}", "11: expected number of at most 64 bits; found '0x10000000000000000'"},
	{"{{{module:0:a}}}", "14: expected module type 'elf'; found the end of the element"},
	{"{{{module:0:elf:ab}}}", "17: expected module type 'elf'; found 'ab'"},
	{"{{{module:0:a:ELF:ab}}}", "15: expected module type 'elf'; found 'ELF'"},
	{"{{{module:0:a:elf}}}", "18: expected build ID; found the end of the element"},
	{"{{{module:0:a:elf:}}}", "19: expected build ID; found ''"},
	{"{{{module:0:a:elf:0xab}}}", "19: expected build ID; found '0xab'"},
	{"{{{mmap:1:1:load:0:r:0x0}}}", "9: expected address; found '1'"},
	{"{{{mmap:0x1::load:0:r:0x0}}}", "13: expected size; found ''"},
	{"{{{mmap:0x1:1:elf:0:r:0x0}}}", "15: expected mmap type 'load'; found 'elf'"},
	{"{{{mmap:0x1:1:load:-:r:0x0}}}", "20: expected module ID; found '-'"},
	{"{{{mmap:0x1:1:load:0::0x0}}}", "22: expected mode; found ''"},
	{"{{{mmap:0x1:1:load:0:r-x:0x0}}}", "22: expected mode; found 'r-x'"},
	{"{{{mmap:0x1:1:load:0:xr:0x0}}}", "22: expected mode; found 'xr'"},
	{"{{{mmap:0x1:1:load:0:rwxp:0x0}}}", "22: expected mode; found 'rwxp'"},
	{"{{{mmap:0x1:1:load:0:r:10}}}", "24: expected address; found '10'"},
	{"{{{mmap:0x1:1:load:0:r}}}", "23: expected address; found the end of the element"},
}

func TestMalformed(t *testing.T) {
	for _, c := range malformed {
		e := one(t, c.line)
		var err error
		switch e.Tag {
		case BT:
			_, err = e.BT()
		case PC:
			_, err = e.PC()
		case Data:
			_, err = e.Data()
		case Module:
			_, err = ParseModule(e)
		case MMap:
			_, err = ParseMMap(e)
		}
		fe, ok := err.(*FieldError)
		if !ok {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		if got := fmt.Sprintf("%d: %s", fe.Offset+1, fe.Msg); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.line, got, c.want)
		}
	}
}

// TestWrongTag checks the errors for elements with another tag.
func TestWrongTag(t *testing.T) {
	if _, err := ParseModule(one(t, "{{{mmap:0x1:1:load:0:r:0}}}")); err == nil || err.Error() != "expected tag module; found 'mmap'" {
		t.Error(err)
	}
	if _, err := ParseMMap(one(t, "{{{reset}}}")); err == nil || err.Error() != "expected tag mmap; found 'reset'" {
		t.Error(err)
	}
	if _, err := one(t, "{{{symbol:x}}}").Data(); err == nil {
		t.Error("Data of a symbol element succeeds")
	}
}

func TestBTLine(t *testing.T) {
	for line, want := range map[string]string{
		"{{{bt:0:0x7f52731c130:pc}}}\n": "0 7f52731c130 1 \n", "{{{bt:12:0x0}}}\r\n": "12 0 0 \r\n", "{{{bt:1:0xA:ra}}}\n": "1 a 2 \n",
		"{{{bt:1:0xA:ra}}}": "", "{{{bt:1:0xA:ra:x}}}\n": "", "{{{bt:1:0xA:ra:}}}\n": "", "{{{bt:1:0xA:}}}\n": "", "{{{bt:1:0xA:x}}}\n": "",
		" {{{bt:1:0xA}}}\n": "", "{{{bt:1:0xA}}} \n": "", "{{{bt:1:0}}}\n": "", "{{{bt:1}}}\n": "", "{{{bt:}}}\n": "", "{{{bt:\n": "", "": "",
		"{{{bt:x:0xA}}}\n": "", "{{{bt:1:0xA}}}}\n": "", "{{{pc:0x1}}}\n": "", "{{{bt:1:0x1}}}{{{bt:2:0x2}}}\n": "", "{{{bt:1:0x1\r}}}\n": "",
	} {
		got := ""
		if f, end, ok := BTLine([]byte(line)); ok {
			got = fmt.Sprintf("%d %x %d %s", f.Num, f.Addr, f.Type, end)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
