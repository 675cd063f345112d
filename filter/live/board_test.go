package live_test

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// boardProgram is testdata/board.c, built for a machine.
type boardProgram struct {
	path, triple string
	faults       []uint64 // its instructions
	returns      []uint64 // the places after its calls
	calls        []uint64 // those calls
	truth        map[uint64]string
}

// board is a machine: how programs are built for it, how its calls look in objdump, and what its consoles print.
type board struct {
	triple string
	flags  []string
	call   *regexp.Regexp
	prints []boardPrint
}

// boardPrint prints the address of a fault and a return address as a program's source does. what are the addresses of the frames in it.
type boardPrint struct {
	name string
	text func(fault, ret, call uint64) (log string, frames []uint64)
}

// after marks a return address in what a boardPrint returns: the code is before it.
const after = 1 << 63

var boards = []board{
	{"xtensa-lx106-elf", []string{"-Wl,-Ttext=0x40200000"}, regexp.MustCompile(`\tcallx?0\t`), []boardPrint{
		// panic_print_registers and esp_backtrace_print_from_frame in ESP-IDF's components/esp_system/port/arch/xtensa.
		{"ESP-IDF", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("PC      : 0x%08x  PS      : 0x00050033  A0      : 0x%08x  A1      : 0x3ffb47e0  \n\n\nBacktrace: 0x%08x:0x3ffb47e0 0x%08x:0x3ffb47f0 0x0006001e:0xa5a5a5a5 |<-CORRUPTED\n",
				fault, ret|0x80000000, fault-3, ret-3), []uint64{fault, fault, ret | after, 0}
		}},
		// doBacktrace in components/esp32/panic.c before ESP-IDF 3.3.
		{"ESP-IDF 3", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("PC      : 0x%08x  PS      : 0x00050033\n\nBacktrace: 0x%08x:0x3ffb47e0 0x%08x:0x3ffb47f0\n", fault, fault, ret-3),
				[]uint64{fault, fault, ret | after}
		}},
		{"ESP-IDF, abort", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("abort() was called at PC 0x%08x on core 0\n\nBacktrace:0x%08x:0x3ffb47e0 0x%08x:0x3ffb47f0\n", ret, fault-3, ret-3),
				[]uint64{fault, ret | after}
		}},
		// crash_handler_log in ESPHome's esphome/components/esp32/crash_handler.cpp.
		{"ESPHome", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("[09:29:13.188][E][esp32.crash:330]:   PC:  0x%08X  (fault location)\n[09:29:13.735][E][esp32.crash:295]:   BT0: 0x%08X  (backtrace)\n[09:29:13.803][E][esp32.crash:295]:   BT1: 0x%08X  (backtrace)\n", fault, fault-3, ret-3),
				[]uint64{fault, fault, ret | after}
		}},
		// esp_backtrace_print begins with a caller.
		{"esp_backtrace_print", func(_, ret, _ uint64) (string, []uint64) {
			return fmt.Sprintf("Backtrace: 0x%08x:0x3ffb47e0 0x%08x:0x3ffb47f0\n", ret-3, ret-3), []uint64{ret | after, ret | after}
		}},
		// cores/esp8266/core_esp8266_postmortem.cpp.
		{"ESP8266", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("epc1=0x%08x epc2=0x00000000\n>>>stack>>>\n3ffffdc0:  %08x 3ffe8438 %08x %08x <\n", fault, ret, ret, 0x40000001),
				[]uint64{fault, 0, ret | after, ret | after, 0}
		}},
		{"esp-backtrace", func(_, ret, _ uint64) (string, []uint64) {
			return fmt.Sprintf("Backtrace:\n\n0x%x\n", ret-3), []uint64{ret | after}
		}},
		// heap_trace_dump_base in components/heap/heap_trace_standalone.c.
		{"heap trace", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("    32 bytes (@ 0x3ffb5f24, Internal) allocated CPU 0 ccount 0x0d22e8d4 caller 0x%08x:0x%08x\nfreed by 0x%08x:\n", ret, ret, ret),
				[]uint64{ret | after, ret | after, ret | after}
		}},
		// libs/libc/sched/sched_dumpstack.c.
		{"NuttX", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("[    2.340000] [ EMERG] backtrace| 2: 0x%08x 0x%08x\n[    2.340000] [ EMERG] backtrace|12: 0x%08x\n", ret, ret, ret),
				[]uint64{ret | after, ret | after, ret | after}
		}},
	}},
	{"riscv64-unknown-elf", []string{"-march=rv32imc", "-mabi=ilp32", "-Wl,-Ttext=0x42000000"}, regexp.MustCompile(`\t(jal|jalr)\t`), []boardPrint{
		// components/esp_system/port/arch/riscv/panic_arch.c, and eh_frame_parser.c.
		{"ESP-IDF", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("MEPC    : 0x%08x  RA      : 0x%08x  SP      : 0x3fc98fa0\nBacktrace: 0x%08x:0x3fc98fa0 0x%08x:0x3fc98fb0\n", fault, ret, fault, ret),
				[]uint64{fault, ret | after, fault, ret | after}
		}},
		// crash_handler_log in ESPHome's esphome/components/esp32/crash_handler.cpp.
		{"ESPHome", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("[09:29:13.188][E][esp32.crash:330]:   PC:  0x%08X  (fault location)\n[09:29:13.735][E][esp32.crash:295]:   BT0: 0x%08X  (backtrace)\n[09:29:13.803][E][esp32.crash:295]:   BT1: 0x%08X  (stack scan)\n", fault, fault, ret),
				[]uint64{fault, fault, ret | after}
		}},
		// esp-backtrace/src/riscv.rs.
		{"esp-backtrace", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("Exception 'Load access fault' mepc=0x%08x, mtval=0x00000000\nPC=0x%08x         RA/x1=0x%08x      SP/x2=0x3fc9fe40\n0x%x\n", fault, fault, ret, ret-4),
				[]uint64{fault, fault, ret | after, ret | after}
		}},
		// heap_trace_dump_base in components/heap/heap_trace_standalone.c.
		{"heap trace", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("    32 bytes (@ 0x3ffb5f24, Internal) allocated CPU 0 ccount 0x0d22e8d4 caller 0x%08x:0x%08x\nfreed by 0x%08x:\n", ret, ret, ret),
				[]uint64{ret | after, ret | after, ret | after}
		}},
		// _exit_trap in arch/riscv/lib/interrupts.c.
		{"U-Boot", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("EPC: %016x RA: %016x TVAL: 0000000000000000\nEPC: %016x RA: %016x reloc adjusted\n", fault, ret, fault, ret), []uint64{fault, ret | after}
		}},
		// src/kservice.c, and _bt_kaddr in libcpu/risc-v/common64/backtrace.c.
		{"RT-Thread", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("please use: addr2line -e rtthread.elf -a -f 0x%x 0x%x\n", ret, ret), []uint64{ret | after, ret | after}
		}},
		// arch/riscv/core/fatal.c and stacktrace.c.
		{"Zephyr", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("E:      ra: %08x\nE:    mepc: %08x\nE: call trace:\nE:       0: ra: %08x [f+0x30]\nE:       1: ra: %08x [main+0x22]\nE:       2: fp: 8000dc50   ra: %08x\n", ret, fault, fault, ret, ret),
				[]uint64{ret | after, fault, fault, ret | after, ret | after}
		}},
		// libs/libc/sched/sched_dumpstack.c.
		{"NuttX", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("[    2.340000] [ EMERG] backtrace| 2: 0x%08x 0x%08x\n[    2.340000] [ EMERG] backtrace|12: 0x%08x\n", ret, ret, ret),
				[]uint64{ret | after, ret | after, ret | after}
		}},
	}},
	{"arm-none-eabi", []string{"-mcpu=cortex-m3", "-mthumb", "-Wl,-Ttext=0x1000"}, regexp.MustCompile(`\tblx?\t`), []boardPrint{
		// arch/arm/core/fatal.c.
		{"Zephyr", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("[00:00:05.979,000] <err> os: r3/a4:  0x24060000 r12/ip:  0x0003026a r14/lr:  0x%08x\n[00:00:05.979,000] <err> os: Faulting instruction address (r15/pc): 0x%08x\n", ret|1, fault),
				[]uint64{ret | after, fault}
		}},
		// show_regs in U-Boot's arch/arm/lib/interrupts.c.
		{"U-Boot", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("data abort\npc : [<%08x>]\t   lr : [<%08x>]\nreloc pc : [<%08x>]\t   lr : [<%08x>]\nsp : 4a27f844  ip : 000031b5\t fp : 00000a01\n", fault, ret|1, fault, ret|1),
				[]uint64{fault, ret | after}
		}},
		// write_registers in PX4's src/systemcmds/hardfault_log/hardfault_log.c.
		{"PX4", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf(" r8:0x00000000 r9:0x00000000 r10:0x00000003 r11:0x00000000 r12:0x00000000  sp:0x2007d820 lr:0x%08x pc:0x%08x\n", ret|1, fault),
				[]uint64{ret | after, fault}
		}},
		// getlroffset in arch/arm/src/common/arm_backtrace_thumb.c: the addresses of calls. Other unwinders keep the bit of return addresses.
		{"NuttX", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("backtrace| 2: 0x%08x 0x%08x\n", call, call), []uint64{call, call}
		}},
		{"NuttX, return addresses", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("backtrace| 2: 0x%08x 0x%08x\n", ret|1, ret|1), []uint64{ret | after, ret | after}
		}},
		// cm_backtrace_call_stack in cm_backtrace/cm_backtrace.c, and that of old versions.
		{"CmBacktrace", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("Show more call stack info by run: addr2line -e board.elf -afpiC %08x %08x %08x \n", fault, ret, ret),
				[]uint64{fault, ret | after, ret | after}
		}},
		{"CmBacktrace, old", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("Show more call stack info by run: addr2line -e board.axf -a -f %08x %08x %08x \n", fault, (ret|1)-4, (ret|1)-4),
				[]uint64{fault, ret | after, ret | after}
		}},
	}},
	{"aarch64-linux-gnu", []string{"-no-pie", "-static", "-Wl,-Ttext=0x4020000"}, regexp.MustCompile(`\tblr?\t`), []boardPrint{
		// unwind_stack in common/backtrace/backtrace.c of Trusted Firmware-A.
		{"TF-A", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("BACKTRACE: START: assert\n0: EL3: 0x%x\n1: S-EL1: 0x%x\nBACKTRACE: END: assert\n", fault, call), []uint64{fault, call}
		}},
		// show_regs in arch/arm/lib/interrupts_64.c.
		{"U-Boot", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("\"Synchronous Abort\" handler, esr 0x96000007\nelr: %016x lr : %016x (reloc)\nelr: %016x lr : %016x\n", fault, ret, fault, ret),
				[]uint64{fault, ret | after}
		}},
		// arch/arm64/core/fatal.c.
		{"Zephyr", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("E: ELR_ELn: 0x%016x\nE: call trace:\nE:      0: fp: 0x00000000400b8a30 lr: 0x%016x\nE:      1: fp: 0x00000000400b8a50 lr: 0x%016x [f+0x30]\n", fault, ret, ret),
				[]uint64{fault, ret | after, ret | after}
		}},
		// rt_backtrace_frame in src/kservice.c, and _bt_kaddr in libcpu/aarch64/common/backtrace.c.
		{"RT-Thread", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("please use: addr2line -e rtthread.elf -a -f 0x%x 0x%x\n", fault, call), []uint64{fault, call}
		}},
		{"NuttX", func(fault, ret, call uint64) (string, []uint64) {
			return fmt.Sprintf("backtrace| 2: 0x%016x 0x%016x\n", ret, ret), []uint64{ret | after, ret | after}
		}},
	}},
}

// TestBoards holds that no address that the console of a board prints gets another function or line than the toolchain's addr2line
// gives it, for every call and every instruction of a program, and that nearly all get theirs.
func TestBoards(t *testing.T) {
	for _, b := range boards {
		for _, level := range []string{"-O0", "-O1", "-Os"} {
			t.Run(b.triple+" "+level, func(t *testing.T) {
				needTool(t, b.triple+"-gcc", "gcc-"+strings.Replace(b.triple, "lx106-elf", "lx106", 1))
				p := b.build(t, level)
				files := locate.Options{Objects: []string{p.path}}
				found, err := locate.New(files)
				if err != nil {
					t.Fatal(err)
				}
				o := filter.Options{Symbols: symobject.NewSource(found), Board: files.Board(), JSON: &jsonl.Options{}}
				if o.Board == nil {
					t.Fatal("the program is none of a board")
				}
				for _, print := range b.prints {
					p.check(t, o, print)
				}
			})
		}
	}
}

func (b *board) build(t *testing.T, level string) *boardProgram {
	t.Helper()
	source, err := filepath.Abs("testdata/board.c")
	if err != nil {
		t.Fatal(err)
	}
	p := &boardProgram{path: filepath.Join(t.TempDir(), "board.elf"), triple: b.triple, truth: map[uint64]string{}}
	args := append([]string{"-g", level, "-ffreestanding", "-nostdlib", "-nostartfiles", "-Wl,-e,_start", "-o", p.path, source}, b.flags...)
	if out, err := exec.Command(b.triple+"-gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(b.triple+"-objdump", "-d", "--no-show-raw-insn", p.path).Output()
	if err != nil {
		t.Fatal(err)
	}
	inside, called, call := functionsOf(t, p.path), false, uint64(0)
	for line := range strings.Lines(string(out)) {
		digits, insn, ok := strings.Cut(strings.TrimSpace(line), ":")
		addr, err := strconv.ParseUint(digits, 16, 64)
		if !ok || err != nil || strings.Contains(insn, ".word") || strings.TrimSpace(insn) == "" {
			called = false
			continue
		}
		if called {
			p.returns, p.calls = append(p.returns, addr), append(p.calls, call)
		}
		if inside(addr) { // and not what fills the gaps
			p.faults = append(p.faults, addr)
		}
		call = addr
		called = b.call.MatchString(insn) && !strings.Contains(insn, "zero,")
	}
	if len(p.returns) < 8 || len(p.faults) < 40 {
		t.Fatalf("%d calls and %d instructions", len(p.returns), len(p.faults))
	}
	return p
}

// functionsOf returns a function that reports whether an address is in a function of a file.
func functionsOf(t *testing.T, path string) func(addr uint64) bool {
	t.Helper()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	symbols, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return func(addr uint64) bool {
		return slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
			start := s.Value
			if e.Machine == elf.EM_ARM {
				start &^= 1
			}
			return elf.ST_TYPE(s.Info) == elf.STT_FUNC && addr >= start && addr < start+s.Size
		})
	}
}

// place returns the function and the line of an address, as addr2line has them.
func (p *boardProgram) place(t *testing.T, addr uint64) string {
	t.Helper()
	if _, known := p.truth[addr]; !known {
		out, err := exec.Command(p.triple+"-addr2line", "-ife", p.path, fmt.Sprintf("%#x", addr)).Output()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(out), "\n")
		line := lines[1][strings.LastIndexByte(lines[1], ':')+1:]
		line, _, _ = strings.Cut(line, " ")
		p.truth[addr] = lines[0] + ":" + line
	}
	return p.truth[addr]
}

// check prints each fault with one of the return addresses, and compares.
func (p *boardProgram) check(t *testing.T, o filter.Options, print boardPrint) {
	t.Helper()
	var log strings.Builder
	var want []uint64
	for i, fault := range p.faults {
		text, frames := print.text(fault, p.returns[i%len(p.returns)], p.calls[i%len(p.returns)])
		log.WriteString(text)
		want = append(want, frames...)
	}
	got := boardFrames(t, filtertest.Run(t, o, log.String()))
	if len(got) != len(want) {
		t.Fatalf("%s: %d frames, want %d", print.name, len(got), len(want))
	}
	var n filtertest.Tally
	for i, addr := range want {
		place := ""
		switch {
		case addr&after != 0:
			place = p.place(t, addr&^after-1)
		case addr != 0:
			place = p.place(t, addr)
		}
		switch got[i].place {
		case "":
			if addr != 0 {
				n.Raw++
			}
		case place:
			n.Right++
		default:
			n.Wrong++
			t.Errorf("%s: frame %d, %s: %s, want %q", print.name, i, got[i].text, got[i].place, place)
		}
	}
	n.Frames = n.Right + n.Raw + n.Wrong
	if t.Log(n.Row(t.Name() + ", " + print.name)); n.Right*10 < n.Frames*7 {
		t.Errorf("%s: only %d of %d frames have names", print.name, n.Right, n.Frames)
	}
}

// boardFrame is a frame of the output: its text, and the innermost function with its line.
type boardFrame struct{ text, place string }

func boardFrames(t *testing.T, output string) (frames []boardFrame) {
	t.Helper()
	for line := range strings.Lines(output) {
		var l struct {
			Frames []struct {
				Text      string
				Functions []struct {
					Function string
					Line     int
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		for _, f := range l.Frames {
			fr := boardFrame{text: f.Text}
			if len(f.Functions) > 0 {
				fr.place = f.Functions[0].Function + ":" + strconv.Itoa(f.Functions[0].Line)
			}
			frames = append(frames, fr)
		}
	}
	return frames
}
