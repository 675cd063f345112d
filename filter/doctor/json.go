package doctor

import (
	"encoding/json"
	"strings"

	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
	"qss-filter/symsrc/debuginfod"
)

// The report as JSON. Texts of the log are cut and cleaned as they are for a terminal.
type (
	reportJSON struct {
		Log        string             `json:"log"`
		Lines      int                `json:"lines"`
		Bytes      int64              `json:"bytes"`
		Frames     int                `json:"frames"`
		Named      int                `json:"named"`
		NamedInLog int                `json:"named_in_log"`
		FrameLines int                `json:"frame_lines"`
		Statements int                `json:"statements"`
		Outcomes   map[string]int     `json:"outcomes"` // of frames without a name
		Formats    []kindJSON         `json:"formats"`
		Prefixes   []kindJSON         `json:"prefixes"`
		Processes  []kindJSON         `json:"processes"`
		Faults     []string           `json:"faults"`
		Modules    []moduleJSON       `json:"modules"`
		Servers    []debuginfod.State `json:"servers"`
		Evidence   []entryJSON        `json:"evidence"`
		Nearly     []kindJSON         `json:"nearly"`
		Advice     []adviceJSON       `json:"advice"`
	}
	kindJSON struct {
		Name    string `json:"name"`
		Count   int    `json:"count"`
		Line    int    `json:"line"` // the first
		Example string `json:"example,omitempty"`
	}
	moduleJSON struct {
		Name    string      `json:"name"`
		Member  string      `json:"member,omitempty"`
		BuildID string      `json:"build_id"`
		Frames  int         `json:"frames"`
		Named   int         `json:"named"`
		Line    int         `json:"line"` // of the first frame without a name, or of the first frame
		Status  string      `json:"status"`
		Reason  string      `json:"reason,omitempty"`
		Found   string      `json:"found,omitempty"`
		Asked   []placeJSON `json:"asked"`
	}
	entryJSON struct {
		Module     string `json:"module"`
		Process    string `json:"process,omitempty"`
		Basis      string `json:"basis"`
		Agreements string `json:"agreements,omitempty"`
		Refuted    string `json:"refuted,omitempty"`
		Line       int    `json:"line,omitempty"` // that refutes
		Names      bool   `json:"names"`
	}
	placeJSON struct {
		Place  string `json:"place"`
		Result string `json:"result,omitempty"`
	}
	adviceJSON struct {
		What     string   `json:"what"`
		Modules  []string `json:"modules"`
		Text     []string `json:"text"`
		Commands []string `json:"commands"`
	}
)

// writeJSON writes the report as one line of JSON.
func (r *report) writeJSON() {
	s := r.survey
	j := reportJSON{Log: r.source(), Lines: s.lines, Bytes: s.bytes, Frames: s.all(), Named: s.named(), NamedInLog: s.of(resolve.InLog),
		FrameLines: s.framed, Statements: s.stated, Outcomes: map[string]int{}, Formats: s.formats.json(), Prefixes: s.prefixes.json(),
		Processes: s.processes.json(), Faults: append([]string{}, s.faults()...), Modules: []moduleJSON{}, Servers: append([]debuginfod.State{}, r.serverStates()...), Evidence: []entryJSON{}, Nearly: []kindJSON{}, Advice: []adviceJSON{}}
	for _, o := range resolve.Outcomes() {
		if n := s.of(o); n > 0 && !o.Named() {
			j.Outcomes[o.String()] = n
		}
	}
	for i := range r.modules {
		j.Modules = append(j.Modules, r.modules[i].json())
	}
	for _, e := range r.evidence {
		j.Evidence = append(j.Evidence, entryJSON{shown(e.Module.Name), shown(e.Process.Key), e.Basis, e.Agreements, e.Refuted, e.Line, e.Names})
	}
	for _, n := range r.near {
		j.Nearly = append(j.Nearly, kindJSON{n.what, n.n, n.line, n.example})
	}
	for _, a := range r.advice {
		j.Advice = append(j.Advice, a.json())
	}
	text, err := json.Marshal(j)
	if err != nil { // nothing in it can fail
		return
	}
	r.text.Write(append(symsrc.VisibleJSON(text), '\n'))
}

// json returns the things that were counted, the most frequent first.
func (t *tally) json() []kindJSON {
	list := []kindJSON{}
	for _, c := range t.ordered() {
		list = append(list, kindJSON{excerpt([]byte(c.name)), c.n, c.line, c.example})
	}
	return list
}

// json returns a module with the places that were searched.
func (m *examined) json() moduleJSON {
	j := moduleJSON{Name: m.Name, Member: m.Member, BuildID: m.BuildID.Text(), Frames: m.frames, Named: m.named, Line: m.line,
		Status: "ok", Found: m.used(), Asked: []placeJSON{}}
	if m.bad() {
		j.Status, j.Reason = m.status, cause(m)
	}
	for i, place := range m.files.Tried {
		p := placeJSON{Place: place}
		if i < len(m.files.Lacked) {
			p.Result = m.files.Lacked[i]
		}
		j.Asked = append(j.Asked, p)
	}
	return j
}

// json returns advice with its commands apart.
func (a *advice) json() adviceJSON {
	j := adviceJSON{What: a.what, Modules: append([]string{}, a.modules...), Text: []string{}, Commands: []string{}}
	for _, line := range a.lines {
		if command := strings.TrimLeft(line, " "); command != line {
			j.Commands = append(j.Commands, command)
		} else {
			j.Text = append(j.Text, line)
		}
	}
	return j
}
