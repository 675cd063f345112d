package prefix_test

import (
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter/prefix"
	"qss-filter/filter/prefix/prefixtest"
)

// payload holds lines that programs write, none of which looks like a logger's prefix.
var payload = []string{
	"    #0 0x55aefc1432a3  (/home/dev/crash+0x1182a3) (BuildId: 8fe381949ea8c7642b620146e119430364dc452b)",
	"    #0 0x560f05098fc5  (/home/dev/gcc-asan/crash+0x2fc5)",
	"{{{bt:1:0xbb57d370b0:sp 0x3f540e65ef0}}}",
	"{{{module:0:/home/dev/crash:elf:8fe3}}}",
	"      #00 pc 000610bc  /apex/lib/bionic/libc.so (abort+172) (BuildId: 316c4e23688da05a7757f6877d90407b)",
	"READ of size 4 at 0x7be1b5be0018 thread T0",
	"SUMMARY: AddressSanitizer: heap-use-after-free (/home/dev/crash+0x1182a3) ",
	"   at 0x109564: int demo::deref<int>(int*, int) (crash.cc:12)",
	"crash: a sentence  (with two spaces)",
}

func TestReadSamples(t *testing.T) {
	for _, s := range prefixtest.All() {
		if s.JSON || s.Own {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			var r prefix.Reader
			for i, text := range payload {
				line := s.Line(text, 19531, i)
				p := r.Read([]byte(line))
				if p.Kind != s.Kind {
					t.Errorf("%q is %v, want %v", line, p.Kind, s.Kind)
				}
				if got := line[p.Start:p.End]; got != text {
					t.Errorf("%q holds %q, want %q", line, got, text)
				}
				key := string(p.AppendKey(nil, []byte(line), prefix.ByAuto))
				if s.PID && !strings.HasSuffix(key, "#19531") || s.Unit && !strings.Contains(key, "19531") {
					t.Errorf("%q has key %q", line, key)
				}
				if got := string(p.AppendKey(nil, []byte(line), prefix.ByPID)); s.PID && got != s.Key(19531) {
					t.Errorf("%q has key %q by pid", line, got)
				}
			}
		})
	}
}

// TestOneRecognizer checks that every recognizer leaves the lines of all others alone, so that their order does not count.
func TestOneRecognizer(t *testing.T) {
	for _, s := range prefixtest.All() {
		for i, text := range payload {
			if s.Own {
				text = ""
			}
			line := s.Line(text, 19531, i)
			fits := prefix.Fits([]byte(line))
			for _, f := range fits {
				if f != fits[0] {
					t.Errorf("%q is %v", line, fits)
				}
			}
			if len(fits) == 0 && s.Kind != prefix.KindNone {
				t.Errorf("%q is nothing", line)
			}
		}
	}
}

// TestReadShort checks that a line without a program's text is recognized too.
func TestReadShort(t *testing.T) {
	for _, s := range prefixtest.All() {
		if s.JSON || s.Own || strings.Contains(s.Name, "pytest") || strings.Contains(s.Name, " tag") {
			continue
		}
		var r prefix.Reader
		line := []byte(s.Line("", 19531, 1))
		p := r.Read(line)
		if p.Kind != s.Kind || p.Start != p.End {
			t.Errorf("%s: %q is %v, text %d to %d", s.Name, line, p.Kind, p.Start, p.End)
		}
	}
}

// TestReadLearned checks that what a stream held before does not change how a line is read.
func TestReadLearned(t *testing.T) {
	all := prefixtest.All()
	for _, before := range all {
		for _, s := range all {
			if s.JSON || s.Own || before.Own {
				continue
			}
			line := []byte(s.Line(payload[0], 19531, 1))
			var fresh, r prefix.Reader
			r.Read([]byte(before.Line(payload[1], 4711, 0)))
			want, got := fresh.Read(line), r.Read(line)
			if got != want {
				t.Fatalf("%q after %s: %+v, alone %+v", line, before.Name, got, want)
			}
			if again := r.Read(line); again != got {
				t.Fatalf("%q read twice: %+v, %+v", line, got, again)
			}
		}
	}
}

// TestTwoProcesses checks that two processes in one stream have two keys, and each but one.
func TestTwoProcesses(t *testing.T) {
	for _, s := range prefixtest.All() {
		if !s.PID && !s.Unit || s.JSON {
			continue
		}
		var r prefix.Reader
		seen := map[string]bool{}
		for i := range 6 {
			pid := 1000 + i%2
			for _, line := range s.Wrap(payload[:1], pid) {
				p := r.Read([]byte(line))
				if line == payload[0] || !s.Own {
					key := string(p.AppendKey(nil, []byte(line), prefix.ByAuto))
					if !strings.Contains(key, strconv.Itoa(pid)) {
						t.Errorf("%s: %q has key %q", s.Name, line, key)
					}
					seen[key] = true
				}
			}
		}
		if len(seen) != 2 {
			t.Errorf("%s: keys %v", s.Name, seen)
		}
	}
}

// TestIsHeader checks that the header lines of logcat -v long are told from all others.
func TestIsHeader(t *testing.T) {
	for _, s := range prefixtest.All() {
		line := s.Before(19531, 1)
		if got := prefix.IsHeader([]byte(line)); got != s.Own {
			t.Errorf("%s: %q: %v", s.Name, line, got)
		}
	}
	for _, line := range append(payload, "", "[", "[ ", "\x1b[32m", "[ 11-20 15:58:12.000 1:2 I/ ", "[ 1/2 ]") {
		if prefix.IsHeader([]byte(line)) {
			t.Errorf("%q is no header", line)
		}
	}
	for _, line := range []string{
		"\x1b[34m[ 11-20 15:58:12.000 19531:19540 I/wrap.sh  ]",
		"[ 2026-11-20 15:58:12.000000 +0900 u0_a1:19531:19540 F/ ]",
		"[   1362.000     7:    7 I/        ]",
	} {
		if !prefix.IsHeader([]byte(line)) {
			t.Errorf("%q is a header", line)
		}
	}
}
