package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"qss-filter/filter"
	"qss-filter/filter/findings"
	"qss-filter/filter/print"
)

// runners are the continuous integrations whose runners read annotations in the log of a step: what says that a step of theirs runs, and
// what the repository's directory is.
var runners = []struct {
	name, variable string
	root           string // a variable
	live           func(out io.Writer, root string) *findings.Commands
}{
	{"github", "GITHUB_ACTIONS", "GITHUB_WORKSPACE", findings.GitHub},
	{"azure", "TF_BUILD", "BUILD_SOURCESDIRECTORY", findings.Azure},
}

// repository returns the directory of the repository, to which paths are relative in findings: that of a continuous integration, otherwise
// the top of the source.
func repository() string {
	root := os.Getenv("CI_PROJECT_DIR")
	for _, r := range runners {
		root = cmp.Or(root, os.Getenv(r.root))
	}
	return cmp.Or(root, sourceRoot())
}

// annotations returns what writes annotations of that name, and for auto those that the environment asks for. It is nil for none.
func annotations(name string, out io.Writer) findings.Live {
	for _, r := range runners {
		if name == r.name || name == "auto" && strings.EqualFold(os.Getenv(r.variable), "true") {
			return r.live(out, cmp.Or(os.Getenv(r.root), repository()))
		}
	}
	return nil
}

// reportForms are the forms of a file of --report by the end of its name. Any other is a directory.
var reportForms = []struct {
	end   string
	write func(w io.Writer, all []*findings.Finding, root string) error
}{
	{".sarif", findings.WriteSARIF},
	{".sarif.json", findings.WriteSARIF},
	{".json", findings.WriteGitLab},
}

// isReportFile reports whether --report names a file of findings, not a directory.
func isReportFile(name string) bool { return path.Ext(name) == ".sarif" || path.Ext(name) == ".json" }

// found are the findings of a run, as annotations, in a file, or both.
type found struct {
	collector findings.Collector
	file      *os.File
}

// newFound returns findings that are written as annotations to out, and to a file unless report is "". It is nil if neither is wanted.
func newFound(annotate, report string, names print.Names, out io.Writer) (*found, error) {
	f := &found{collector: findings.Collector{Names: names, Live: annotations(annotate, out), Keep: report != ""}}
	if report != "" {
		var err error
		if f.file, err = os.Create(report); err != nil {
			return nil, fmt.Errorf("--report %w", err)
		}
	}
	if f.collector.Live == nil && f.file == nil {
		return nil, nil
	}
	return f, nil
}

// use makes a filter collect its findings.
func (f *found) use(o *filter.Options) {
	s := f.collector.Stream()
	o.Observe, o.Read = observers(o.Observe, s.Observe), readers(o.Read, s.Read)
}

// close writes the file.
func (f *found) close() error {
	if f.file == nil {
		return nil
	}
	all, dropped := f.collector.All()
	if dropped > 0 {
		warn(fmt.Sprintf("--report %s: %d findings more than fit", f.file.Name(), dropped))
	}
	for _, form := range reportForms {
		if strings.HasSuffix(f.file.Name(), form.end) {
			err := errors.Join(form.write(f.file, all, repository()), f.file.Close())
			if err != nil {
				return fmt.Errorf("--report %w", err)
			}
			return nil
		}
	}
	return f.file.Close()
}

// observers adds an observer to those of a filter.
func observers(before, more func(*print.Observation)) func(*print.Observation) {
	if before == nil {
		return more
	}
	return func(o *print.Observation) {
		before(o)
		more(o)
	}
}

// readers adds a reader of lines to those of a filter.
func readers(before, more func(first int, lines []byte)) func(first int, lines []byte) {
	if before == nil {
		return more
	}
	return func(first int, lines []byte) {
		before(first, lines)
		more(first, lines)
	}
}
