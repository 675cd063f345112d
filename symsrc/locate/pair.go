package locate

import (
	"fmt"
	"strings"

	"qss-filter/symsrc"
)

// role is the purpose of looking at a place; a failure is reported accordingly.
type role uint8

const (
	quiet   role = iota // a guess: its failure is not reported
	asElf               // the module's own path
	asDebug             // the place of its debug file
)

// failure is an existing file that cannot be used.
type failure struct {
	*fileError
	path string
}

// pair is what a search has found so far.
type pair struct {
	elf   *found // with its code
	debug *found // with .debug_info, other than elf
	spare *found // with .symtab only, other than elf

	elfFailure, debugFailure *failure

	linked     bool // the places of .gnu_debuglink have been searched
	unverified bool
	assumed    bool
	byPath     bool // while files are looked for at the log's path
	tried      []string
	lacked     []string // what each lacked, "" for nothing
}

// try records a place that was searched, and what it lacked.
func (v *pair) try(place string, err error) {
	v.tried = append(v.tried, place)
	lacked := ""
	if err != nil {
		lacked = classify(err).lack()
	}
	v.lacked = append(v.lacked, lacked)
}

// lack returns what a file lacks, in few words.
func (e *fileError) lack() string {
	switch {
	case e.status == symsrc.NotFound && e.note == symsrc.NothingFound:
		return "no such file"
	case e.status == symsrc.MismatchBuildID:
		return e.Error()
	}
	return e.note
}

// complete reports whether nothing better can be found.
func (v *pair) complete() bool {
	return v.elf != nil && (v.elf.rank == debugInfo || v.debug != nil)
}

// any returns a file of the pair, or nil.
func (v *pair) any() *found {
	for _, f := range [...]*found{v.elf, v.debug, v.spare} {
		if f != nil {
			return f
		}
	}
	return nil
}

// take adds a verified file.
func (v *pair) take(f *found) {
	f.byPath = v.byPath
	switch {
	case v.elf == nil && !f.debugOnly:
		v.elf = f
	case f.rank == debugInfo && v.debug == nil:
		v.debug = f
	case v.spare == nil || f.rank > v.spare.rank:
		v.spare = f
	}
}

// fail keeps the first failure of each kind. A missing debug file is not a failure.
func (v *pair) fail(as role, path string, err *fileError) {
	switch {
	case err.status == symsrc.NotFound:
	case as == asElf && v.elfFailure == nil:
		v.elfFailure = &failure{err, path}
	case as == asDebug && v.debugFailure == nil:
		v.debugFailure = &failure{err, path}
	}
}

// ambiguous drops all files, because a name stands for n different ones.
func (v *pair) ambiguous(n int, name string) {
	v.elf, v.debug, v.spare = nil, nil, nil
	note := fmt.Sprintf("%d different files named %s", n, name)
	v.elfFailure = &failure{&fileError{status: symsrc.UnknownError, note: note}, ""}
}

// look identifies the file at p, verifies it and adds it. crc, if not nil, is the checksum in a .gnu_debuglink.
func (s *search) look(p place, as role, crc *uint32) {
	v := &s.verdict
	p.dirs = &s.l.dirs
	f, err := s.probe(p)
	if err == nil {
		err = s.verify(f, crc)
	}
	v.try(p.String(), err)
	if err == nil && f.rank != debugInfo {
		v.lacked[len(v.lacked)-1] = "no .debug_info"
	}
	if err != nil {
		v.fail(as, p.String(), classify(err))
		return
	}
	v.take(f)
}

// verify compares build IDs. If one side has none, only the checksum of a .gnu_debuglink makes two files a pair; the
// first file of a search without a build ID cannot be compared. The checksum of a file with the right build ID is not
// computed: the file may have gigabytes, and the checksum differs if a tool has compressed the file.
func (s *search) verify(f *found, crc *uint32) error {
	switch {
	case s.want != "" && s.want.Fits(f.id):
		s.want = f.id
		return nil
	case s.want != "" && (f.id != "" || crc == nil):
		return s.mismatch(f.name(), f.id)
	case crc == nil && !s.isArch(f.arch):
		return &fileError{symsrc.MismatchBuildID, "another architecture",
			fmt.Errorf("the log is about a Mach-O file (%s), and %s is another one", s.arch, f.name())}
	case crc == nil:
		return nil
	}
	sum, _, err := checksum(s.ctx, f.openPath(), f.place.root == "")
	if err == nil && sum != *crc {
		err = &fileError{symsrc.MismatchBuildID, "",
			fmt.Errorf("checksum differs: .gnu_debuglink has %08x, %s has %08x", *crc, f.path, sum)}
	}
	return err
}

// mismatch returns the error of a file with another build ID, "" for none.
func (s *search) mismatch(path string, id symsrc.BuildID) *fileError {
	has := "none"
	if id != "" {
		has = id.String()
	}
	return &fileError{symsrc.MismatchBuildID, "",
		fmt.Errorf("build ID differs: %s has %s, %s has %s", s.wantOf, s.want, path, has)}
}

// differing records a file with the module's name and another build ID, which is a better reason than that there is no file.
func (s *search) differing() {
	for _, x := range [...]*index{s.l.objects, s.l.symbols.made()} {
		if x == nil || s.verdict.elfFailure != nil {
			continue
		}
		for _, e := range s.in.among(x, x.named(s.name)) {
			if !s.want.Fits(e.id) {
				s.verdict.fail(asElf, e.place().String(), s.mismatch(e.place().String(), e.id))
				break
			}
		}
	}
}

// files returns the result. first is where the module should have been.
func (v *pair) files(first string) *symsrc.Files {
	f := &symsrc.Files{Tried: v.tried, Lacked: v.lacked, Unverified: v.unverified && v.any() != nil, Assumed: v.assumed && v.any() != nil}
	for _, one := range [...]*found{v.elf, v.debug, v.spare} {
		f.ByPath = f.ByPath || one != nil && one.byPath
	}
	var details []string
	failed := func(e *failure, kind string) (symsrc.Status, string) {
		if e.err != nil {
			details = append(details, e.detail())
		}
		if e.status == symsrc.MismatchBuildID {
			return e.status, kind + " file mismatch"
		}
		return e.status, e.note
	}
	var elfNote, debugNote string
	switch {
	case v.elf != nil:
		f.Elf, f.ElfRange = v.elf.path, v.elf.part
	case v.elfFailure != nil:
		f.Elf = v.elfFailure.path
		f.ElfStatus, elfNote = failed(v.elfFailure, "elf")
	default:
		f.Elf, f.ElfStatus, elfNote = first, symsrc.NotFound, symsrc.NothingFound
	}
	switch {
	case v.debug != nil:
		f.Debug, f.DebugRange = v.debug.path, v.debug.part
	case v.elf != nil && v.elf.rank == debugInfo:
	case v.spare != nil && (v.elf == nil || v.spare.rank > v.elf.rank):
		f.Debug, f.DebugRange = v.spare.path, v.spare.part
		f.DebugStatus, debugNote = symsrc.Incomplete, "no .debug_info"
	case v.debugFailure != nil:
		f.DebugStatus, debugNote = failed(v.debugFailure, "debug")
	case v.elf != nil:
		f.DebugStatus, debugNote = symsrc.Incomplete, "no .debug_info"
	case f.ElfStatus == symsrc.NoReadPermission:
		f.DebugStatus = symsrc.UnknownError // the file that would name it cannot be read
	default:
		f.DebugStatus = symsrc.NotFound
	}
	if f.Note = elfNote; f.Note == "" {
		f.Note = debugNote
	}
	f.Detail = strings.Join(details, "; ")
	v.watch(f)
	return f
}

// detail returns the file and the cause.
func (e *failure) detail() string {
	msg := e.Error()
	if strings.Contains(msg, e.path) {
		return msg
	}
	return e.path + ": " + msg
}
