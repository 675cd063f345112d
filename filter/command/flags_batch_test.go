package command

import (
	"flag"
	"io"
	"testing"

	"qss-filter/filter/batch"
)

func TestBatchFlags(t *testing.T) {
	var o batch.Options
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	batchFlags(fs, &o)
	err := fs.Parse([]string{"--input-dir", "a", "--output-dir", "b", "--mode", "rewrite", "--rewrite=replace", "--workers-symbol", "3",
		"--summary-json", "-", "--group", "--html", "p", "--benchmark", "--list-modules", "--check", "--json", "--report", "r", "--verbose"})
	if err != nil || o.Input != "a" || o.Output != "b" || o.Mode != batch.Rewrite || o.Form != batch.Replace || o.Jobs != 3 || o.SummaryJSON != "-" ||
		!o.Group || o.HTML != "p" || !o.Benchmark || !o.ListModules || !o.Check || !o.JSON || o.Report != "r" || !o.Verbose || !o.Asked() {
		t.Errorf("got %+v, error %v", o, err)
	}
	fs.SetOutput(io.Discard)
	for _, bad := range []string{"--jobs=0", "--jobs=x", "--mode=y", "--rewrite="} {
		if fs.Parse([]string{bad}) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
