package command

import (
	"slices"

	"qss-filter/filter/command/cli"
)

// The modes in which other flags mean nothing, and what such flags need.
var (
	llvmStyle   = []string{"style=llvm", "filter-markup"}
	tree        = []string{"input-dir"}
	report      = []string{"input-dir", "report"}
	foreign     = []string{"from"}
	modulesOnly = []string{"list-modules"}
	programs    = []string{"llvm", "gnu"}
	behind      = []string{cli.CommandBehind}
)

// textFlags shape the lines that leave, or the names on them; in llvm's style they have llvm's shape, and in the files of a tree
// that of its mode.
var textFlags = []string{"frames", "context", "dedupe", "short-names", "path-map", "strip-prefix", "source-context", "hyperlink-format",
	"maps", "dump-context", "on-dumpfile", "pprof", "folded", "summary=always", "format=json"}

// streamRules say which flags of a filter go together.
func streamRules(fs *cli.Flags) {
	fs.Needs([]string{"format=json"}, "frames-only")
	fs.Needs([]string{"source-context"}, "source-root")
	fs.Needs(llvmStyle, "functions", "no-inlines", "skip-line-zero")
	fs.Needs(programs, "addr2line", "cross", "c")
	fs.Excludes([]string{"gnu"}, "llvm")
	fs.Excludes(llvmStyle, slices.Concat(textFlags, []string{"renumber", "adjust", "by", "lookahead", "strip-sgr", "explain",
		"report", "input-dir", "output-dir"}, programs)...)
}

// samplesBy are the flags that count samples.
var samplesBy = []string{"by=function", "by=address", "by=line", "by=module"}

// importRules say which flags of an input of another tool go together.
func importRules(fs *cli.Flags) {
	fs.Needs([]string{"write-counts"}, "in-place")
	fs.Excludes([]string{"offsets"}, samplesBy...)
}

// filterRules say it of those flags, too, that only the filter itself has.
func filterRules(fs *cli.Flags) {
	fs.Needs([]string{"output-dir", "list-modules"}, "input-dir")
	fs.Needs(tree, "follow", "output-dir", "mode", "jobs", "workers-symbol", "workers-rewrite", "list-modules")
	fs.Needs([]string{"mode=rewrite"}, "rewrite")
	fs.Needs(modulesOnly, "check", "json")
	fs.Needs(report, "group", "html", "summary-json")
	fs.Needs(foreign, append([]string{"from-kind", "from-threads", "offsets", "min-duration", "pid", "session", "write-counts"}, samplesBy...)...)
	importRules(fs)
	streamRules(fs)
	fs.Excludes(modulesOnly, "output-dir", "report", "mode", "group", "html", "summary-json")
	fs.Excludes(tree, slices.Concat(textFlags, []string{"from", "basenames", "relativenames"})...)
	fs.Needs(behind, "linger")
	fs.Excludes(behind, "input-dir", "from", "report", "pprof", "folded")
}
