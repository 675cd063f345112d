package mappings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Profile has what an OpenTelemetry profile in JSON says of the addresses in it.
type Profile struct {
	mapped []placed
	named  map[location]bool
}

// placed is a mapping of a profile. It is of no file if its module is empty.
type placed struct {
	module            symsrc.Module
	start, last, file uint64
}

// location is an address in the mapping of a number.
type location struct{ mapping, addr uint64 }

// At returns the module that an address in the mapping of a number is of, and its place there. A mapping that begins at 0 may be one of a whole
// file: then the address may be one of the file's own address space. ok is false if the profile does not say, or has functions there already.
func (p *Profile) At(mapping, addr uint64) (m symsrc.Module, offset uint64, space symsrc.Space, ok bool) {
	if p == nil || mapping >= uint64(len(p.mapped)) || p.named[location{mapping, addr}] {
		return m, 0, 0, false
	}
	at := &p.mapped[mapping]
	if at.module.BuildID == "" || addr < at.start || addr > at.last {
		return m, 0, 0, false
	}
	if at.start == 0 && at.file == 0 {
		return at.module, addr, symsrc.InFileOrLinked, true
	}
	return at.module, addr - at.start + at.file, symsrc.InFile, true
}

// The words of a profile in JSON.
var (
	mappingWord     = []byte(`"mappingIndex":`)
	dictionaryOpens = []byte(`"dictionary":`)
	tableOpens      = []byte(`"mappingTable":`)
	tableWords      = [...]string{"mappingTable", "locationTable", "functionTable", "linkTable", "stringTable", "attributeTable", "stackTable", "locationIndices",
		"attributeUnits"}
)

// WholeProfile returns what a profile says that is a JSON object on one line. ok is false for any other line.
func WholeProfile(line []byte) (p *Profile, ok bool) {
	if !bytes.Contains(line, mappingWord) {
		return nil, false
	}
	var data profilesData
	if json.Unmarshal(line, &data) != nil {
		return nil, false
	}
	return data.profile(), true
}

// ProfileText is the text of the tables of a profile on many lines. Its zero value is before them.
type ProfileText struct {
	text   []byte
	indent int // of the line that opens them, which those of the tables exceed
	within bool
}

// OpensProfile reports whether the tables of a profile may begin with a line, by its key.
func OpensProfile(line []byte) bool {
	line = bytes.TrimRight(scan.TrimLeft(line), " \t\r\n")
	return bytes.HasPrefix(line, dictionaryOpens) && bytes.HasSuffix(line, []byte("{")) || bytes.HasPrefix(line, tableOpens) && bytes.HasSuffix(line, []byte("["))
}

// Open begins with the line of which OpensProfile is true.
func (t *ProfileText) Open(line []byte) {
	t.text, t.indent, t.within = append(t.text[:0], '{'), scan.Spaces(line, 0), false
	if line = scan.TrimLeft(line); !bytes.HasPrefix(line, dictionaryOpens) {
		t.text, t.within = append(t.text, line...), true
		t.indent-- // the other tables stand beside this one
	}
}

// Line adds a line. ok is false if it is none of a profile's tables. p is what they say, after the last line of them.
func (t *ProfileText) Line(line []byte) (p *Profile, ok bool) {
	indent := scan.Spaces(line, 0)
	rest := bytes.TrimRight(line[indent:], " \t\r\n")
	switch {
	case indent > t.indent && !t.within:
		if t.within = opensTable(rest); !t.within {
			return nil, false
		}
	case indent <= t.indent:
		if !t.within || len(rest) == 0 || rest[0] != '}' {
			return nil, false
		}
		var data profileTables
		if json.Unmarshal(append(t.text, '}'), &data) != nil {
			return nil, false
		}
		return (&profilesData{Dictionary: data}).profile(), true
	}
	t.text = append(append(t.text, rest...), '\n')
	return nil, true
}

// opensTable reports whether a line opens a table of a profile.
func opensTable(line []byte) bool {
	key, _, ok := bytes.Cut(bytes.TrimPrefix(line, []byte(`"`)), []byte(`": [`))
	return ok && slices.Contains(tableWords[:], string(key))
}

// profilesData is ProfilesData of OpenTelemetry in JSON (opentelemetry-proto's profiles.proto), of any version: the tables were members of each
// profile, then of the whole, and are now those of its dictionary.
type profilesData struct {
	profileTables
	Dictionary       profileTables `json:"dictionary"`
	ResourceProfiles []struct {
		ScopeProfiles []struct {
			Profiles []struct {
				profileTables
				Profile profileTables `json:"profile"` // of a ProfileContainer, in v1experimental
			} `json:"profiles"`
		} `json:"scopeProfiles"`
	} `json:"resourceProfiles"`
}

// profileTables are tables that others refer to by the numbers of their entries.
type profileTables struct {
	Mappings      []profileMapping  `json:"mappingTable"`
	Locations     []profileLocation `json:"locationTable"`
	OldMappings   []profileMapping  `json:"mapping"`
	OldLocations  []profileLocation `json:"location"`
	Strings       []string          `json:"stringTable"`
	AttributeList json.RawMessage   `json:"attributeTable"`
}

type profileMapping struct {
	Start      number   `json:"memoryStart"`
	Limit      number   `json:"memoryLimit"`
	File       number   `json:"fileOffset"`
	Name       number   `json:"filenameStrindex"`
	OldName    number   `json:"filename"`
	BuildID    number   `json:"buildId"`
	Attributes []number `json:"attributeIndices"`
}

type profileLocation struct {
	Mapping    number     `json:"mappingIndex"`
	Address    number     `json:"address"`
	Lines      []struct{} `json:"lines"`
	OldLines   []struct{} `json:"line"`
	Attributes []number   `json:"attributeIndices"`
}

// profileAttribute has its key as a text, or since version 1.8 as the number of one.
type profileAttribute struct {
	Key      string `json:"key"`
	KeyIndex number `json:"keyStrindex"`
	Value    struct {
		Text  string `json:"stringValue"`
		Index number `json:"stringValueStrindex"`
	} `json:"value"`
}

// number is an integer, as a text where it may have 64 bits.
type number uint64

// UnmarshalJSON reads it. One that is negative counts as one that nothing has.
func (n *number) UnmarshalJSON(b []byte) error {
	b = bytes.Trim(b, `"`)
	if string(b) == "null" {
		return nil
	}
	if bytes.HasPrefix(b, []byte("-")) {
		*n = 1<<64 - 1
		return nil
	}
	v, err := strconv.ParseUint(string(b), 10, 64)
	*n = number(v)
	return err
}

// The attributes of mappings and of locations that count (OpenTelemetry's semantic conventions). A build ID of the note has no other in its place:
// the hash of a file and Go's own ID do not say which symbols are its.
const (
	gnuKey       = "process.executable.build_id.gnu"
	frameTypeKey = "profile.frame.type"
)

// profile returns what all tables say together. A number that they disagree about stands for no mapping.
func (d *profilesData) profile() *Profile {
	p := &Profile{named: map[location]bool{}}
	p.add(&d.profileTables)
	p.add(&d.Dictionary)
	for _, r := range d.ResourceProfiles {
		for _, s := range r.ScopeProfiles {
			for i := range s.Profiles {
				p.add(&s.Profiles[i].profileTables)
				p.add(&s.Profiles[i].Profile)
			}
		}
	}
	return p
}

// add adds the tables of one profile.
func (p *Profile) add(t *profileTables) {
	var attributes []profileAttribute
	if json.Unmarshal(t.AttributeList, &attributes) != nil {
		attributes = nil
	}
	text := func(i number) string {
		if uint64(i) < uint64(len(t.Strings)) {
			return t.Strings[i]
		}
		return ""
	}
	attribute := func(indices []number, key string) string {
		for _, i := range indices {
			if uint64(i) >= uint64(len(attributes)) {
				continue
			}
			if a := &attributes[i]; a.Key == key || a.Key == "" && text(a.KeyIndex) == key {
				return cmp.Or(a.Value.Text, text(a.Value.Index))
			}
		}
		return ""
	}
	for i, m := range slices.Concat(t.Mappings, t.OldMappings) {
		at := placed{start: uint64(m.Start), file: uint64(m.File)}
		if id, ok := symsrc.ParseBuildID([]byte(attribute(m.Attributes, gnuKey))); ok {
			at.module.BuildID = id
		} else if id, ok := symsrc.ParseBuildID([]byte(text(m.BuildID))); ok {
			at.module.BuildID = id
		}
		at.module.Name = text(m.Name)
		if m.OldName > 0 {
			at.module.Name = text(m.OldName)
		}
		if at.last = uint64(m.Limit) - 1; m.Limit <= m.Start || at.last-at.start+at.file < at.file {
			at = placed{}
		}
		switch {
		case i >= len(p.mapped):
			p.mapped = append(p.mapped, at)
		case p.mapped[i] != at:
			p.mapped[i] = placed{}
		}
	}
	for _, l := range slices.Concat(t.Locations, t.OldLocations) {
		kind := attribute(l.Attributes, frameTypeKey)
		if len(l.Lines) > 0 || len(l.OldLines) > 0 || kind != "" && kind != "native" && kind != "kernel" && kind != "go" && kind != "rust" {
			p.named[location{uint64(l.Mapping), uint64(l.Address)}] = true
		}
	}
}
