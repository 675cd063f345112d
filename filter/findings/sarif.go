package findings

import (
	"cmp"
	"io"
	"path"
	"strings"

	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// The objects of SARIF 2.1.0, https://docs.oasis-open.org/sarif/sarif/v2.1.0/, as far as they are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool                `json:"tool"`
		Bases   map[string]sarifArtifact `json:"originalUriBaseIds,omitempty"`
		Results []sarifResult            `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string            `json:"ruleId"`
		RuleIndex int               `json:"ruleIndex"`
		Level     string            `json:"level"`
		Message   sarifText         `json:"message"`
		Locations []sarifLocation   `json:"locations,omitempty"`
		Related   []sarifLocation   `json:"relatedLocations,omitempty"`
		Stacks    []sarifStack      `json:"stacks,omitempty"`
		Prints    map[string]string `json:"partialFingerprints"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifStack struct {
		Message sarifText    `json:"message"`
		Frames  []sarifFrame `json:"frames"`
	}
	sarifFrame struct {
		Location sarifLocation `json:"location"`
		Module   string        `json:"module,omitempty"`
	}
	sarifLocation struct {
		ID       int            `json:"id,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifText     `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

// sarifSchema is where the schema is, and sarifRoot the name of the repository's directory.
const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifRoot   = "SRCROOT"
)

// WriteSARIF writes findings as SARIF 2.1.0. Paths below root, the repository, are relative to it.
func WriteSARIF(w io.Writer, all []*Finding, root string) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "qss-filter", Rules: []sarifRule{}}}, Results: []sarifResult{}}
	if root != "" {
		run.Bases = map[string]sarifArtifact{sarifRoot: {URI: strings.TrimSuffix(uri(root), "/") + "/"}}
	}
	rules := map[string]int{}
	for _, f := range all {
		i, ok := rules[f.Rule]
		if !ok {
			i = len(run.Tool.Driver.Rules)
			rules[f.Rule] = i
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Rule})
		}
		result := f.sarif(root)
		result.RuleIndex = i
		run.Results = append(run.Results, result)
	}
	return writeJSON(w, sarifLog{sarifSchema, "2.1.0", []sarifRun{run}})
}

// sarif returns a finding as a result.
func (f *Finding) sarif(root string) sarifResult {
	r := sarifResult{RuleID: f.Rule, Level: "error", Message: sarifText{cmp.Or(f.Message, f.about.Text, f.Rule)},
		Prints: map[string]string{"stack/v1": f.Fingerprint()}}
	if f.Place != nil {
		r.Locations = []sarifLocation{location(f.Place, root)}
	}
	for _, s := range f.Stacks {
		stack := sarifStack{Message: sarifText{s.Kind}, Frames: []sarifFrame{}}
		for i := range s.Frames {
			fr := &s.Frames[i]
			stack.Frames = append(stack.Frames, sarifFrame{location(&fr.Frame, root), module(fr.Module)})
		}
		r.Stacks = append(r.Stacks, stack)
		if s.place != nil && s.place != f.Place && s.Kind != triage.Fault {
			at := location(s.place, root)
			at.ID, at.Message = len(r.Related)+1, &sarifText{s.Kind}
			r.Related = append(r.Related, at)
		}
	}
	return r
}

// module returns the name of a binary.
func module(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(file)
}

// location returns where a function is.
func location(fr *symsrc.Frame, root string) (l sarifLocation) {
	if fr.Func != "" {
		l.Logical = []sarifLogical{{symsrc.Visible(fr.Func), "function"}}
	}
	if fr.File == "" {
		return l
	}
	file, below := Relative(root, fr.File)
	l.Physical = &sarifPhysical{Artifact: sarifArtifact{URI: uri(file)}}
	if below {
		l.Physical.Artifact.Base = sarifRoot
	}
	if fr.Line > 0 {
		l.Physical.Region = &sarifRegion{fr.Line, max(fr.Column, 0)}
	}
	return l
}
