package tree

import (
	"path"
	"path/filepath"
	"strings"
)

// packedSuffixes end the names of packed logs; what is written for them is not packed.
var packedSuffixes = []string{".gz", ".xz", ".zst", ".lz4"}

// reportFiles are the files of a report besides the tables, and the page that the program writes beside them.
var reportFiles = []string{"elf_list.tsv", "groups.tsv", "summary.json", "stacks.html"}

// nameOutputs returns the name below Output of what is written for each log. With Mirror it is that of the log, without the suffix of a
// packed one, unless that is the name of another log, of a directory, or of a file of the report.
func (o *Options) nameOutputs(logs []logFile) map[string]string {
	suffix := stackSuffix
	if o.Mode == Rewrite {
		suffix = rewriteSuffix
	}
	names := make(map[string]string, len(logs))
	if !o.Mirror {
		for i := range logs {
			names[logs[i].rel] = logs[i].rel + suffix
		}
		return names
	}
	taken := map[string]bool{}
	for _, name := range append([]string{o.HTML, o.SummaryJSON}, o.reportPaths()...) {
		if at, err := filepath.Rel(o.Output, name); err == nil && name != "" {
			taken[filepath.ToSlash(at)] = true
		}
	}
	for i := range logs {
		for dir := path.Dir(logs[i].rel); dir != "."; dir = path.Dir(dir) {
			taken[dir] = true
		}
	}
	if o.Mode == Rewrite {
		suffix = ""
	}
	take := func(rel, name string) bool {
		if names[rel] != "" || taken[name] {
			return false
		}
		names[rel], taken[name] = name, true
		return true
	}
	// A log whose name stays comes first.
	for i := range logs {
		if rel := logs[i].rel; plainName(rel) == rel {
			take(rel, rel+suffix)
		}
	}
	for i := range logs {
		rel := logs[i].rel
		for _, name := range []string{plainName(rel) + suffix, rel + suffix, rel + rewriteSuffix, rel + rewriteSuffix + rewriteSuffix} {
			take(rel, name)
		}
		if names[rel] == "" {
			names[rel] = rel + stackSuffix + rewriteSuffix
		}
	}
	return names
}

// reportPaths returns the paths of the files of the report.
func (o *Options) reportPaths() (paths []string) {
	for _, t := range tables {
		paths = append(paths, filepath.Join(o.Report, t.file))
	}
	for _, name := range reportFiles {
		paths = append(paths, filepath.Join(o.Report, name))
	}
	return paths
}

// plainName returns the path of a log without the suffix of a packed one.
func plainName(rel string) string {
	for _, suffix := range packedSuffixes {
		if base := path.Base(rel); len(base) > len(suffix) && strings.HasSuffix(strings.ToLower(base), suffix) {
			return rel[:len(rel)-len(suffix)]
		}
	}
	return rel
}
