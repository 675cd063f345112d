package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readCarb reads a frame of a crash of Omniverse and Isaac Sim; `+` stands at line[plus]:
//
//	2026-04-17T02:29:32Z [96ms] [Fatal] [carb.crashreporter-breakpad.plugin] 000: libc.so.6!__sigaction+0x50
//	2025-08-12T14:34:47Z [1,659ms] [Fatal] [carb.crashreporter-breakpad.plugin] 017: libcarb.scripting-python.plugin.so!+0x1c366
//
// The offset counts from the function, or where there is none, from where the module begins. Nothing says whether the handler of the signal
// is among the frames, so that any of them may be what a signal interrupted.
func readCarb(s *Search, line []byte, plus, from int, f *Frame) bool {
	v, e, ok := scan.Address(line, plus+1)
	if !ok || !mayEnd(line, e) && !scan.Has(line, e, " (") {
		return false
	}
	low := max(from, plus-maxName)
	bang := low + s.lastIndexByte(line[low:plus], '!')
	if bang < low {
		return false
	}
	mod := span(scan.BackToken(line, max(from, bang-maxModule), bang), bang)
	s.spend(mod.End - mod.Start)
	const digits, colon = 3, ": "
	start := mod.Start - len(colon) - digits
	if mod.Empty() || start < from || !scan.Has(line, start+digits, colon) || !scan.WordStart(line, from, start) {
		return false
	}
	n, numEnd, ok := scan.Decimal(line, start)
	if !ok || numEnd != start+digits {
		return false
	}
	*f = Frame{Whole: span(start, e), Num: span(start, numEnd), Number: n, Module: mod, Off: span(plus+1, e), Offset: v, Space: symsrc.InImage, Convention: Unsaid}
	if function := span(bang+1, plus); !function.Empty() {
		f.Base, f.Symbol, f.Space = FromSymbol, function, symsrc.Linked
	}
	if scan.Has(line, e, " (") && !scan.Has(line, e, " (??:?)") { // it has its place
		f.Gap, f.Done = span(e, e), true
		return true
	}
	f.answer(s, line, e)
	return true
}
