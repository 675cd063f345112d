package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"qss-filter/symsrc"
)

// Whether the name of a file may be printed is decided here alone: by a ledger for each process and module, of what agrees with the file and
// what refutes it. A log without build IDs may be of another machine, or of another build, and the file may then be another one.
//
//	the file                                          its names are printed
//	has the build ID of the log                       always
//	is one that the user has pointed at               unless the log refutes it
//	was seen mapped by a program behind --            the same
//	came to the path of one that was seen so          never
//	is this machine's own, at the path of the log     if the process's stacks prove it, and nothing refutes it
//	was seen mapped there, at fixed addresses         for the places that the process's stacks prove, unless anything refutes it
//
// Stacks prove a file if the machine code has calls at the places to which the frames return, and the calls are those of the functions that
// the next inner frames lie in. One contradiction refutes it, for as long as the process runs.

// leastAgreements is how often a process must agree with a file before the file names any frame.
const leastAgreements = 2

// agreementKind is what agrees.
type agreementKind uint8

const (
	// byCall means that the call at the place is of the function that the next inner frame lies in.
	byCall agreementKind = iota
	// byCaller means that the call in the next outer frame, which is of another module, is of the function at the place.
	byCaller
	// byName means that the log has the name that the file has.
	byName
	// byPointer means that there is a call by way of a pointer, which may be of anything. That names nothing by itself.
	byPointer
)

// agreement is a place that agrees with the file.
type agreement struct {
	place
	kind agreementKind
}

// place is an address of a module as the log has it.
type place struct {
	off   uint64
	space symsrc.Space
	from  *symbol
}

// proof is what the stacks of a process say of a file.
type proof struct {
	// generation is that of the module's files.
	generation uint64
	// agreements are what agrees with the file, and proven the places whose function follows from that. It has false for places that
	// are not in its code.
	agreements map[agreement]bool
	proven     map[place]bool
	// top is the highest place that agrees. What was inserted into a file or taken out of it moves all that is above, and nothing
	// below: below top the file is the one that ran.
	top [symsrc.InScript + 1]uint64
	// refuted is what contradicts the file, or "", and line where the log has that.
	refuted string
	line    int
	// pairs are the frames that were weighed, each with the next inner one.
	pairs map[uint64]bool
}

// proofs are those of a process, by module, and the stacks that were weighed already.
type proofs struct {
	of      map[*Module]*proof
	weighed map[uint64]bool
	// named are the functions that the log names at addresses of the process, as a symbolized stack has them.
	named map[uint64]string
	epoch int
}

// Bounds of what all proofs hold: in places, and the length of a name.
const (
	maxProven   = 1 << 16
	placeWeight = 96 // bytes
	maxNamed    = 1 << 10
)

// Proofs weighs the stacks of processes against the files of this machine that the user has not pointed at.
type Proofs struct {
	answers   *answers
	processes *Processes
	// trust, insist, ran, replaced and refuted are those of Options.
	trust    func(module string) string
	insist   bool
	ran      func(path string) bool
	replaced func(path string) bool
	refuted  func(files *symsrc.Files, why string)
	// listing is Options.Listing.
	listing string
	// line is the line of the log that is looked at.
	line int
	// places is how many places all proofs hold. Beyond maxProven all are dropped: epoch tells which those are.
	places, epoch int
}

// room makes room for so many more places.
func (s *Proofs) room(places int) {
	if s.places += places; s.places > maxProven {
		s.places, s.epoch = 0, s.epoch+1
	}
}

// of returns the proof of a module's file in a process. Whatever is known of an earlier file at its path is dropped.
func (s *Proofs) of(p *Process, m *Module) *proof {
	s.renew(p)
	known := p.proofs.of[m]
	if known == nil || known.generation != m.generation {
		if p.proofs.of == nil {
			p.proofs.of = map[*Module]*proof{}
		}
		s.room(1)
		clear(p.proofs.weighed)
		known = &proof{generation: m.generation, agreements: map[agreement]bool{}, proven: map[place]bool{}}
		p.proofs.of[m] = known
	}
	return known
}

// renew drops the proofs of a process if all were dropped.
func (s *Proofs) renew(p *Process) {
	if p.proofs.epoch != s.epoch {
		p.proofs = proofs{epoch: s.epoch}
	}
}

// Restart drops what stacks have proven: another program follows.
func (p *Process) Restart() { p.proofs, p.refutedMaps, p.begins = proofs{}, nil, nil }

// agree notes that a place agrees with the file.
func (s *Proofs) agree(p *proof, at place, kind agreementKind) {
	if a := (agreement{at, kind}); !p.agreements[a] {
		s.room(1)
		p.agreements[a] = true
	}
	if kind == byPointer {
		return
	}
	if at.from == nil {
		p.top[at.space] = max(p.top[at.space], at.off)
	}
	s.prove(p, at)
}

// prove notes that a place has the function that the file has there.
func (s *Proofs) prove(p *proof, at place) {
	if _, known := p.proven[at]; !known {
		s.room(1)
		p.proven[at] = true
	}
}

// refute notes what contradicts the file of a module, if nothing has so far.
func (s *Proofs) refute(p *Process, m *Module, format string, args ...any) {
	of := s.of(p, m)
	if of.refuted != "" {
		return
	}
	of.refuted, of.line = symsrc.Visible(fmt.Sprintf(format, args...)), s.line
	m.refutations++
	if !m.assumed() && m.Files != nil && s.refuted != nil {
		s.refuted(m.Files, of.refuted)
	}
}

// holds reports whether the file of a module is the one that ran.
func (p *proof) holds(m *Module) bool {
	return p.refuted == "" && (!m.assumed() || p.count(m) >= leastAgreements)
}

// count returns how many places agree. At fixed addresses other programs may have calls by way of pointers, too.
func (p *proof) count(m *Module) int {
	n := len(p.agreements)
	if m.fixed {
		for a := range p.agreements {
			if a.kind == byPointer {
				n--
			}
		}
	}
	return n
}

// names reports whether the file of a module names a place.
func (p *proof) names(m *Module, at place) bool {
	proven, known := p.proven[at]
	return p.holds(m) && (proven || !known && !m.fixed && (!m.assumed() || at.from == nil && at.off < p.top[at.space]))
}

// Reasons for which a file's names are not used.
const (
	notVerified = "not verified: the log has no build ID"
	notFixed    = "not verified: another program may have code at that address"
	otherBuild  = "another build: "
)

// NotVerified returns the reason of a module whose file is not proven. trust, if it is not nil, says how a user has the file trusted.
func NotVerified(trust func(module string) string, module string) string {
	if trust == nil {
		return notVerified
	}
	return notVerified + "; " + trust(module)
}

// Refusal returns why the file of a module does not name the place of a return address in a process, or "" if it does.
func (s *Proofs) Refusal(p *Process, m *Module, off uint64) string {
	why, _ := s.refusal(p, m, place{off: off})
	return why
}

// refusal is the same for any place.
func (s *Proofs) refusal(p *Process, m *Module, at place) (why string, status symsrc.Status) {
	s.look(m)
	if m.assumed() && m.replaced == m.generation+1 {
		return string(m.appendName([]byte(otherBuild + "put there after its program had started: "))), symsrc.MismatchBuildID
	}
	switch proof := s.of(p, m); {
	case proof.names(m, at):
		return "", symsrc.OK
	case m.fixed:
		if s.listing == "" {
			return notFixed, symsrc.NotVerified
		}
		return notFixed + "; " + s.listing, symsrc.NotVerified
	case proof.refuted != "":
		return string(m.appendName([]byte(otherBuild + proof.refuted + " in "))), symsrc.MismatchBuildID
	}
	return NotVerified(s.trust, m.Name), symsrc.NotVerified
}

// look looks whether a program of the log that the filter has started was seen with the file of a module mapped, or with another one from its path, at
// most once for each piece of input.
func (s *Proofs) look(m *Module) {
	if s.ran == nil || !m.assumed() || m.looked == s.answers.memo.piece {
		return
	}
	m.looked = s.answers.memo.piece
	if !m.Files.Usable() {
		return
	}
	switch path := cmp.Or(m.Files.Elf, m.Files.Debug); {
	case s.ran(path):
		m.ran = m.generation + 1
	case s.replaced != nil && s.replaced(path):
		m.replaced = m.generation + 1
	}
}

// refusal is an answer, and why its names are not used.
type refusal struct {
	answer *Answer
	why    string
}

// admitted returns an answer for a frame of a process, without names if its file is refuted, or is assumed and not proven. from is the
// function that the frame's offset counts from, or nil.
func (s *Proofs) admitted(p *Process, a *Answer, from *symbol) *Answer {
	if !a.byPath() {
		return a
	}
	why, status := s.refusal(p, a.Module, place{a.Offset + a.Back, a.Space, from})
	if why == "" || len(a.Frames) == 0 && s.of(p, a.Module).holds(a.Module) {
		return a
	}
	insists := s.insist && len(a.Frames) > 0
	memo, key := s.answers.memo, refusal{a, why}
	refused := memo.refused[key]
	if refused == nil {
		if refused = a.refused(why, status); insists {
			refused = a.unverified()
		}
		if memo.refused == nil || len(memo.refused) >= memoLimit {
			memo.refused = map[refusal]*Answer{}
		}
		memo.refused[key] = refused
	}
	return refused
}

// unverified returns an answer whose names are marked as not verified.
func (a *Answer) unverified() *Answer {
	other := *a
	other.Frames, other.Printed = slices.Clone(a.Frames), nil
	for i := range other.Frames {
		other.Frames[i].Unverified = true
	}
	return &other
}

// refused returns an answer without its names, and why these are not used.
func (a *Answer) refused(why string, status symsrc.Status) *Answer {
	other, files := *a, *a.Files()
	other.Frames, other.Printed, other.Refused, other.files = nil, nil, why, &files
	files.ElfStatus, files.DebugStatus, files.Note, files.Detail = status, status, why, ""
	return &other
}
