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

		{"--debuginfod http://f --debuginfod=http://g", func(o *chain.Options) bool { return slices.Equal(o.Servers.URLs, []string{"http://f", "http://g"}) }},
		{"--debuginfod ftp://f", nil},
		{"--no-debuginfod", func(o *chain.Options) bool { return o.Servers.Off }},
		{"--debuginfod off", func(o *chain.Options) bool { return o.Servers.Off }}, {"--debuginfod=x", nil},
		{"--no-debuginfod --debuginfod=on", func(o *chain.Options) bool { return !o.Servers.Off }},
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
	if err := fs.Parse([]string{"-gnu", "-c", "arm-linux-gnueabihf-"}); err != nil {
		t.Fatal(err)
	}
	if !o.GNU || o.LLVM || o.Cross != "arm-linux-gnueabihf-" || !o.Wanted() {
		t.Errorf("got %+v", o)
	}
	for value, want := range map[string]addr2line.Options{"llvm": {LLVM: true}, "gnu": {GNU: true}, "/opt/llvm-addr2line-17": {LLVM: true, Path: "/opt/llvm-addr2line-17"},
		"arm-addr2line": {GNU: true, Path: "arm-addr2line"}} {
		o.Cross = ""
		if err := fs.Parse([]string{"--backend", value}); err != nil || o.GNU != want.GNU || o.LLVM != want.LLVM || o.Path != want.Path {
			t.Errorf("--backend %s gives %+v, %v", value, o, err)
		}
	}
	fs.SetOutput(io.Discard)
	if fs.Parse([]string{"--backend="}) == nil {
		t.Error("no program is taken")
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
	seedFlags(fs, &o)
	err := fs.Parse([]string{"--input-dir", "a", "--output-dir", "b", "--mode", "rewrite", "--frames=short", "--workers-symbol", "3",
		"--benchmark", "--report", "r", "--verbose"})
	if err != nil || o.Input != "a" || o.Output != "b" || o.Mode != tree.Rewrite || o.Form != tree.Replace || o.Jobs != 3 ||
		!o.Benchmark || o.Report != "r" || !o.Verbose {
		t.Errorf("got %+v, error %v", o, err)
	}
	fs.SetOutput(io.Discard)
	for _, bad := range []string{"--jobs=0", "--jobs=x", "--mode=y", "--frames=auto"} {
		if fs.Parse([]string{bad}) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
