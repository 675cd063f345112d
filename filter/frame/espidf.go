package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readESPBacktrace reads an entry of ESP-IDF's backtraces, the program counter of a pair with the stack pointer; `0x` stands at line[at]:
//
//	Backtrace: 0x40085cd7:0x3ffb47e0 0x40085b84:0x3ffb47f0 0x0006001e:0xa5a5a5a5 |<-CORRUPTED
//
// On Xtensa 3 was taken from each, also from the address of a fault (esp_backtrace_print_from_frame in its
// components/esp_system/port/arch/xtensa/debug_helpers.c), and before ESP-IDF 3.3 from those of callers (doBacktrace in
// components/esp32/panic.c). Zephyr does the same (arch/xtensa/core/xtensa_backtrace.c). On RISC-V they are what the unwinder finds
// (esp_eh_frame_print_backtrace in eh_frame_parser.c).
func readESPBacktrace(s *Search, line []byte, at, from int, f *Frame) bool {
	pc, colon, ok := boardAddress(line, at)
	if !ok || colon >= len(line) || line[colon] != ':' {
		return false
	}
	_, end, ok := boardAddress(line, colon+1)
	if !ok || !scan.WordEnd(line, end) {
		return false
	}
	first, ok := s.espList(line, at)
	if !ok {
		return false
	}
	*f = Frame{Whole: span(at, end), Addr: span(at, colon), Off: span(at, colon), Offset: pc, Base: Absolute, Machines: Xtensa | RISCV, Convention: Traced,
		Later: true}
	if first {
		f.Convention = TracedFirst
	}
	f.answer(s, line, end)
	return true
}

// espList reports whether the pair at line[start] is one of a list, and whether it is the first one of it.
func (s *Search) espList(line []byte, start int) (first, ok bool) {
	for first = true; ; first = false {
		p := scan.BackSpaces(line, 0, start)
		if scan.EndsWith(line, 0, p, "Backtrace:") {
			return first, true
		}
		const pair = len("0x40085cd7:0x3ffb47e0")
		before := start
		if start = p - pair; p == before || start < 0 || !s.spend(before-start) {
			return false, false
		}
		if _, colon, ok := boardAddress(line, start); !ok || line[colon] != ':' {
			return false, false
		} else if _, e, ok := boardAddress(line, colon+1); !ok || e != p {
			return false, false
		}
	}
}

// readESPCaller reads a return address of ESP-IDF's heap traces; `0x` stands at line[at]:
//
//	    32 bytes (@ 0x3ffb5f24, Internal) allocated CPU 0 ccount 0x0d22e8d4 caller 0x400d2d1c:0x400d2e60
//	freed by 0x400d2d1c:0x400d2e60
//
// (heap_trace_dump_base in its components/heap/heap_trace_standalone.c, and get_call_stack in include/heap_trace.inc.)
func readESPCaller(s *Search, line []byte, at, from int, f *Frame) bool {
	pc, end, ok := boardAddress(line, at)
	if !ok || end < len(line) && line[end] != ':' && !scan.WordEnd(line, end) {
		return false
	}
	start := at // of the list, of which frames may have been read
	for {
		const entry = len("0x400d2d1c:")
		before := start - entry
		if before < 0 || line[start-1] != ':' {
			break
		}
		if _, e, ok := boardAddress(line, before); !ok || e != start-1 || !s.spend(entry) {
			return false
		}
		start = before
	}
	if !scan.EndsWith(line, 0, start, " caller ") && !scan.EndsWith(line, 0, start, "freed by ") {
		return false
	}
	*f = Frame{Whole: span(at, end), Addr: span(at, end), Off: span(at, end), Offset: pc, Base: Absolute, Machines: Xtensa | RISCV, Convention: Returning}
	f.answer(s, line, end)
	return true
}

// boardAddress reads an address of 32 bits as boards print it, `0x40085cd7`.
func boardAddress(line []byte, at int) (v uint64, end int, ok bool) {
	v, end, ok = scan.Address(line, at)
	return v, end, ok && end-at == len("0x40085cd7")
}

// espRegisters are the registers with a place in the code in ESP-IDF's dumps, each in a field of eight.
var espRegisters = [...]struct {
	name       string
	machine    Machines
	convention Convention
}{{"PC      ", Xtensa, Exact}, {"MEPC    ", RISCV, Exact}, {"RA      ", RISCV, Returning}}

// readESPRegister reads a register of ESP-IDF's dumps; `: 0x` begins at line[at]:
//
//	PC      : 0x40085cda  PS      : 0x00050033  A0      : 0x40085b87  A1      : 0x3ffb47e0
//	MEPC    : 0x42007bd6  RA      : 0x42007bd0  SP      : 0x3fc98fa0  GP      : 0x3fc8d400
//
// The first one of either is that of the fault (panic_print_registers in its components/esp_system/port/arch). RA is a register like others
// while a function runs.
func readESPRegister(s *Search, line []byte, at, from int, f *Frame) bool {
	num := at + len(": ")
	pc, end, ok := boardAddress(line, num)
	if !ok || !scan.WordEnd(line, end) {
		return false
	}
	for _, r := range espRegisters {
		start := at - len(r.name)
		if start >= from && scan.Has(line, start, r.name) && boardStart(line, from, start) {
			*f = Frame{Whole: span(start, end), Addr: span(num, end), Off: span(num, end), Offset: pc, Base: Absolute, Machines: r.machine,
				Convention: r.convention, Later: true}
			f.answer(s, line, end)
			return true
		}
	}
	return false
}

// boardStart reports whether a console's word can begin at the place: ESPHome's monitor writes the time right before it, `[08:34:28]MEPC`.
func boardStart(line []byte, from, at int) bool {
	return scan.WordStart(line, from, at) || line[at-1] == ']'
}

// homeParts are what ESPHome's report of a crash has around an address: before and after it.
var homeParts = [...]struct{ before, after string }{{"PC:", "(fault location)"}, {"BT", "(backtrace)"}, {"BT", "(stack scan)"}}

// readESPHome reads an address of ESPHome's report of a crash, which it logs after the next start; `0x` stands at line[at]:
//
//	[09:29:13.188][E][esp32.crash:330]:   PC:  0x42023756  (fault location)
//	[09:29:13.735][E][esp32.crash:295]:   BT0: 0x42023756  (backtrace)
//	[09:29:13.872][E][esp32.crash:295]:   BT2: 0x42007868  (stack scan)
//
// (crash_handler_log in its components/esp32/crash_handler.cpp.) On Xtensa 3 was taken from all of the backtrace; on RISC-V its first one is
// that of the fault, and the others are return addresses.
func readESPHome(s *Search, line []byte, at, from int, f *Frame) bool {
	pc, end, ok := boardAddress(line, at)
	if !ok {
		return false
	}
	after := scan.Spaces(line, end)
	before := scan.BackSpaces(line, from, at)
	for i, p := range homeParts {
		if after == end || !scan.Has(line, after, p.after) || before == from || line[before-1] != ':' {
			continue
		}
		digits := scan.BackDigits(line, from, before-1)
		start := digits - len(p.before)
		if i == 0 {
			start = before - len(p.before)
		} else if digits == before-1 {
			return false
		}
		if start < from || !scan.Has(line, start, p.before) || !boardStart(line, from, start) {
			return false
		}
		end = after + len(p.after)
		*f = Frame{Whole: span(start, end), Addr: span(at, at+len("0x42023756")), Off: span(at, at+len("0x42023756")), Offset: pc, Base: Absolute,
			Machines: Xtensa | RISCV, Convention: Traced}
		switch {
		case i == 0:
			f.Convention = Exact
		case string(line[digits:before-1]) == "0":
			f.Convention = TracedFirst
		}
		f.answer(s, line, end)
		return true
	}
	return false
}

// boardWords are the names before `=` of registers with a place in the code.
var boardWords = [...]struct {
	name       string
	machine    Machines
	convention Convention
}{{"epc1", Xtensa, Exact}, {"epc2", Xtensa, Exact}, {"epc3", Xtensa, Exact}, {"depc", Xtensa, Exact}, {"mepc", RISCV, Exact},
	{"RA/x1", RISCV, Returning}, {"PC", Xtensa | RISCV, Exact}}

// readBoardWord reads a register of Arduino's core for the ESP8266, and of Rust's esp-backtrace; `0x` stands at line[at]:
//
//	epc1=0x40201234 epc2=0x00000000 epc3=0x00000000 excvaddr=0x00000000 depc=0x00000000
//	Exception 'Load access fault' mepc=0x42001234, mtval=0x00000000
//	PC=0x42001234         RA/x1=0x42001200      SP/x2=0x3fc9fe40      GP/x3=0x3fc94600
//	PC=0x400d1234       PS=0x00060330
//
// The exception program counters are those of faults (__wrap_system_restart_local in its cores/esp8266/core_esp8266_postmortem.cpp,
// exception_handler and Context in esp-backtrace's src/riscv.rs and src/xtensa.rs).
func readBoardWord(s *Search, line []byte, at, from int, f *Frame) bool {
	pc, end, ok := boardAddress(line, at)
	if !ok {
		return false
	}
	for _, r := range boardWords {
		start := at - len("=") - len(r.name)
		if start < from || !scan.Has(line, start, r.name) || !boardStart(line, from, start) {
			continue
		}
		if r.name == "PC" {
			next := line[scan.Spaces(line, end):]
			if !bytes.HasPrefix(next, []byte("PS=0x")) && !bytes.HasPrefix(next, []byte("RA/x1=0x")) && !bytes.HasPrefix(line[end:], inWord) {
				return false
			}
		}
		*f = Frame{Whole: span(start, end), Addr: span(at, end), Off: span(at, end), Offset: pc, Base: Absolute, Machines: r.machine,
			Convention: r.convention}
		f.answer(s, line, end)
		return true
	}
	return false
}

// readESPStack reads a word in the dump of the stack of Arduino's core for the ESP8266 that may point into the code; ` 40` begins at line[at]:
//
//	3ffffdc0:  40201234 3ffe8438 00000001 402012ab <
//
// (print_stack in its cores/esp8266/core_esp8266_postmortem.cpp.) Words that are no return addresses are left alone.
func readESPStack(s *Search, line []byte, at, from int, f *Frame) bool {
	const field = len(" 40201234")
	start, end := at+1, at+field
	pc, e, ok := scan.Hex(line, start)
	if !ok || e != end {
		return false
	}
	begin := at
	for n := 0; n < 4 && begin >= 0 && line[begin] == ' '; n++ {
		if scan.EndsWith(line, 0, begin, ": ") {
			break
		}
		begin -= field
	}
	if begin-len("3ffffdc0: ") < 0 || !scan.EndsWith(line, 0, begin, ": ") {
		return false
	}
	begin -= len("3ffffdc0: ")
	if _, e, ok := scan.Hex(line, begin); !ok || e != begin+8 || !scan.Has(line, begin, "3ff") || !scan.WordStart(line, 0, begin) {
		return false
	}
	*f = Frame{Whole: span(start, end), Addr: span(start, end), Off: span(start, end), Offset: pc, Base: Absolute, Machines: Xtensa, Convention: Returning}
	f.answer(s, line, end)
	return true
}

// readZephyr reads a register of Zephyr's fatal errors on ARM; `0x` stands at line[at]:
//
//	E: r3/a4:  0x24060000 r12/ip:  0x0003026a r14/lr:  0x000263eb
//	E: Faulting instruction address (r15/pc): 0x00023c8a
//
// or on AArch64, or a frame of its call traces there:
//
//	E: ELR_ELn: 0x000000004000c1a4
//	E:      0: fp: 0x00000000400b8a30 lr: 0x0000000040001058 [func2+0x30]
//
// (esf_dump in its arch/arm/core/fatal.c, z_arm64_fatal_error and print_trace_address in arch/arm64/core/fatal.c.)
func readZephyr(s *Search, line []byte, at, from int, f *Frame) bool {
	pc, end, ok := boardAddress(line, at)
	colon := scan.BackSpaces(line, from, at)
	if !ok || !scan.WordEnd(line, end) {
		pc, end, ok = scan.Address(line, at)
		return ok && end-at == len("0x0000000040001058") && scan.WordEnd(line, end) && s.zephyr64(line, span(at, end), pc, from, f)
	}
	const fault, link = "Faulting instruction address (r15/pc):", "r14/lr:"
	start, convention := colon-len(fault), Exact
	if !scan.EndsWith(line, from, colon, fault) {
		if start, convention = colon-len(link), Returning; !scan.EndsWith(line, from, colon, link) || !scan.WordStart(line, from, start) {
			return false
		}
	}
	*f = Frame{Whole: span(start, end), Addr: span(at, end), Off: span(at, end), Offset: pc, Base: Absolute, Machines: ARM, Convention: convention}
	f.answer(s, line, end)
	return true
}

// zephyr64 reads the rest of a register or a frame of Zephyr on AArch64, which has the address addr.
func (s *Search) zephyr64(line []byte, addr Span, pc uint64, from int, f *Frame) bool {
	const fault, link, frame = "ELR_ELn: ", " lr: ", ": fp: 0x"
	*f = Frame{Addr: addr, Off: addr, Offset: pc, Base: Absolute, Machines: AArch64, Convention: Exact}
	start := addr.Start - len(fault)
	if !scan.EndsWith(line, from, addr.Start, fault) {
		digits := scan.BackHex(line, from, max(from, addr.Start-len(link)))
		if !scan.EndsWith(line, from, addr.Start, link) || !scan.EndsWith(line, from, digits, frame) {
			return false
		}
		f.Num = span(scan.BackDigits(line, from, digits-len(frame)), digits-len(frame))
		n, _, ok := scan.Decimal(line, f.Num.Start)
		if !ok || f.Num.Empty() {
			return false
		}
		start, f.Number, f.Convention = f.Num.Start, n, Returning
	}
	if f.Whole = span(start, addr.End); !scan.WordStart(line, from, start) {
		return false
	}
	if close := bytes.IndexByte(line[addr.End:min(len(line), addr.End+maxSymbol)], ']'); close > 0 && scan.Has(line, addr.End, " [") { // the board has its symbols
		f.Whole.End += close + 1
	}
	f.answer(s, line, f.Whole.End)
	return true
}
