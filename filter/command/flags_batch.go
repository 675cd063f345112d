package command

import (
	"flag"

	"qss-filter/filter/batch"
	"qss-filter/filter/child"
)

// childFlags adds the flag of a command after --.
func childFlags(fs *flag.FlagSet, o *child.Options) {
	o.Linger = child.DefaultLinger
	fs.Var((*lingerValue)(&o.Linger), "linger", "`TIME` of silence after which processes that a command behind -- has left with its output are not waited for: "+
		"their next write fails as into any pipe without a reader; forever waits until all have closed it")
}

// batchFlags adds the flags of a tree of logs, and of reports.
func batchFlags(fs *flag.FlagSet, o *batch.Options) {
	fs.StringVar(&o.Input, "input-dir", "", "`DIR` of logs, with all below it, to be read at once")
	fs.StringVar(&o.Output, "output-dir", "", "`DIR` for what the logs become, in the same tree")
	fs.BoolVar(&o.Follow, "follow", false, "follow symbolic links out of --input-dir, and to directories")
	choice(fs, &o.Mode, "mode", "`MODE`: stack-only (NAME.stack.txt), rewrite (NAME.rewrite)", "stack-only", "rewrite")
	choice(fs, &o.Form, "rewrite", "`FORM` of rewritten logs: append (functions below their frame), replace (in its place)",
		"append", "replace")
	fs.StringVar(&o.Report, "report", "", "`DIR` for frames.tsv, elf_list.tsv, failed_frames.tsv, expanded_frames.tsv, summary.json")
	fs.StringVar(&o.SummaryJSON, "summary-json", "", "`FILE` for the summary as JSON, - for standard output")
	fs.Var((*jobs)(&o.Jobs), "jobs", "`NUMBER` of logs to read at once, or auto: one per core")
	fs.Var((*jobs)(&o.Jobs), "workers-symbol", "`NUMBER`: the same as --jobs")
	fs.Var((*jobs)(&o.Jobs), "workers-rewrite", "`NUMBER`: the same as --jobs")
	fs.BoolVar(&o.Group, "group", false, "count stacks with the same functions: groups.tsv, and in summary.json")
	fs.StringVar(&o.HTML, "html", "", "`FILE` for a page of all stacks, grouped, to be searched")
	fs.BoolVar(&o.Benchmark, "benchmark", false, "tell at the end what the run took: time by stage, lines, look-ups, memory")
	fs.BoolVar(&o.Verbose, "verbose", false, "tell of each search for a module and what it found; in a tree, of each log")
	fs.BoolVar(&o.ListModules, "list-modules", false, "print the modules of the logs and their build IDs, and nothing else")
	fs.BoolVar(&o.Check, "check", false, "the file found, its build ID, and MISMATCH")
	fs.BoolVar(&o.JSON, "json", false, "print JSON")
}
