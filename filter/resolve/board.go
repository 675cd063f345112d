package resolve

import (
	"bytes"
	"context"
	"debug/elf"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// A board's only program has no mappings. Its addresses are those of its file, which the log may name by the sum of its bytes:
//
//	ELF file SHA256: 2583ca4fdedc650a
var sumWord = []byte("ELF file SHA256:")

// leastSum is how many digits of the sum there are at least. ESP-IDF has 9 by default, and 16 before.
const leastSum = 8

// machines are those of boards.
var machines = map[elf.Machine]frame.Machines{elf.EM_XTENSA: frame.Xtensa, elf.EM_RISCV: frame.RISCV, elf.EM_ARM: frame.ARM,
	elf.EM_AARCH64: frame.AArch64}

// NoteSum notes the sum of the program's file if a line states it, and reports whether it does. Zeros are that of a program that was not told.
func (p *Process) NoteSum(line []byte) bool {
	i := bytes.Index(line, sumWord)
	if i < 0 {
		return false
	}
	i = scan.Spaces(line, i+len(sumWord))
	sum := line[i:scan.HexEnd(line, i)]
	if len(sum) >= leastSum && len(bytes.Trim(sum, "0")) > 0 {
		p.sum = strings.ToLower(string(sum))
	}
	return true
}

// SumStated reports whether the log has stated the sum of the thread's program.
func (t *Thread) SumStated() bool { return t.sum != "" }

// OfBoard reports whether a frame is of a board of the machine of the program that the user names.
func (r *Resolver) OfBoard(fr *parse.Frame) bool {
	b := r.queries.board
	return b != nil && !b.Hosted && fr.Machines&machines[b.Machine] != 0
}

// ofSeastar reports whether a frame after Seastar's words is an address of the only program that the user names: Seastar has the paths of
// libraries, and of the program the address in its file alone (decorate in its src/util/backtrace.cc). The words may be those of the line itself,
// of whose frames the stack is weighed first.
func (s *queries) ofSeastar(t *Thread, text []byte, fr *parse.Frame) bool {
	return s.board != nil && fr.Convention == frame.Listed && fr.Base == frame.Absolute && (t.Emitter.headline == seastarHeadline || saysShard(text)) &&
		t.Space.Empty() && s.lists.preload == nil && s.board.Covers(fr.Offset)
}

// onBoard returns the query of a frame of the board's program. ok is false if it is of none, or if the program has no code there.
func (s *queries) onBoard(t *Thread, fr *parse.Frame) (q query, ok bool) {
	b := s.board
	if b == nil || b.Hosted || fr.Done {
		return q, false
	}
	is := machines[b.Machine]
	listed := fr.Convention == frame.Listed && fr.Base == frame.Absolute && is&(frame.Xtensa|frame.RISCV) != 0 && t.Space.Empty() && s.lists.preload == nil
	if !listed && fr.Machines&is == 0 || !b.Covers(fr.Offset) {
		return q, false
	}
	m := s.memo.module([]byte(b.Module.Name), b.Module.BuildID)
	return query{mod: m, off: fr.Offset, Rule: s.boardRule(t, fr, is), pointed: true}, true
}

// boardRule returns the rule of an address of the board's program.
func (s *queries) boardRule(t *Thread, fr *parse.Frame, is frame.Machines) Rule {
	switch {
	case fr.Convention == frame.Exact:
		return exact.because(byFormat)
	case s.adjust == AdjustNone:
		return exact.because(byOption)
	case s.adjust == AdjustRA:
		return afterCall.because(byOption)
	case is == frame.AArch64 && (fr.Convention == frame.Traced || fr.Convention == frame.TracedFirst):
		return exact.because(byFormat)
	case fr.Convention == frame.TracedFirst && t.fault == fr.Offset:
		return exact.because(byRegister)
	case fr.Convention == frame.TracedFirst && is == frame.Xtensa && t.fault == fr.Offset+3:
		return threeLess.because(byRegister)
	case fr.Convention == frame.TracedFirst && is == frame.Xtensa:
		return threeLessOrCall.because(byFormat)
	case fr.Convention == frame.TracedFirst:
		return either.because(byFormat)
	case fr.Convention == frame.Traced && is == frame.Xtensa:
		return returningLess.because(byFormat)
	case fr.Convention == frame.Listed:
		return returningNear
	case fr.Convention == frame.Branching && is == frame.ARM && fr.Offset&1 == 0:
		return either.because(byFormat)
	}
	return returning.because(byFormat)
}

// noteBoard notes a frame of the board's program: its first exact address is that of the fault of which the next backtrace is.
func (t *Thread) noteBoard(fr *parse.Frame) {
	switch fr.Convention {
	case frame.Exact:
		t.fault = fr.Offset
	case frame.TracedFirst:
		t.fault = 0
	}
}

// otherSum returns why the board's file does not name a frame of a thread: it is not the one of the sum in the log. It is "" otherwise.
func (s *queries) otherSum(t *Thread) string {
	own := s.board.Sum()
	if t.sum == "" || own == "" || strings.HasPrefix(own, t.sum) {
		return ""
	}
	return otherBuild + "ELF file SHA256 " + t.sum + " in the log, " + own[:min(len(own), len(t.sum))] + " of the file"
}

// summed returns an answer for a frame of the board's program, without names if the log has the sum of another file.
func (r *Resolver) summed(t *Thread, a *Answer) *Answer {
	why := r.queries.otherSum(t)
	if why == "" || a.Files() == nil {
		return a
	}
	return a.refused(why, symsrc.MismatchBuildID)
}

// withoutReturn says why a query is unclear.
const withoutReturn = "unclear: no call ends there, so that it may be no return address"

// returns reports whether a rule wants a call that ends at the address, or so little after it.
func (r Rule) returns() bool {
	switch r.mode() {
	case returning, returningLess, returningNear:
		return true
	}
	return false
}

// returned looks for the call that an address of a board returns from: one that ends there, or as far after it as the emitter takes away, 3
// bytes on Xtensa and 4 on RISC-V (RA_OFFSET in esp-backtrace's src/xtensa.rs and src/riscv.rs). other is another place where there is one.
func (s *source) returned(ctx context.Context, q query, got *found) (back, other uint64) {
	less := uint64(3)
	if got.probe.CallDistance != less {
		less = 4
	}
	var backs []uint64
	for _, away := range [...]uint64{0, less} {
		mode, p := q.Rule.mode(), got.probe
		if away == 0 && mode == returningLess || away != 0 && mode == returning {
			continue
		}
		if away != 0 {
			at := got.addr
			at.Offset += away
			p = s.prober.Probe(ctx, at)
		}
		if p.Returns {
			backs = append(backs, afterCall.back(p)-away)
		}
	}
	switch len(backs) {
	case 0:
		got.unclear = withoutReturn
		return 0, 0
	case 1:
		return backs[0], backs[0]
	}
	return backs[0], backs[1]
}
