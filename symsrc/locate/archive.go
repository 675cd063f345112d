package locate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"qss-filter/symsrc"
)

// inArchive is a module in an archive, as the log names it: base.apk!libfoo.so (offset 0x1b70000).
type inArchive struct {
	archive moduleName // its path is "" if the module is not in an archive
	member  string     // path in the archive or its last component; "" if only the offset is known
	offset  int64      // of the module in the archive, or of a mapping of it if there is no member's name; 0 if unknown
}

// archiveSuffixes are the suffixes after which "!" comes before a member's name.
var archiveSuffixes = [...]string{".apk", ".aab", ".aar", ".zip", ".jar", ".apks", ".xapk"}

// splitModule returns the name to look for, and the archive if there is one.
func splitModule(m symsrc.Module) (moduleName, inArchive) {
	archive, member := m.Name, m.Member
	if member == "" {
		if k := strings.LastIndexByte(m.Name, '!'); k > 0 && k+1 < len(m.Name) {
			if before, behind := m.Name[:k], m.Name[k+1:]; isArchiveName(before) {
				archive, member = before, behind
			} else if path.Base(before) == behind {
				m.Name, archive = before, ""
			}
		}
	}
	a := inArchive{parseName(archive), strings.TrimLeft(member, "/"), int64(min(m.InArchive, 1<<62))}
	switch {
	case a.archive.path == "", member == "" && a.offset == 0, len(member) > maxMemberName,
		// `libc.so!libc.so (offset 0x1000)`: the offset of a mapping, not of a file in an archive.
		path.Base(member) == a.archive.base:
		return parseName(m.Name), inArchive{}
	case member == "":
		return moduleName{deleted: a.archive.deleted}, a
	}
	n := parseName(a.member)
	n.deleted = n.deleted || a.archive.deleted
	return n, a
}

// isArchiveName reports whether files of this name are archives that programs load libraries from.
func isArchiveName(name string) bool {
	for _, suffix := range archiveSuffixes {
		if len(name) > len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix) {
			return true
		}
	}
	return false
}

// String returns the module as logs write it.
func (a *inArchive) String() string {
	switch {
	case a.member != "":
		return a.archive.path + "!" + a.member
	case a.offset > 0:
		return fmt.Sprintf("%s (offset %#x)", a.archive.path, a.offset)
	}
	return a.archive.path
}

// pageSize is the least size of a page of memory: a mapping begins at one, and so does a file that is mapped.
const pageSize = 4 << 10

// is reports whether a member may be the module.
func (a *inArchive) is(m *member) bool {
	switch {
	case a.offset > 0 && m.data == a.offset:
		return true
	case a.member == "": // the offset of a later mapping of the module
		at := a.offset - m.data
		return m.packing == stored && at > 0 && at < m.size && at%pageSize == 0
	}
	return m.name == a.member || strings.HasSuffix(m.name, "/"+a.member)
}

// choose returns the members that may be the module: the one at its offset, otherwise those of its name.
func (a *inArchive) choose(list []member) []*member {
	var chosen []*member
	for i := range list {
		m := &list[i]
		if a.offset > 0 && m.data == a.offset && m.packing == stored {
			return []*member{m}
		}
		if a.is(m) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// among returns the entries in an archive of the archive's name, and of these the ones at the
// offset; all entries if there are none.
func (a *inArchive) among(x *index, list []*entry) []*entry {
	if a.archive.path == "" {
		return list
	}
	var same, exact []*entry
	for i := range x.entries {
		e := &x.entries[i]
		if e.member == nil || path.Base(e.path) != a.archive.base || !a.is(e.member) {
			continue
		}
		same = append(same, e)
		if a.offset > 0 && e.member.data == a.offset {
			exact = append(exact, e)
		}
	}
	switch {
	case len(exact) > 0:
		return exact
	case len(same) > 0:
		return same
	}
	return list
}

// members returns the places in the file at p that may be the module. In a file that is not an archive, that is the offset. The
// error is a *fileError.
func (s *search) members(p place) ([]place, error) {
	_, file, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.close()
	_, err = identify(file, file.Size)
	if err == nil {
		return []place{p}, nil // the offset is that of a mapping of the file
	}
	switch fe := classify(err); {
	case fe.isZip():
		list, err := zipMembers(file, file.Size)
		if err != nil {
			return nil, &fileError{symsrc.Corrupted, "corrupted archive", fmt.Errorf("%s: %w", p, err)}
		}
		return s.placesOf(p, list)
	case fe.status == symsrc.ReadError, s.in.offset == 0 || s.in.offset >= file.Size:
		return nil, fe
	}
	p.member = &member{name: fmt.Sprintf("%#x", s.in.offset), header: -1, data: s.in.offset, size: file.Size - s.in.offset}
	return []place{p}, nil
}

// placesOf returns the places of the members that may be the module.
func (s *search) placesOf(p place, list []member) ([]place, error) {
	var places []place
	for _, m := range s.in.choose(list) {
		at := p
		at.member = m
		places = append(places, at)
	}
	if len(places) == 0 {
		return nil, &fileError{symsrc.NotFound, "not in the archive", fmt.Errorf("%s has no %s", p, s.in.String())}
	}
	return places[:min(len(places), maxSame)], nil
}

// archiveAt looks for the module in the archive at p, by the wanted build ID if there is one. Without a build ID,
// several different members of the name count as none.
func (s *search) archiveAt(p place, as role) {
	v := &s.verdict
	places, err := s.members(p)
	if err != nil {
		v.try(p.String(), err)
		v.fail(as, p.String(), classify(err))
		return
	}
	if s.want == "" && len(places) > 1 {
		var list []*entry
		for _, at := range places {
			list = append(list, &entry{path: at.onHost(), member: at.member})
		}
		if n := s.different(list, nil); n > 1 {
			v.try(p.String(), nil)
			v.ambiguous(n, s.in.String())
			return
		}
	}
	for _, at := range places {
		if s.complete() {
			return
		}
		s.look(at, as, nil)
		if f := v.any(); s.want == "" && f != nil {
			return
		}
	}
}

// probe opens and identifies the file or archive member at p. A member is unpacked only if it may have the wanted build ID.
// The error is a *fileError.
func (s *search) probe(p place) (*found, error) {
	if p.member == nil {
		f, err := probe(p)
		fe, ok := errors.AsType[*fileError](err)
		switch {
		case ok && fe.isPacked() && isPackedName(p.path):
			return s.probeWhole(p, fe)
		case ok && fe.isFat():
			return s.probeFat(p)
		}
		return f, err
	}
	f, file, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.close()
	m := *p.member
	if err := m.check(file); err != nil {
		return nil, &fileError{symsrc.Corrupted, "corrupted archive", fmt.Errorf("%s: %w", p, err)}
	}
	f.part = symsrc.Range{Offset: m.data, Size: m.size, Member: m.title()}
	if m.packing != stored {
		return s.probePacked(f, file, &m)
	}
	if m.slice.Size > 0 {
		if !m.sliceFits() {
			return nil, &fileError{symsrc.Corrupted, "corrupted archive", fmt.Errorf("%s: %w", p, errZip)}
		}
		f.part.Offset, f.part.Size = m.data+m.slice.Offset, m.slice.Size
	}
	id, err := identify(io.NewSectionReader(file, f.part.Offset, f.part.Size), f.part.Size)
	if err != nil {
		return nil, err
	}
	f.ident = *id
	return f, nil
}

// probeWhole is probe for a compressed file, of which packed says so.
func (s *search) probeWhole(p place, packed *fileError) (*found, error) {
	f, file, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.close()
	m := compressed(p.path, file.Size)
	f.place.member, f.part = &m, symsrc.Range{Member: m.name}
	unpacked, err := s.probePacked(f, file, &m)
	if fe, ok := errors.AsType[*fileError](err); ok && fe.status != symsrc.MismatchBuildID {
		return nil, &fileError{packed.status, packed.note, err}
	}
	return unpacked, err
}

// check reports whether the member is still where it was when the archive was listed.
func (m *member) check(file *regularFile) error {
	if m.header < 0 { // no header
		return nil
	}
	was := m.data
	if err := m.locate(file, file.Size); err != nil {
		return err
	}
	name := make([]byte, len(m.name)+1)
	n, _ := file.ReadAt(name, m.header+zipLocalSize)
	if m.data != was || !strings.HasPrefix(strings.TrimPrefix(string(name[:n]), "/"), m.name) {
		return errZip
	}
	return nil
}

// probePacked unpacks a member and identifies it, unless its beginning shows that it is not the wanted one.
func (s *search) probePacked(f *found, file *regularFile, m *member) (*found, error) {
	id, err := identifyBeginning(&budgetReader{file, maxArchiveRead}, m)
	if err != nil && !classify(err).isFat() {
		return nil, err
	}
	if err != nil { // which of its architectures has the build ID shows when it is unpacked
		id = &ident{}
	}
	if s.want != "" && id.id != "" && !s.want.Fits(id.id) {
		f.ident = *id
		return f, nil // for the comparison that follows
	}
	for again := false; ; again = true {
		to, err := s.l.unpack(s.ctx, file, f.path, m)
		if err != nil {
			return nil, err
		}
		unpacked, err := s.probe(place{path: to})
		if err == nil && unpacked.part.Size > 0 && (s.want == "" || s.want.Fits(unpacked.id)) {
			f.ident, f.path, f.part = unpacked.ident, to, unpacked.part
			return f, nil
		}
		if err == nil && (unpacked.id == id.id || id.id == "") {
			f.ident, f.path, f.part = unpacked.ident, to, symsrc.Range{}
			return f, nil
		}
		os.Remove(to) // it was changed
		if again {
			return nil, cmp.Or(err, error(corrupted("%s: the unpacked file has another build ID", f.name())))
		}
	}
}
