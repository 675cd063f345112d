package command

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"qss-filter/filter/tree"
	"qss-filter/symsrc/addr2line"
	"qss-filter/symsrc/cache"
	"qss-filter/symsrc/chain"
)

func TestSymbolFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		good func(*chain.Options) bool
	}{
		{"", func(o *chain.Options) bool { return o.Cache.Max == 0 && !o.Cache.Off && o.Servers.Wait == 0 }},
		{"--cache-dir /d --no-cache", func(o *chain.Options) bool { return o.Cache.Dir == "/d" && o.Cache.Off }},
		{"--cache-db=/d --cache-max=1G", func(o *chain.Options) bool { return o.Cache.Dir == "/d" && o.Cache.Max == 1<<30 }},
		{"--cache-max=32M", func(o *chain.Options) bool { return o.Cache.Max == 32<<20 }},
		{"--cache-max=31M", nil}, {"--cache-max=1", nil}, {"--cache-max=0", nil},
		{"--memory=2M", func(o *chain.Options) bool { return o.Memory == 2<<20 }}, {"--memory=1", nil},
		{"--debuginfod-url http://f --debuginfod-url=http://g", func(o *chain.Options) bool { return slices.Equal(o.Servers.URLs, []string{"http://f", "http://g"}) }},
		{"--debuginfod-url ftp://f", nil},
		{"--no-debuginfod", func(o *chain.Options) bool { return o.Servers.Off }},
		{"--no-debuginfod --debuginfod", func(o *chain.Options) bool { return !o.Servers.Off }}, {"--debuginfod=x", nil},
		{"--debuginfod-timeout 1m", func(o *chain.Options) bool { return o.Servers.Wait == time.Minute }},
		{"--debuginfod-timeout 2.5", func(o *chain.Options) bool { return o.Servers.Wait == 2500*time.Millisecond }},
		{"--debuginfod-timeout 0", func(o *chain.Options) bool { return o.Servers.Wait < 0 }},
		{"--debuginfod-timeout -1s", nil}, {"--debuginfod-timeout NaN", nil},
		{"--symbols a --symbols b --rootfs r", func(o *chain.Options) bool {
			return slices.Equal(o.Files.Symbols, []string{"a", "b"}) && o.Files.Rootfs[0] == "r"
		}},
	} {
		var o chain.Options
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		chainFlags(fs, &o)
		if err := fs.Parse(strings.Fields(c.args)); (err == nil) != (c.good != nil) || err == nil && !c.good(&o) {
			t.Errorf("%s: %+v, %v", c.args, o, err)
		}
	}
}

func TestProgramFlags(t *testing.T) {
	var o addr2line.Options
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	programFlags(fs, &o)
	if err := fs.Parse([]string{"-gnu", "-c", "arm-linux-gnueabihf-", "--addr2line", "x"}); err != nil {
		t.Fatal(err)
	}
	if !o.GNU || o.LLVM || o.Cross != "arm-linux-gnueabihf-" || o.Path != "x" || !o.Wanted() {
		t.Errorf("got %+v", o)
	}
}

// TestCacheServer holds that the process which serves the cache understands its own command line.
func TestCacheServer(t *testing.T) {
	var o cache.Options
	args := cacheServer("/d", 64<<20)
	if want := []string{"cache", "serve"}; !slices.Equal(args[:2], want) {
		t.Fatalf("got %q", args)
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	cacheFlags(fs, &o)
	if err := fs.Parse(args[2:]); err != nil || o.Dir != "/d" || o.Max != 64<<20 {
		t.Errorf("%q: %+v, %v", args, o, err)
	}
}

func TestTreeFlags(t *testing.T) {
	var o tree.Options
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	treeFlags(fs, &o)
	err := fs.Parse([]string{"--input-dir", "a", "--output-dir", "b", "--mode", "rewrite", "--rewrite=replace", "--workers-symbol", "3",
		"--summary-json", "-", "--group", "--html", "p", "--benchmark", "--list-modules", "--check", "--json", "--report", "r", "--verbose"})
	if err != nil || o.Input != "a" || o.Output != "b" || o.Mode != tree.Rewrite || o.Form != tree.Replace || o.Jobs != 3 || o.SummaryJSON != "-" ||
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
