package resolve

import "qss-filter/symsrc"

// A log without build IDs may be of another machine, or of another build, and the file that this machine has at the log's path is then
// another one. Such a file names frames only if the process's stacks prove it: the machine code has calls at the places to which the
// frames return, and the calls are those of the functions that the next inner frames lie in. One contradiction refutes the file.

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
	top [symsrc.InText + 1]uint64
	// refuted is what contradicts the file, or "".
	refuted string
}

// proofs are those of a process, by module, and the stacks that were weighed already.
type proofs struct {
	of      map[*Module]*proof
	weighed map[uint64]bool
	epoch   int
}

// proven counts what all proofs hold. Beyond maxProven places all are dropped: epoch tells which those are.
type proven struct{ places, epoch int }

const (
	maxProven   = 1 << 16
	placeWeight = 96 // bytes
)

// room makes room for one more place.
func (r *Resolver) room() {
	if r.proven.places++; r.proven.places > maxProven {
		r.proven = proven{epoch: r.proven.epoch + 1}
	}
}

// proofOf returns the proof of a module's file in a process. Whatever is known of an earlier file at its path is dropped.
func (r *Resolver) proofOf(p *Process, m *Module) *proof {
	if p.proofs.epoch != r.proven.epoch {
		p.proofs = proofs{epoch: r.proven.epoch}
	}
	known := p.proofs.of[m]
	if known == nil || known.generation != m.generation {
		if p.proofs.of == nil {
			p.proofs.of = map[*Module]*proof{}
		}
		r.room()
		clear(p.proofs.weighed)
		known = &proof{generation: m.generation, agreements: map[agreement]bool{}, proven: map[place]bool{}}
		p.proofs.of[m] = known
	}
	return known
}

// Restart drops what stacks have proven: another program follows.
func (p *Process) Restart() { p.proofs = proofs{} }

// agree notes that a place agrees with the file.
func (r *Resolver) agree(p *proof, at place, kind agreementKind) {
	if a := (agreement{at, kind}); !p.agreements[a] {
		r.room()
		p.agreements[a] = true
	}
	if kind == byPointer {
		return
	}
	if at.from == nil {
		p.top[at.space] = max(p.top[at.space], at.off)
	}
	r.prove(p, at)
}

// prove notes that a place has the function that the file has there.
func (r *Resolver) prove(p *proof, at place) {
	if _, known := p.proven[at]; !known {
		r.room()
		p.proven[at] = true
	}
}

// holds reports whether the file is the one that ran.
func (p *proof) holds() bool { return p.refuted == "" && len(p.agreements) >= leastAgreements }

// names reports whether the file names a place.
func (p *proof) names(at place) bool {
	proven, known := p.proven[at]
	return p.holds() && (proven || !known && at.from == nil && at.off < p.top[at.space])
}

// Assumed reports whether the answer is from a file of this machine that the user has not pointed at.
func (r *Resolver) Assumed(a *Answer) bool {
	return a.Module != nil && a.Module.Files != nil && a.Module.Files.Assumed && !r.opt.Own
}

// Reasons for which a file's names are not used.
const (
	notVerified = "not verified: the log has no build ID"
	otherBuild  = "another build: "
)

// unproven returns the reason of a file that is not proven.
func (r *Resolver) unproven() string {
	if r.opt.Trust == "" {
		return notVerified
	}
	return notVerified + "; " + r.opt.Trust
}

// refusal is an answer, and why its names are not used.
type refusal struct {
	answer *Answer
	why    string
}

// admitted returns an answer for a frame of a process, without names if its file is assumed and not proven. from is the function that
// the frame's offset counts from, or nil.
func (r *Resolver) admitted(p *Process, a *Answer, from *symbol) *Answer {
	if !r.Assumed(a) {
		return a
	}
	proof, why, status := r.proofOf(p, a.Module), r.unproven(), symsrc.NotVerified
	switch {
	case proof.names(place{a.Offset + a.Back, a.Space, from}), proof.holds() && len(a.Frames) == 0:
		return a
	case proof.refuted != "":
		why, status = string(a.Module.appendName([]byte(otherBuild+proof.refuted+" in "))), symsrc.MismatchBuildID
	}
	key := refusal{a, why}
	refused := r.memo.refused[key]
	if refused == nil {
		other := *a
		other.Frames, other.Printed, other.Refused = nil, nil, why
		files := *a.Files()
		files.ElfStatus, files.DebugStatus, files.Note, files.Detail = status, status, why, ""
		other.files = &files
		refused = &other
		if r.memo.refused == nil || len(r.memo.refused) >= MemoLimit {
			r.memo.refused = map[refusal]*Answer{}
		}
		r.memo.refused[key] = refused
	}
	return refused
}
