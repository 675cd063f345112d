package markup

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

func ExampleGrammar() {
	fmt.Println(Grammar())
	// Output:
	// Element = Reset | Module | Mmap | Bt | Pc | Data | Symbol | Hexdict | Dumpfile .
	// Reset = "reset" (":" ~":"?)* .
	// Module = "module" ":" ModuleID ":" ((?! ":" <type>) (":" | ~":"))* ":" "elf" ":" BuildID (":" ~":"?)* .
	// ModuleID = (<zeros> | <digits> | <hex> | <binary> | <otherinteger>) .
	// BuildID = (<zeros> | <digits> | <binary> | <hexdigits>) .
	// Mmap = "mmap" ":" Address ":" Size ":" "load" ":" ModuleID ":" Mode ":" Address (":" ~":"?)* .
	// Address = (<zeros> | <hex>) .
	// Size = (<zeros> | <digits> | <hex> | <binary> | <otherinteger>) .
	// Mode = <mode> .
	// Bt = "bt" ":" FrameNumber ":" Address (":" ((PcType (":" (":" | ~":")*)?) | (":" | ~":")+)?)? .
	// FrameNumber = (<zeros> | <digits>) .
	// PcType = ("ra" | "pc") .
	// Pc = "pc" ":" Address (":" PcType (":" ~":"?)*)? .
	// Data = "data" ":" Address (":" ~":"?)* .
	// Symbol = "symbol" ":" ~":"? (":" ~":"?)* .
	// Hexdict = "hexdict" ":" Pair (":" Pair)* .
	// Pair = ~":"? ":" Address .
	// Dumpfile = "dumpfile" ":" Text ":" (":" | ~":")+ .
	// Text = ~":" .
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

// inside makes an element of a tag and a body that need not come from a line.
func inside(tag, body string) *Element {
	line := []byte("{{{" + tag + ":" + body + "}}}")
	start := len("{{{") + len(tag) + 1
	return &Element{
		End: len(line), Tag: tagOf([]byte(tag)), Name: line[3 : start-1], Body: line[start : len(line)-3], BodyStart: start,
	}
}

// differ tells where the hand-written readers and the grammar do not say the same of an element: "" is nowhere.
func differ(e *Element) string {
	p, err := e.parse()
	var byHand, byGrammar string
	if ok := e.wellFormed(); ok != (err == nil) && !(e.Tag == Symbol && len(e.Body) == 0) {
		return fmt.Sprintf("by hand %v, by grammar %v", ok, err)
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
	switch {
	case p.BT != nil:
		f, _ := scanBT(e.Body)
		byHand = fmt.Sprint(f.Num, f.Addr, f.Type, string(f.Message))
		byGrammar = fmt.Sprint(uint64(p.BT.Num.Value), uint64(p.BT.Addr.Value), kind(p.BT.Type), p.BT.Message)
	case p.PC != nil:
		f, _ := scanPC(e.Body)
		byHand, byGrammar = fmt.Sprint(f), fmt.Sprint(PCFields{uint64(p.PC.Addr.Value), kind(p.PC.Type)})
	case p.Data != nil:
		f, _ := scanData(e.Body)
		byHand, byGrammar = fmt.Sprint(f), fmt.Sprint(uint64(p.Data.Addr.Value))
	case p.Module != nil:
		f, _ := scanModule(e.Body)
		g, _ := moduleByGrammar(e)
		h, _ := ParseModule(e)
		if g != h {
			return fmt.Sprintf("by hand %v, by grammar %v", h, g)
		}
		byHand = fmt.Sprintf("%d %q %s", f.id, f.name, strings.ToLower(string(f.buildID)))
		digits := hex.EncodeToString([]byte(g.BuildID))
		byGrammar = fmt.Sprintf("%d %q %s", g.ID, g.Name, digits[len(f.buildID)%2:])
	case p.MMap != nil:
		f, _ := scanMMap(e.Body)
		g, _ := mmapByGrammar(e)
		h, _ := ParseMMap(e)
		if g != h {
			return fmt.Sprintf("by hand %v, by grammar %v", h, g)
		}
		byHand = fmt.Sprint(MMapFields{f.start, f.size, f.moduleID, strings.ToLower(string(f.mode)), f.rel})
		byGrammar = fmt.Sprint(g)
	case p.Symbol != nil:
		name, _ := e.Symbol()
		byHand, byGrammar = string(name), p.Symbol.Name
	case p.Dumpfile != nil:
		kind, name, _ := e.Dumpfile()
		byHand, byGrammar = string(kind)+" "+string(name), p.Dumpfile.Kind.Value+" "+p.Dumpfile.Name
	}
	if byHand != byGrammar {
		return fmt.Sprintf("by hand %s, by grammar %s", byHand, byGrammar)
	}
	return ""
}

// Every field takes every value that one of the fields takes or nearly takes.
func TestHandAgainstGrammar(t *testing.T) {
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
