package markup

import (
	"fmt"
	"strings"
	"testing"
)

func ExampleGrammar() {
	fmt.Println(Grammar())
	// Output:
	// Element = Reset | Module | Mmap | Bt | Pc | Data | Symbol | Hexdict | Dumpfile .
	// Reset = "reset" <more>? .
	// Module = "module" ":" ModuleID ":" <modulename> ":" "elf" ":" BuildID <more>? .
	// ModuleID = <integer> .
	// BuildID = <hexdigits> .
	// Mmap = "mmap" ":" Address ":" Size ":" "load" ":" ModuleID ":" Mode ":" Address <more>? .
	// Address = <address> .
	// Size = <integer> .
	// Mode = <mode> .
	// Bt = "bt" ":" FrameNumber ":" Address (":" PcType)? (":" <rest>)? .
	// FrameNumber = <decimal> .
	// PcType = <pctype> .
	// Pc = "pc" ":" Address (":" PcType <more>?)? .
	// Data = "data" ":" Address <more>? .
	// Symbol = "symbol" ":" <symbolname> <more>? .
	// Hexdict = "hexdict" ":" ((Pair (":" Pair)*) | Register+) .
	// Pair = <key> ":" Address .
	// Register = <register> ":" Address .
	// Dumpfile = "dumpfile" ":" DumpType ":" <rest> .
	// DumpType = <text> .
}

func ExampleExplain() {
	line := []byte("[12.345] {{{bt:3:7fff0010:ra}}}")
	e, _ := Next(line, 0)
	_, err := e.BT()
	fmt.Println(Explain(12, line, err))
	// Output:
	// line 12:18: expected address; found '7fff0010'
	// [12.345] {{{bt:3:7fff0010:ra}}}
	//                  ^
}

// inside returns an element with a tag and any body.
func inside(tag, body string) *Element {
	line := []byte("{{{" + tag + ":" + body + "}}}")
	start := len("{{{") + len(tag) + 1
	return &Element{
		End: len(line), Tag: tagOf([]byte(tag)), Name: line[3 : start-1], Body: line[start : len(line)-3], BodyStart: start,
	}
}

// differ returns a description of the difference between the scanner and the grammar for an element, or "".
func differ(e *Element) string {
	p, err := e.parse()
	var v [maxFields]value
	if ok := (layouts[e.Tag].scan(e.Body, &v) || e.isDump()) && (e.Body != nil || e.Tag != Symbol); ok != (err == nil) {
		return fmt.Sprintf("scanned %v, by grammar %v", ok, err)
	}
	if err != nil {
		if fe, ok := err.(*FieldError); !ok || fe.Offset < e.BodyStart || fe.Offset > e.End-3 {
			return fmt.Sprintf("misplaced: %#v", err)
		}
		return ""
	}
	kind := func(t *pcType) PCType {
		if t == nil {
			return Unmarked
		}
		return map[string]PCType{"ra": ReturnAddress, "pc": Exact}[t.Value]
	}
	var scanned, parsed any
	switch {
	case p.BT != nil:
		f, err := e.BT()
		scanned = fmt.Sprint(f.Num, f.Addr, f.Type, string(f.Message), err)
		parsed = fmt.Sprint(uint64(p.BT.Num.Value), uint64(p.BT.Addr.Value), kind(p.BT.Type), p.BT.Message, nil)
	case p.PC != nil:
		scanned, _ = e.PC()
		parsed = PCFields{uint64(p.PC.Addr.Value), kind(p.PC.Type)}
	case p.Data != nil:
		scanned, _ = e.Data()
		parsed = uint64(p.Data.Addr.Value)
	case p.Module != nil:
		scanned, _ = ParseModule(e)
		parsed = ModuleFields{ID: uint64(p.Module.ID.Value), Name: p.Module.Name, BuildID: string(p.Module.BuildID.Value)}
	case p.MMap != nil:
		scanned, _ = ParseMMap(e)
		m := p.MMap
		parsed = MMapFields{uint64(m.Start.Value), uint64(m.Size.Value), uint64(m.ModuleID.Value), string(m.Mode.Value), uint64(m.Rel.Value)}
	case p.Symbol != nil:
		name, _ := e.Symbol()
		scanned, parsed = string(name), p.Symbol.Name
	case p.Hexdict != nil && len(p.Hexdict.Registers) > 0:
		layouts[Hexdict].dump.scan(e.Body, &v)
		last := p.Hexdict.Registers[len(p.Hexdict.Registers)-1]
		scanned, parsed = fmt.Sprint(string(v[0].of(e.Body)), v[1].number), fmt.Sprint(last.Key, uint64(last.Value.Value))
	case p.Hexdict != nil:
		last := p.Hexdict.Pairs[len(p.Hexdict.Pairs)-1]
		scanned, parsed = fmt.Sprint(string(v[0].of(e.Body)), v[1].number), fmt.Sprint(last.Key, uint64(last.Value.Value))
	case p.Dumpfile != nil:
		kind, name, _ := e.Dumpfile()
		scanned, parsed = string(kind)+" "+string(name), p.Dumpfile.Kind.Value+" "+p.Dumpfile.Name
	}
	if scanned != parsed {
		return fmt.Sprintf("scanned %v, by grammar %v", scanned, parsed)
	}
	return ""
}

// TestScannerAgainstGrammar tries, in every field, all values that are valid or nearly valid in one of the fields.
func TestScannerAgainstGrammar(t *testing.T) {
	values := strings.Fields(`0 00 1 7 08 010 10 0x 0x0 0X0 0x1f 0x1G 0X1F 0b 0b1 0b2 0B1 0o 0o7 0o8 0O7 ab abc ABC xyz r rw rx
		wx rwx RX xr rr elf load ra pc RA -1 +1 1_0 0x1_0 18446744073709551615 18446744073709551616 0xffffffffffffffff
		0x10000000000000000 0x0000000000000000000000001 sp\x200x1`)
	values = append(values, "", " ", "a b", "-[a", "?f", " 0x1", "\xff", "\n", "0\n", "é", ":")
	good := map[string][]string{
		"bt": {"0", "0x1", "ra", "from CFI"}, "pc": {"0x1", "pc", "x"}, "data": {"0x1", "x"}, "symbol": {"_Z1fv", "x", "y", "z"},
		"module": {"0", "a.so", "elf", "ab", "x", "y"}, "mmap": {"0x1000", "16", "load", "0", "rx", "0x0", "x"},
		"hexdict": {"a", "0x1", "b", "0", "c", "0"}, "dumpfile": {"a", "b", "c"}, "reset": {"begin", "x"},
	}
	n := 0
	for tag, fields := range good {
		for length := range len(fields) + 1 {
			for i := range length {
				for _, v := range values {
					f := append([]string(nil), fields[:length]...)
					f[i] = v
					n++
					if e := inside(tag, strings.Join(f, ":")); differ(e) != "" {
						t.Errorf("%s:%s: %s", tag, e.Body, differ(e))
					}
				}
			}
		}
	}
	t.Log(n, "elements")
}

func TestParseBoundsElements(t *testing.T) {
	e := inside("module", "0:"+strings.Repeat(":", maxInside)+":elf:ab")
	if _, err := ParseModule(e); err == nil || !strings.HasPrefix(err.Error(), "expected an element of at most 16384 bytes") {
		t.Error(err)
	}
	e = inside("module", "0:"+strings.Repeat(":", maxInside/2)+":elf:ab")
	if m, err := ParseModule(e); err != nil || len(m.Name) != maxInside/2 {
		t.Error(len(m.Name), err)
	}
}
