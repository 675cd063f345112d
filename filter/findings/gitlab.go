package findings

import (
	"encoding/json"
	"io"
	"strconv"
)

// issue is an entry of a code quality report.
type issue struct {
	Description string        `json:"description"`
	CheckName   string        `json:"check_name"`
	Fingerprint string        `json:"fingerprint"`
	Severity    string        `json:"severity"`
	Location    issueLocation `json:"location"`
}

type issueLocation struct {
	Path  string     `json:"path"`
	Lines issueLines `json:"lines"`
}

type issueLines struct {
	Begin int `json:"begin"`
}

// WriteGitLab writes findings as a code quality report of GitLab, which shows them in merge requests. It has only those with a place, since
// an issue must have one. Paths below root, the repository, are relative to it.
func WriteGitLab(w io.Writer, all []*Finding, root string) error {
	issues := []issue{}
	prints := map[string]int{}
	for _, f := range all {
		if f.Place == nil {
			continue
		}
		path, _ := Relative(root, f.Place.File)
		print := f.Fingerprint()
		if prints[print]++; prints[print] > 1 { // GitLab wants each once
			print += "-" + strconv.Itoa(prints[print])
		}
		issues = append(issues, issue{f.Message, f.Rule, print, "critical", issueLocation{path, issueLines{f.Place.Line}}})
	}
	return writeJSON(w, issues)
}

// writeJSON writes a value as indented JSON.
func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
