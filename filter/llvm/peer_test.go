package llvm

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter/filtertest"
	"qss-filter/symsrc"
)

// peerRun is one way to run both programs.
type peerRun struct {
	flags []string // of the peer
	opt   Options
}

var (
	plainRun = peerRun{flags: []string{"--color=never"}}
	colorRun = peerRun{[]string{"--color=always"}, Options{Color: true}}
)

// byUs returns the output and the messages of this filter.
func byUs(t testing.TB, source symsrc.Source, r peerRun, log string) (out, messages string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o := r.opt
	o.Symbols = source
	o.Errors = &stderr
	f := New(o)
	if err := f.Stream().Run(context.Background(), strings.NewReader(log), &stdout); err != nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String()
}

// samePeer compares the filter with the peer, and reports whether they agree.
func samePeer(t testing.TB, source symsrc.Source, r peerRun, dirs []string, log string) bool {
	t.Helper()
	out, messages := byUs(t, source, r, log)
	return filtertest.SamePeer(t, r.flags, dirs, log, out, messages)
}

// TestLLVMSamples compares every sample log with the peer, byte for byte.
func TestLLVMSamples(t *testing.T) {
	filtertest.NeedPeer(t)
	var logs []string
	for _, pattern := range []string{"../../testdata/markup/*.log", "../../testdata/logs/*.log", "../../testdata/qss/*.log"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d logs, %v", pattern, len(found), err)
		}
		logs = append(logs, found...)
	}
	dirs := []string{filtertest.SampleTree(), filtertest.LogTree(t)}
	for _, path := range logs {
		t.Run(filepath.Base(path), func(t *testing.T) {
			log, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []peerRun{plainRun, colorRun} {
				samePeer(t, filtertest.TreeSource(dirs...), r, dirs, string(log))
				samePeer(t, filtertest.TreeSource(dirs...), r, dirs, strings.ReplaceAll(strings.TrimSuffix(string(log), "\n"), "\n", "\r\n"))
			}
		})
	}
}
