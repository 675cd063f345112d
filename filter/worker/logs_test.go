package worker

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// sampleModules are programs among the samples, with offsets of frames.
var sampleModules = []struct {
	path, buildID string
	rel, size     uint64
	offsets       []uint64
}{
	{"/home/dev/crash-examples/bin/clang22-asan/crash", "8fe381949ea8c7642b620146e119430364dc452b", 0x2e000, 0xea325,
		[]uint64{0x1182a3, 0x117dc9, 0x1181be, 0x11720d, 0x117d4a}},
	{"/home/dev/crash-examples/bin/clang22-asan/libcrashlib.so", "e2b62340b6f3bbfc4f18538534f3fcc9810386a6", 0x1000, 0x1595,
		[]uint64{0x2535, 0x254c}},
}

// generator writes the log of one process: markup that defines its modules again now and then, at addresses that overlap those of
// all others, stacks of several formats, colors, dumps of registers, and text.
type generator struct {
	rng    *rand.Rand
	pid    int
	prefix string
	bases  []uint64 // of the modules; none before they are mapped
}

func newGenerator(pid int, prefix string) *generator {
	return &generator{rng: rand.New(rand.NewPCG(uint64(pid), 1)), pid: pid, prefix: prefix}
}

// log returns so many lines, each with its end. The last one is text.
func (g *generator) log(n int) (lines []string) {
	var all []string
	for len(all) < n-1 {
		all = append(all, g.piece()...)
	}
	all = append(all[:n-1], "the end")
	for i, line := range all {
		end := "\n"
		if g.pid%5 == 0 && i%7 == 0 {
			end = "\r\n"
		}
		lines = append(lines, g.prefix+line+end)
	}
	return lines
}

// piece returns a few lines that belong together.
func (g *generator) piece() (lines []string) {
	frame := func() (m int, off uint64) {
		m = g.rng.IntN(len(sampleModules))
		return m, sampleModules[m].offsets[g.rng.IntN(len(sampleModules[m].offsets))]
	}
	switch kind := g.rng.IntN(40); {
	case kind == 0 || g.bases == nil:
		return g.context()
	case kind < 6:
		for n := range 3 + g.rng.IntN(6) {
			m, off := frame()
			lines = append(lines, fmt.Sprintf("{{{bt:%d:%#x%s}}}", n, g.bases[m]+off, []string{"", ":pc", ":ra"}[g.rng.IntN(3)]))
		}
	case kind < 10:
		for n := range 3 + g.rng.IntN(6) {
			m, off := frame()
			lines = append(lines, fmt.Sprintf("    #%d %#x  (%s+%#x) (BuildId: %s)", n, g.bases[m]+off, sampleModules[m].path, off, sampleModules[m].buildID))
		}
		lines = append(lines, "")
	case kind == 10:
		_, off := frame()
		lines = []string{"{{{hexdict:RIP: " + fmt.Sprintf("%#x", g.bases[0]+off) + " RSP: 0x7ffe0000 ", "  RBX: 0x0 R15: 0xffffffff}}}"}
	case kind == 11 && g.pid%8 == 3:
		lines = []string{fmt.Sprintf("==%d==ERROR: AddressSanitizer: SEGV on unknown address", g.pid)}
	case kind == 12:
		lines = []string{"\x1b[31mred", "still red\x1b[0m plain"}
	default:
		for range 1 + g.rng.IntN(6) {
			lines = append(lines, fmt.Sprintf("line %d of process %d %s", g.rng.Uint32(), g.pid, strings.Repeat("words ", g.rng.IntN(20))))
		}
	}
	return lines
}

// context returns markup that defines the modules, after a reset or, as of a library that is loaded later, without one.
func (g *generator) context() (lines []string) {
	if g.bases == nil || g.rng.IntN(4) > 0 {
		lines = append(lines, "{{{reset}}}")
	}
	base := 0x550000000000 + uint64(g.rng.IntN(64))<<12
	g.bases = nil
	for id, m := range sampleModules {
		g.bases = append(g.bases, base)
		lines = append(lines, fmt.Sprintf("{{{module:%d:%s:elf:%s}}}", id, m.path, m.buildID),
			fmt.Sprintf("{{{mmap:%#x:%#x:load:%d:r:0x0}}}", base, m.rel, id),
			fmt.Sprintf("{{{mmap:%#x:%#x:load:%d:rx:%#x}}}", base+m.rel, m.size, id, m.rel))
		base += m.rel + m.size + 0x200000
	}
	return lines
}

// interleave mixes logs at random, each in its order. It calls each with the number of the log.
func interleave(rng *rand.Rand, logs [][]string, each func(log int, line string)) {
	left := make([]int, 0, len(logs))
	next := make([]int, len(logs))
	for i := range logs {
		left = append(left, i)
	}
	for len(left) > 0 {
		k := rng.IntN(len(left))
		i := left[k]
		for range 1 + rng.IntN(3) { // a process often writes several lines in a row
			if next[i] < len(logs[i]) {
				each(i, logs[i][next[i]])
				next[i]++
			}
		}
		if next[i] == len(logs[i]) {
			left[k] = left[len(left)-1]
			left = left[:len(left)-1]
		}
	}
}
