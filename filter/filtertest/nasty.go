package filtertest

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Target is a file of a build-ID tree with addresses of its code and data.
type Target struct {
	ID string
	At []uint64
}

// Targets lists the files of the trees: good ones with their addresses, and bad ones.
func Targets(t testing.TB, dirs ...string) (all []Target) {
	t.Helper()
	for _, dir := range dirs {
		paths, err := filepath.Glob(filepath.Join(dir, ".build-id", "*", "*.debug"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, path := range paths {
			x := Target{ID: filepath.Base(filepath.Dir(path)) + strings.TrimSuffix(filepath.Base(path), ".debug")}
			if file, err := elf.Open(path); err == nil {
				for _, s := range file.Sections {
					if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 {
						continue
					}
					x.At = append(x.At, s.Addr, s.Addr+s.Size-1, s.Addr+s.Size)
					for i := uint64(1); i < 40 && s.Flags&elf.SHF_EXECINSTR != 0; i++ {
						x.At = append(x.At, s.Addr+s.Size*i/40)
					}
				}
				symbols, _ := file.Symbols()
				for _, s := range symbols {
					x.At = append(x.At, s.Value, s.Value+1, s.Value+s.Size)
				}
				file.Close()
			}
			all = append(all, x)
		}
	}
	return all
}

// Nasty makes random logs of odd markup.
type Nasty struct {
	*rand.Rand
	Targets []Target
	b       strings.Builder
	// bases are the mappings so far.
	bases []placed
}

// placed is a target at an address.
type placed struct {
	start uint64
	*Target
}

// Pick returns one of the texts.
func (r *Nasty) Pick(of ...string) string { return of[r.IntN(len(of))] }

// One reports true once in n times.
func (r *Nasty) One(n int) bool { return r.IntN(n) == 0 }

// Log returns a log of that many lines.
func (r *Nasty) Log(lines int) string {
	r.b.Reset()
	r.bases = nil
	end := r.Pick("\n", "\n", "\r\n")
	for i := range lines {
		r.line()
		if r.One(20) {
			end = r.Pick("\n", "\r\n", "\r\r\n", "\n\n")
		}
		if i < lines-1 || r.One(2) {
			r.b.WriteString(end)
		}
	}
	return r.b.String()
}

// Again repeats pieces of a log, as processes that crash over and over do.
func (r *Nasty) Again(log string) string {
	lines := strings.SplitAfter(log, "\n")
	for range r.IntN(8) {
		from := r.IntN(len(lines))
		piece := slices.Clone(lines[from:min(len(lines), from+1+r.IntN(40))])
		if r.One(2) {
			piece = append([]string{r.Pick("{{{reset}}}\n", "{{{reset}}}\r\n")}, piece...)
		}
		for range 1 + r.IntN(3) {
			lines = append(lines, piece...)
		}
	}
	return strings.Join(lines, "")
}

// line writes a line: context elements alone as a rule, other elements among text.
func (r *Nasty) line() {
	if r.One(12) {
		r.b.WriteString(r.Pick("07-20 12:00:00.123  1201  1202 F DEBUG   : ", "[    1.234567] ", "<6>", "Jul 20 12:00:00 host app[77]: ", "2026-07-20T12:00:00Z stderr F ",
			"{\"log\":\"", "  ", "\t", "\xef\xbb\xbf", "[00012.345][1105][1107] CRASH: ", "\x1b[1m\x1b[31m==7==\x1b[0m"))
	}
	switch {
	case r.One(3):
		if r.One(8) {
			r.text()
		}
		r.contextElement()
		if r.One(8) {
			r.text()
			r.element()
		}
	case r.One(10):
	default:
		for range 1 + r.IntN(3) {
			if r.One(2) {
				r.text()
			}
			r.element()
		}
		if r.One(2) {
			r.text()
		}
	}
}

// text writes text, escape sequences and parts of elements.
func (r *Nasty) text() {
	for range 1 + r.IntN(3) {
		r.b.WriteString(r.Pick("text ", "\x1b[1m", "\x1b[31m", "\x1b[34m", "\x1b[0m", "\x1b[37m", "\x1b[m", "\x1b[1;31m", "\x1b[38m",
			"\x1b[2m", "\x1b[01m", "\x1b[3", "\x1b", "\x1b\x1b[32m", "{{{", "}}}", "{{{}}}", "{{{:x}}}", "{{", "}", "{", "\r", "\x00", "\xff\xfe",
			"\t", ":", "#0 0x1234 (a+0x10)", "<<<bt:0:0x1000>>>", "ünï", "[[[reset]]]"))
	}
}

// contextElement writes a reset, or a module with its mappings, good as a rule.
func (r *Nasty) contextElement() {
	if r.One(8) {
		r.b.WriteString(r.Pick("{{{reset}}}", "{{{reset}}}", "{{{reset:}}}", "{{{reset:begin}}}", "{{{reset:a:b}}}"))
		return
	}
	if r.One(2) {
		r.module()
		return
	}
	r.mmap()
}

func (r *Nasty) moduleID() string {
	n := r.IntN(6)
	return r.Pick(fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint(n), fmt.Sprintf("%#x", n), fmt.Sprintf("0X%x", n), fmt.Sprintf("%#o", n),
		fmt.Sprintf("0b%b", n), fmt.Sprintf("0o%o", n), fmt.Sprintf("00%d", n), "18446744073709551615", "18446744073709551616", "0xffffffffffffffff",
		"0xfffffffffffffffe", "08", "-1", "+1", " 1", "", "1 ", "0x", "0b", "0B11", "0O7", "a", "0xg", "099999999999999999999", "0x00000000000000000001")
}

func (r *Nasty) module() {
	id := r.Pick("ab", "abc", "A", "", "0x11", "zz", "11", "0011223344556677889900112233445566778899", "AbCdEf")
	if !r.One(4) {
		id = r.Targets[r.IntN(len(r.Targets))].ID
		if r.One(5) {
			id = strings.ToUpper(id)
		}
	}
	fmt.Fprintf(&r.b, "{{{module:%s:%s:%s:%s%s}}}", r.moduleID(), r.Pick("a.so", "/lib/b c.so", "", "x\"y", "a:b", "c\x00d", "}", "{{{", "\x1b[31mred"),
		r.Pick("elf", "elf", "elf", "elf", "elf", "elf", "elf", "ELF", "", "macho"), id, r.extra())
}

func (r *Nasty) mmap() {
	start := uint64(r.IntN(8)) << 20
	if r.One(8) {
		start = ^uint64(0) - 0xfff
	}
	if r.One(8) {
		start += uint64(r.IntN(3)) << 12
	}
	r.bases = append(r.bases, placed{start, &r.Targets[r.IntN(len(r.Targets))]})
	id := r.moduleID()
	for id == "18446744073709551615" || id == "0xffffffffffffffff" { // here llvm crashes
		id = r.moduleID()
	}
	fmt.Fprintf(&r.b, "{{{mmap:%s:%s:%s:%s:%s:%s%s}}}", r.address(start),
		r.Pick("0x100000", "0x100000", "0x100000", "0x1000", "4096", "0", "0x0", "0xffffffffffffffff", "1", "x", "", "0x1001", "010000"),
		r.Pick("load", "load", "load", "load", "load", "load", "load", "Load", ""), id,
		r.Pick("r", "rx", "rw", "rwx", "RX", "rX", "w", "x", "wr", "", "rwxp", "r-x", "rr"), r.address(uint64(r.IntN(2))<<12*uint64(r.IntN(2))), r.extra())
}

func (r *Nasty) extra() string {
	if r.One(10) {
		return r.Pick(":", ":x", ":a:b:c:d", "::")
	}
	return ""
}

func (r *Nasty) address(a uint64) string {
	if r.One(30) {
		return r.Pick("0", "000", "0x", "0X10", "10", "", " 0x1", "0x1 ", "0x10000000000000000", "0x00000000000000000000001000", "0xg", "0x-1", "xyz")
	}
	return r.Pick(fmt.Sprintf("%#x", a), fmt.Sprintf("0x%016x", a), fmt.Sprintf("0x%X", a))
}

// resolvable returns an address in one of the mappings, as a rule one of code.
func (r *Nasty) resolvable() string {
	if len(r.bases) == 0 || r.One(10) {
		return r.address(r.Uint64() >> r.IntN(64))
	}
	p := r.bases[r.IntN(len(r.bases))]
	a := p.start
	x := p.Target
	if r.One(2) {
		x = &r.Targets[r.IntN(len(r.Targets))]
	}
	if len(x.At) > 0 {
		a += x.At[r.IntN(len(x.At))]
	}
	return r.address(a)
}

func (r *Nasty) element() {
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		fmt.Fprintf(&r.b, "{{{bt:%s:%s%s%s}}}", r.Pick("0", "1", "7", "12", "007", "123456", "18446744073709551615", "0x1", "", "-1"), r.resolvable(),
			r.Pick("", "", ":pc", ":ra", ":xx", ":"), r.extra())
	case 4, 5, 6:
		fmt.Fprintf(&r.b, "{{{pc:%s%s%s}}}", r.resolvable(), r.Pick("", "", ":pc", ":ra", ":sp 0x1"), r.extra())
	case 7, 8:
		fmt.Fprintf(&r.b, "{{{data:%s%s}}}", r.resolvable(), r.extra())
	case 9:
		fmt.Fprintf(&r.b, "{{{symbol:%s%s}}}", r.Pick("_Z1fv", "_ZN2ns1CC1Ei", "main", "1C", "", "_Z1fv.cold", "_Z1fv@@V1", "._Z1fv", "__Z1fv", "____Z1fv_block_invoke",
			"_RNvC1a1b", "_ZN4core3fmt5Write9write_str17h0123456789abcdefE", "_ZN5alloc4sync16Arc$LT$T$C$A$GT$9drop_slow17h16ebd8cc52d77260E",
			"_Z3fo\x00ov", "_Z", "_", "_Z1", "a{{{symbol", "f\x1b[31m", "_Z1fIiEvT_", "_ZTV1A", "_Z1f\xff", "_Dmain", "_D8demangle4test6__initZ", "_D3foo3barFZv", "_D1aZ\x00x"), r.extra())
	case 10:
		r.b.WriteString(r.Pick("{{{symbol}}}", "{{{pc}}}", "{{{bt}}}", "{{{bt:0}}}", "{{{data}}}", "{{{data:}}}", "{{{mmap}}}", "{{{module:1:a}}}", "{{{module:1:a:elf}}}",
			"{{{mmap:0x1:1:load}}}", "{{{reset", "{{{hexdict:RIP:0x1}}}", "{{{dumpfile:a:b}}}", "{{{hexdict:", "{{{future}}}", "{{{Bt:0:0x1}}}",
			"{{{b t}}}", "{{{1}}}", "{{{\x1b[31m}}}", "{{{{symbol:x}}}}", "{{{bt:0:0x1000}}", "{{{\x00}}}", "{{{pc:0x1}}}", "{{{symbol:a:b}}}"))
	case 11:
		r.contextElement()
	}
}
