package tree

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
)

// summarize writes the line at the end, and one for the files that are no logs.
func (r *run) summarize() {
	c := &r.report.counts
	if r.opt.Quiet {
		return
	}
	where := r.opt.HTML
	if where == "" {
		where = r.opt.Report
	}
	r.diag.printf("%s, %d with stacks, %d of %s named: %s", count(c.logs, "log"), c.withFrames, c.frames.Frames-c.frames.Unnamed(),
		count(c.frames.Frames, "frame"), where)
	var kinds []string
	if n := int(r.kinds.binaries.Load()); n > 0 {
		kinds = append(kinds, count(n, "binary file"))
	}
	if n := int(r.kinds.sources.Load()); n > 0 {
		kinds = append(kinds, count(n, "file")+" of source code or symbols")
	}
	if len(kinds) > 0 && !r.opt.Verbose {
		r.diag.printf("not read: %v", r.named(&symsrc.AvoidableError{Option: "tree.Verbose", Err: fmt.Errorf("%s", strings.Join(kinds, ", "))}))
	}
}

// count returns a number of things.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// link returns the path of what is written for a log, relative to the page.
func (r *run) link(log string) string {
	file := filepath.Join(r.opt.Output, filepath.FromSlash(r.names[log]))
	from, err := filepath.Abs(filepath.Dir(r.opt.HTML))
	if err != nil {
		return ""
	}
	to, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	if file, err = filepath.Rel(from, to); err != nil {
		return ""
	}
	return (&url.URL{Path: filepath.ToSlash(file)}).String()
}

// whole returns the whole path of a directory, as the title of a page that may be read elsewhere.
func whole(dir string) string {
	if at, err := filepath.Abs(dir); err == nil {
		return at
	}
	return dir
}
