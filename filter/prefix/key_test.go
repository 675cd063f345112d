package prefix_test

import (
	"encoding/json"
	"strings"
	"testing"

	"qss-filter/filter/match"
	"qss-filter/filter/prefix"
	"qss-filter/filter/prefix/prefixtest"
)

func TestKeys(t *testing.T) {
	for _, tc := range []struct{ line, auto, pid, host string }{
		{"text", "", "", ""},
		{"I/wrap.sh : x", "~wrap.sh", "", ""},
		{"I/wrap.sh (   7): x", "#7", "#7", "#7"},
		{"I/wrap.sh (   7): ==8==ERROR: x", "#8", "#8", "#8"},
		{"Nov 20 15:58:12 host kernel: x", "host~kernel", "", "host"},
		{"Nov 20 15:58:12 host prog[7]: x", "host#7", "#7", "host#7"},
		{"<14>1 2026-11-20T15:58:12Z - prog - - - x", "~prog", "", ""},
		{"svc-1  | text", "svc-1", "", "svc-1"},
		{"svc-1  | I/wrap.sh (   7): x", "svc-1#7", "#7", "svc-1#7"},
		{"svc-1  | I/wrap.sh : x", "svc-1", "", "svc-1"},
		{"[pod/web/app] svc-2  | ==07== x", "pod/web/app/svc-2#7", "#7", "pod/web/app/svc-2#7"},
		{"[1,0][node:7]<stderr>: x", "node/1,0#7", "#7", "node/1,0#7"},
		{"Nov 20 15:58:12 node prog[7]: Nov 20 15:58:12 guest prog[8]: x", "node#8", "#8", "node#8"},
		{"Nov 20 15:58:12 node prog[7]: Nov 20 15:58:12 guest kernel: x", "node#7", "#7", "node#7"},
		{"[01040.461] 00000.02639> x", "#0", "#0", "#0"},
	} {
		var r prefix.Reader
		line := []byte(tc.line)
		p := r.Read(line)
		for by, want := range map[prefix.By]string{
			prefix.ByAuto: tc.auto, prefix.ByPID: tc.pid, prefix.ByHostPID: tc.host, prefix.ByNone: "",
		} {
			if got := string(p.AppendKey([]byte("x"), line, by)); got != "x"+want {
				t.Errorf("%q by %v has key %q, want %q", line, by, got[1:], want)
			}
		}
	}
}

// TestOrigin checks the keys of text that stands in JSON strings, and of frames below a headline.
func TestOrigin(t *testing.T) {
	for _, tc := range []struct{ object, text, crashed, want string }{
		{`{"log":"x"}`, "x", "", ""},
		{`{"log":"x","pid":7}`, "x", "", "#7"},
		{`{"log":"x","pid":7}`, "==8==ERROR", "", "#8"},
		{`{"log":"x","pid":7}`, "I/TAG     (   9): x", "", "#9"},
		{`{"log":"x","pid":7}`, "I/TAG     (   9): x", "10", "#10"},
		{`{"log":"x","pod":"p"}`, "svc-1  | x", "10", "p/svc-1#10"},
		{`{"log":"x","pod":"p","host":"h"}`, "I/wrap.sh : x", "", "h/p"},
		{`{"log":"x","host":"h"}`, "I/wrap.sh : x", "", "h~wrap.sh"},
		{`{"MESSAGE":"x","SYSLOG_IDENTIFIER":"prog"}`, "x", "", "~prog"},
		{`{"MESSAGE":"x","_PID":"1","COREDUMP_PID":"7"}`, "x", "", "#7"},
	} {
		outer := prefix.JSONKey([]byte(tc.object))
		var r prefix.Reader
		p := r.Read([]byte(tc.text))
		o := prefix.Origin{Prefix: &p, Line: []byte(tc.text), Outer: &outer, OuterLine: []byte(tc.object), Crashed: []byte(tc.crashed)}
		if got := string(o.AppendKey(nil, prefix.ByAuto)); got != tc.want {
			t.Errorf("%s with %q has key %q, want %q", tc.object, tc.text, got, tc.want)
		}
	}
}

func TestJSONKey(t *testing.T) {
	for object, want := range map[string]string{
		`{"log":"\"pid\":7,","stream":"stderr"}`:             "",
		`  {"pid": 7 , "tid": 8}`:                            "#7",
		`{"pid":"7"}`:                                        "#7",
		`{"pid":"x"}`:                                        "",
		`{"process":{"pid":7,"thread":{"id":8}}}`:            "#7",
		`{"parent":{"pid":7}}`:                               "",
		`{"process.pid":7,"host.name":"h"}`:                  "h#7",
		`{"host":{"name":"h","id":"x"},"process":{"pid":7}}`: "h#7",
		`{"_HOSTNAME":"h","_PID":"7","MESSAGE":"x"}`:         "h#7",
		`{"kubernetes":{"pod_name":"p","container_name":"c","host":"n"},"log":"x"}`: "n/p/c",
		`{"kubernetes":{"pod":{"name":"p"},"container":{"name":"c"}}}`:              "p/c",
		`{"container_id":"c","log":"x","source":"stderr"}`:                          "c",
		`{"a":[{"pid":7}, "pid", 7],"b":{"c":{"d":{"e":1}}},"pid":8}`:               "#8",
		`{"a":["pid",7],"x":-1.5e3,"y":true,"pid":9}`:                               "#9",
		`{"a":{"b":{"c":{"d":{"e":{"f":1}}}}},"pid":8}`:                             "", // too deep: given up
		`{"Time":"x","Action":"output","Package":"a/b","Test":"T","Output":"x\n"}`:  "a/b",
		`{"x":"\\","pid":7}`:   "#7",
		`{"x":"\\\"","pid":7}`: "#7",
		`{"x":"y`:              "", `{"pid":`: "", `{"pid":7`: "#7", `{}`: "", `{`: "", ``: "", `[]`: "", `}}}`: "", `{]]]`: "",
	} {
		p := prefix.JSONKey([]byte(object))
		if got := string(p.AppendKey(nil, []byte(object), prefix.ByAuto)); got != want {
			t.Errorf("%s has key %q, want %q", object, got, want)
		}
	}
}

// TestObjects checks the loggers that write JSON objects: that they do, and which process they name.
func TestObjects(t *testing.T) {
	for _, s := range prefixtest.All() {
		if !s.JSON {
			continue
		}
		for _, line := range s.Wrap(append(payload, "\x1b[1m\"tab\t\\"), 19531) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: %s is no JSON", s.Name, line)
			}
			p := prefix.JSONKey([]byte(line))
			key := string(p.AppendKey(nil, []byte(line), prefix.ByAuto))
			if p.Kind != prefix.JSON || strings.Contains(key, "19531") != (s.PID || s.Unit) || s.PID && !strings.HasSuffix(key, s.Key(19531)) {
				t.Errorf("%s: %s has key %q", s.Name, line, key)
			}
		}
	}
}

func TestBy(t *testing.T) {
	var by prefix.By
	for _, name := range []string{"pid", "host+pid", "none", "auto"} {
		if err := by.Set(name); err != nil || by.String() != name {
			t.Errorf("%s: %v, %v", name, by, err)
		}
	}
	if err := by.Set("tid"); err == nil {
		t.Error("tid is accepted")
	}
}

func TestCrashed(t *testing.T) {
	for text, want := range map[string]string{
		"pid: 21425, tid: 21448, name: Thread-2  >>> org.lovr.app <<<":            "21425",
		"DEBUG: pid: 7, tid: 8, name: x":                                          "7",
		"ppid: 6, tid: 8":                                                         "",
		"pid: 7 tid: 8":                                                           "",
		"Callstack Information (PID:3055)":                                        "3055",
		"Call stack for PID 123:":                                                 "123",
		"#  SIGSEGV (0xb) at pc=0x00007f4ee736d0f9, pid=22450, tid=22451":         "22450",
		"x, pid=22450, tid=22451":                                                 "",
		"*** SIGSEGV (@0x0) received by PID 22721 (TID 0x7f4d) from PID 0; stack": "22721",
		"WARNING: ThreadSanitizer: data race (pid=19613)":                         "19613",
		"started (pid=19613)":                                                     "",
		"Process 10612 (scylla) of user 996 dumped core.":                         "10612",
		"Process 10612 (scylla) ended":                                            "",
		"==19531==ERROR: AddressSanitizer: x":                                     "19531",
		"tag ==19531==ERROR: x":                                                   "19531",
		"\x1b[1m\x1b[31m==19556==ERROR: x":                                        "19556",
		"a==1==b":                                                                 "", "====1====": "", "==1=": "", "== 1 ==": "", "==": "",
		"CPU: 4 PID: 3255 Comm: bash": "", "pid: ": "", "PID": "",
	} {
		pid, ok := prefix.Crashed([]byte(text), match.Look([]byte(text)))
		got := ""
		if ok {
			got = string(pid.Of([]byte(text)))
		}
		if got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
}
