package dumpsym

import (
	"cmp"
	"fmt"
	"slices"

	"qss-filter/symsrc/codeprobe"
	"qss-filter/symsrc/object"
)

// callFrames writes how the stack is to be walked: STACK CFI INIT for each stretch of code, and STACK CFI where its rules change.
func (d *dumper) callFrames() error {
	src := object.NewSource(d.finder)
	defer src.Close()
	registers := registersOf[d.machine]
	if registers == nil {
		return nil // a walker could not name them
	}
	return src.Unwind(d.ctx, d.module, func(u *codeprobe.Unwinding) error {
		if u.Lo < d.base {
			return nil
		}
		w := rules{registers: registers, returns: u.Return}
		b := fmt.Appendf(d.line[:0], "STACK CFI INIT %x %x", u.Lo-d.base, u.Hi-u.Lo)
		if w.name(u.Return) != "" && !slices.ContainsFunc(u.Rows[0].Rules, func(r codeprobe.Rule) bool { return r.Register == u.Return }) {
			// On entry the return address is in its register, of which there need be no rule.
			u.Rows[0].Rules = append(u.Rows[0].Rules, codeprobe.Rule{Register: u.Return, Kind: codeprobe.RuleSame})
		}
		for i, row := range u.Rows {
			slices.SortFunc(row.Rules, func(a, b codeprobe.Rule) int { return cmp.Compare(a.Register, b.Register) })
			before := len(b)
			if i > 0 {
				b = fmt.Appendf(b, "STACK CFI %x", row.Addr-d.base)
			}
			head := len(b)
			for _, r := range row.Rules {
				b = w.append(b, r)
			}
			if i > 0 && (len(b) == head || row.Addr >= u.Hi) { // nothing that can be said, or of no code
				b = b[:before]
				continue
			}
			b = append(b, '\n')
		}
		d.line = b
		_, err := d.body.Write(b)
		return err
	})
}

// rules puts rules in Breakpad's words: postfix expressions.
type rules struct {
	registers []string
	returns   int
}

// name is what Breakpad calls a register; "" where it has no name for it.
func (w *rules) name(register int) string {
	switch {
	case register == codeprobe.CFA:
		return ".cfa"
	case register < len(w.registers):
		return w.registers[register]
	}
	return ""
}

// append appends a rule. Expressions of DWARF have no equal in it: what they tell counts as lost.
func (w *rules) append(b []byte, r codeprobe.Rule) []byte {
	name, base := w.name(r.Register), w.name(r.Base)
	if r.Register == w.returns {
		name = ".ra"
	}
	switch {
	case name == "":
		return b
	case r.Kind == codeprobe.RuleSame && w.name(r.Register) != "":
		return fmt.Appendf(b, " %s: %s", name, w.name(r.Register))
	case r.Kind == codeprobe.RuleSaved:
		return fmt.Appendf(b, " %s: %s %d + ^", name, base, r.Offset)
	case r.Kind == codeprobe.RuleValue && base != "" && r.Offset == 0 && r.Register != codeprobe.CFA:
		return fmt.Appendf(b, " %s: %s", name, base)
	case r.Kind == codeprobe.RuleValue && base != "":
		return fmt.Appendf(b, " %s: %s %d +", name, base, r.Offset)
	}
	return fmt.Appendf(b, " %s: .undef", name)
}
