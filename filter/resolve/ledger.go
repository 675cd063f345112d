package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"qss-filter/symsrc"
)

// Entry is what the ledger of a process has of a file that no build ID verifies.
type Entry struct {
	Process *Process
	Module  symsrc.Module
	// Basis is why the file is taken for the one that ran, as far as nothing refutes it.
	Basis string
	// Agreements are how many places agree with the file, in words, "" for none.
	Agreements string
	// Refuted is what refutes the file, "" for nothing, and Line where the log has that.
	Refuted string
	Line    int
	// Names is set if the file names frames.
	Names bool
}

// agreementWords are the kinds of agreements, as doctor has one and several.
var agreementWords = [...][2]string{
	byCall:    {"call of the function of the next frame", "calls of the function of the next frame"},
	byCaller:  {"call from another module", "calls from other modules"},
	byName:    {"name in the log", "names in the log"},
	byPointer: {"call by way of a pointer", "calls by way of a pointer"},
}

// Ledger returns what the processes' stacks say of files that no build ID verifies, by module and process.
func (s *Proofs) Ledger() (entries []Entry) {
	for _, p := range s.processes.All() {
		if p.proofs.epoch != s.epoch {
			continue
		}
		for m, proof := range p.proofs.of {
			if m.BuildID != "" || m.Files == nil || !m.Files.Unverified || proof.generation != m.generation {
				continue
			}
			entries = append(entries, Entry{Process: p, Module: m.Module, Basis: s.basis(m), Agreements: proof.agreed(), Refuted: proof.refuted, Line: proof.line, Names: proof.holds(m)})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Module.Name, b.Module.Name), cmp.Compare(a.Process.Key, b.Process.Key))
	})
	return entries
}

// basis returns why the file of a module is taken for the one that ran.
func (s *Proofs) basis(m *Module) string {
	switch {
	case m.fixed:
		return "a program of the command had it mapped at fixed addresses, and it needs proof"
	case !m.Files.Assumed:
		return "you point at it"
	case !m.assumed():
		return "a program of the command had it mapped"
	}
	return "it lies at the path of the log, and needs proof"
}

// agreed returns how many places of each kind agree with the file, in words.
func (p *proof) agreed() string {
	var counts [len(agreementWords)]int
	for a := range p.agreements {
		counts[a.kind]++
	}
	var parts []string
	for kind, n := range counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, agreementWords[kind][min(n, 2)-1]))
		}
	}
	return strings.Join(parts, ", ")
}
