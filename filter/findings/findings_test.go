package findings_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"qss-filter/filter"
	"qss-filter/filter/findings"
	"qss-filter/filter/print"
	"qss-filter/symsrc"
)

// noSymbols names nothing.
type noSymbols struct{}

func (noSymbols) Frames(context.Context, symsrc.Addr) symsrc.Answer { return symsrc.Answer{} }

const root = "/src/repo"

// collect returns the findings of a log, which live is told of.
func collect(t *testing.T, log string, live findings.Live) []*findings.Finding {
	t.Helper()
	c := findings.Collector{Names: print.Names{Map: []print.PathMap{{From: "/build", To: root}}}, Live: live, Keep: true}
	s := c.Stream()
	o := filter.Options{Symbols: noSymbols{}, Observe: s.Observe, Read: s.Read}
	if err := filter.New(o).Run(context.Background(), strings.NewReader(log), io.Discard); err != nil {
		t.Fatal(err)
	}
	all, _ := c.All()
	return all
}

const (
	useAfterFree = "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x60 at pc 0x1 bp 0x2 sp 0x3\nREAD of size 4 at 0x60 thread T0\n" +
		"    #0 0x1 in __interceptor_memcpy /llvm/compiler-rt/lib/asan.cc:1:2\n    #1 0x2 in use(int*) /src/repo/src/a,b:c%.cc:12:3\n    #2 0x3 in main /src/repo/src/m.cc:1:1\n\n" +
		"freed by thread T0 here:\n    #0 0x1 in free /llvm/compiler-rt/lib/asan.cc:1:2\n    #1 0x2 in drop() /build/src/d.cc:20\n\n" +
		"previously allocated by thread T0 here:\n    #0 0x1 in malloc /llvm/compiler-rt/lib/asan.cc:1:2\n    #1 0x4 in make() /src/repo/src/d.cc:8:2\n\n" +
		"SUMMARY: AddressSanitizer: heap-use-after-free /src/repo/src/a.cc:12:3 in use(int*)\n"
	leaks = "==1==ERROR: LeakSanitizer: detected memory leaks\n\nDirect leak of 10 byte(s) in 1 object(s) allocated from:\n" +
		"    #0 0x1 in malloc /llvm/compiler-rt/lib/asan.cc:1:2\n    #1 0x2 in lose /src/repo/l.c:2:3\n\nDirect leak of 20 byte(s) in 1 object(s) allocated from:\n" +
		"    #0 0x1 in malloc /llvm/compiler-rt/lib/asan.cc:1:2\n    #1 0x3 in main /src/repo/l.c:3:3\n"
	rust = "thread 'main' (7) panicked at src/main.rs:4:5:\nindex out of bounds: the len is 3 but the index is 6\nstack backtrace:\n" +
		"   0: __rustc::rust_begin_unwind\n             at /rustc/0123/library/std/src/panicking.rs:689:5\n   1: core::panicking::panic_fmt\n" +
		"             at /rustc/0123/library/core/src/panicking.rs:80:14\n   2: app::deep\n             at ./src/main.rs:4:5\n   3: app::main\n             at ./src/main.rs:9:1\n"
	// The panic itself lies in the standard library; the backtrace has the program's own line.
	rustStd = "thread 'main' panicked at /rustc/0123/library/core/src/option.rs:1:1:\nmissing\nstack backtrace:\n" +
		"   0: core::option::expect_failed\n             at /rustc/0123/library/core/src/option.rs:1:1\n   1: app::take\n             at ./src/take.rs:7:9\n"
	goPanic = "panic: runtime error: index out of range [5] with length 2\n\ngoroutine 1 [running]:\nmain.deep(...)\n\t/src/repo/m.go:3\nmain.main()\n\t/src/repo/m.go:4 +0x1d\n" +
		"\ngoroutine 7 [select]:\nmain.other()\n\t/src/repo/o.go:9 +0x2d\nexit status 2\n"
	undefined = "/src/repo/u.c:2:51: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'\n" +
		"    #0 0x1 in main /src/repo/u.c:2:51\n\nu.c:9:1: runtime error: index 5 out of bounds for type 'int[4]'\n"
	race = "WARNING: ThreadSanitizer: data race (pid=7)\n  Read of size 4 at 0x55 by main thread:\n    #0 main /src/repo/r.c:3 (race+0x1242)\n\n" +
		"  Previous write of size 4 at 0x55 by thread T1:\n    #0 f /src/repo/r.c:2:9 (race+0x11e8) (BuildId: 0102)\n\n  Thread T1 (tid=9, finished) created by main thread at:\n" +
		"    #0 pthread_create /llvm/compiler-rt/tsan.cpp:1001 (libtsan.so.2+0x5e686)\n    #1 main /src/repo/r.c:3 (race+0x1233)\n"
	assertion = "t: /src/repo/t.c:3: int main(int, char **): Assertion `c == 5' failed.\n"
)

// TestCommands holds that each fault has one error, at the first function that is the program's own or where the log states it, and that
// the stacks about it are notices.
func TestCommands(t *testing.T) {
	for _, c := range []struct{ name, log, github, azure string }{
		{"use after free", useAfterFree, "::error file=src/a%2Cb%3Ac%25.cc,line=12,col=3::heap-use-after-free READ 4 in use(int*)\n" +
			"::notice file=src/d.cc,line=20::heap-use-after-free READ 4, freed by: drop()\n" +
			"::notice file=src/d.cc,line=8,col=2::heap-use-after-free READ 4, allocated by: make()\n",
			"##vso[task.logissue type=error;sourcepath=src/a,b:c%AZP25.cc;linenumber=12;columnnumber=3;]heap-use-after-free READ 4 in use(int*)\n"},
		{"leaks", leaks, "::error file=l.c,line=2,col=3::Direct leak, allocated by: lose\n::error file=l.c,line=3,col=3::Direct leak, allocated by: main\n",
			"##vso[task.logissue type=error;sourcepath=l.c;linenumber=2;columnnumber=3;]Direct leak, allocated by: lose\n" +
				"##vso[task.logissue type=error;sourcepath=l.c;linenumber=3;columnnumber=3;]Direct leak, allocated by: main\n"},
		{"rust", rust, "::error file=src/main.rs,line=4,col=5::panic at src/main.rs:4:5: index out of bounds: the len is 3 but the index is 6\n",
			"##vso[task.logissue type=error;sourcepath=src/main.rs;linenumber=4;columnnumber=5;]panic at src/main.rs:4:5: index out of bounds: the len is 3 but the index is 6\n"},
		{"rust's library", rustStd, "::error file=src/take.rs,line=7,col=9::panic at /rustc/0123/library/core/src/option.rs:1:1: missing in app::take\n", ""},
		{"go", goPanic, "::error file=m.go,line=3::index out of range [5] with length 2 in main.deep\n", ""},
		{"undefined behavior", undefined, "::error file=u.c,line=2,col=51::signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'\n" +
			"::error file=u.c,line=9,col=1::index 5 out of bounds for type 'int[4]'\n", ""},
		{"data race", race, "::error file=r.c,line=3::data race READ 4 in main\n::notice file=r.c,line=2,col=9::data race READ 4, previous access: f\n" +
			"::notice file=r.c,line=3::data race READ 4, created by: main\n", ""},
		{"assertion", assertion, "::error file=t.c,line=3::assertion failed: c == 5 in int main(int, char **)\n", ""},
		{"same twice", "    #0 0x6 in f() /other/e.cc:4\n\n    #0 0x6 in f() /other/e.cc:4\n", "::error file=/other/e.cc,line=4::in f()\n", ""},
		{"no fault", "building m.go:3\n\t/src/repo/m.go:3 +0x1d\ngoroutine 1 [running]:\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			collect(t, c.log, findings.GitHub(&out, root))
			if out.String() != c.github {
				t.Errorf("got\n%s\nwant\n%s", out.String(), c.github)
			}
			out.Reset()
			collect(t, c.log, findings.Azure(&out, root))
			if c.azure != "" && out.String() != c.azure {
				t.Errorf("got\n%s\nwant\n%s", out.String(), c.azure)
			}
		})
	}
}

// TestManyCommands holds that a step has no more annotations than GitHub shows.
func TestManyCommands(t *testing.T) {
	var log, out strings.Builder
	for i := range 30 {
		fmt.Fprintf(&log, "    #0 0x6 in f%d() /src/f.cc:%d\n", i, i+1)
	}
	all := collect(t, log.String(), findings.GitHub(&out, root))
	if got := strings.Count(out.String(), "::error "); got != 10 || len(all) != 30 {
		t.Errorf("%d annotations of %d findings, want 10 of 30", got, len(all))
	}
}

// schema is SARIF's, as OASIS publishes it.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	packed, err := os.ReadFile("testdata/sarif-schema-2.1.0.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(r)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", value); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSARIF holds that findings as SARIF are valid against its schema, and have places, stacks and fingerprints.
func TestSARIF(t *testing.T) {
	s := schema(t)
	for _, log := range []string{"", useAfterFree, leaks, rust, rustStd, goPanic, undefined, assertion, race,
		"    #0 0x6 in f() /other dir/é%[x].cc:4\n    #1 0x7 in \x01() (/lib/a.so+0x7)\n", useAfterFree + leaks + rust + goPanic} {
		var out bytes.Buffer
		if err := findings.WriteSARIF(&out, collect(t, log, nil), root); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); err != nil {
			t.Errorf("%v\n%s", err, out.Bytes())
		}
	}
	if err := s.Validate(map[string]any{"version": "2.1.0"}); err == nil {
		t.Error("the schema accepts a log without runs")
	}
	var out bytes.Buffer
	_ = findings.WriteSARIF(&out, collect(t, useAfterFree, nil), root)
	for _, want := range []string{`"ruleId": "heap-use-after-free"`, `"uri": "src/d.cc"`, `"uriBaseId": "SRCROOT"`, `"uri": "file:///src/repo/"`, `"text": "freed by"`,
		`"text": "allocated by"`, `"stack/v1"`, `"uri": "src/a,b:c%25.cc"`, `"startColumn": 3`, `"uri": "file:///llvm/compiler-rt/lib/asan.cc"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), `"ruleId"`); n != 1 {
		t.Errorf("%d results of one fault", n)
	}
}

// TestFingerprints holds that a fault has the same fingerprint at other addresses and lines, and another fault has not.
func TestFingerprints(t *testing.T) {
	moved := strings.NewReplacer("a,b:c%.cc:12:3", "a,b:c%.cc:15:3", "0x2 in use", "0x9 in use").Replace(useAfterFree)
	a, b, c := collect(t, useAfterFree, nil), collect(t, moved, nil), collect(t, strings.ReplaceAll(useAfterFree, "use(int*)", "other(int*)"), nil)
	if len(a) != 1 || a[0].Fingerprint() != b[0].Fingerprint() || a[0].Fingerprint() == c[0].Fingerprint() {
		t.Errorf("%d findings, fingerprints %s %s %s", len(a), a[0].Fingerprint(), b[0].Fingerprint(), c[0].Fingerprint())
	}
}

// TestGitLab holds that findings have all that GitLab needs of an issue of a code quality report, each with a fingerprint of its own.
func TestGitLab(t *testing.T) {
	var out bytes.Buffer
	if err := findings.WriteGitLab(&out, collect(t, useAfterFree+leaks+rust+"    #0 0x6 in f()\n", nil), root); err != nil {
		t.Fatal(err)
	}
	var issues []struct {
		Description, Fingerprint, Severity string
		CheckName                          string `json:"check_name"`
		Location                           struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &issues); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, i := range issues {
		if i.Description == "" || i.CheckName == "" || i.Severity != "critical" || i.Location.Path == "" || strings.HasPrefix(i.Location.Path, "/") || i.Location.Lines.Begin == 0 || seen[i.Fingerprint] {
			t.Errorf("an issue lacks something: %+v", i)
		}
		seen[i.Fingerprint] = true
	}
	if len(issues) != 4 {
		t.Errorf("%d issues, want 4:\n%s", len(issues), out.Bytes())
	}
	out.Reset()
	if err := findings.WriteGitLab(&out, nil, root); err != nil || strings.TrimSpace(out.String()) != "[]" {
		t.Errorf("no findings are %q, %v", out.String(), err)
	}
}
