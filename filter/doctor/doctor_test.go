package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"qss-filter/filter"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc"
)

// files is a source and a finder: a module's name says what is known of it.
type files struct{}

func (files) Find(_ context.Context, m symsrc.Module) *symsrc.Files {
	f := &symsrc.Files{Tried: []string{"/root" + m.Name, "https://server/buildid (404)"}, Lacked: []string{"no such file"}}
	switch filepath.Base(m.Name) {
	case "good.so":
		*f = symsrc.Files{Elf: m.Name, Debug: "/debug/good.debug", Unverified: m.BuildID == "", Tried: []string{m.Name}, Lacked: []string{""}}
	case "other.so":
		f.Elf, f.ElfStatus, f.DebugStatus = m.Name, symsrc.MismatchBuildID, symsrc.NotFound
		f.Lacked[0] = "build ID differs: log has 0102, /root/other.so has 0304"
		f.Detail = f.Lacked[0]
	case "bare.so":
		f.Elf, f.DebugStatus, f.Note = m.Name, symsrc.Incomplete, "no .debug_info"
	case "locked.so":
		f.Elf, f.ElfStatus, f.Note = m.Name, symsrc.NoReadPermission, "cannot open file"
	case "packed.so":
		f.Elf, f.ElfStatus, f.Note = m.Name, symsrc.UnsupportedCompressed, "gzip"
	case "broken.so":
		f.Elf, f.ElfStatus, f.Note = m.Name, symsrc.Corrupted, "corrupted elf file"
	case "twice.so":
		f.ElfStatus, f.Note = symsrc.UnknownError, "2 different files named twice.so"
	default:
		f.ElfStatus, f.DebugStatus, f.Note = symsrc.NotFound, symsrc.NotFound, "elf not found"
	}
	return f
}

func (s files) Frames(ctx context.Context, q symsrc.Addr) (a symsrc.Answer) {
	a.Files = s.Find(ctx, q.Module)
	if filepath.Base(q.Module.Name) == "good.so" && q.Offset < 0x1000 {
		a.Frames = []symsrc.Frame{{Func: "f", File: "f.c", Line: 1}}
	}
	return a
}

// program is the process 4711 and no other.
func program(pid string) (p Process) {
	if pid == "4711" {
		p.Maps, p.Started = "555500000000-555500001000 r--p 00000000 08:01 7 /usr/bin/x\n555500001000-555500002000 r-xp 00001000 08:01 7 /usr/bin/x\n666600000000-666600002000 rw-p 00000000 00:00 0 [heap]\n", time.Unix(100, 0)
	}
	return p
}

// TestRun is a table of logs, with what the report must say and must not.
func TestRun(t *testing.T) {
	const good = "#0 0x7f10 (/usr/lib/good.so+0x10) (BuildId: 0102)\n"
	const ranges = "555500001000-555500002000 r-xp 00000000 08:01 7 /usr/lib/good.so\n"
	for _, c := range []struct {
		name, log string
		o         Options
		healthy   bool
		want      []string // in this order
		never     []string
	}{
		{name: "all is well", log: "01-02 03:04:05.678  4711  4712 E crash: " + good, healthy: true, want: []string{
			"1 line, 90 bytes\n1 frame on 1 line, 1 with a name\n", "     1  frame, format \"sanitizer\"; the first in line 1: #0 0x7f10 (/usr/lib/good.so",
			`     1  line after the prefix "logcat threadtime"; the first in line 1: 01-02`, "     1  process: #4711\n",
			"  ok, 1 frame: /usr/lib/good.so (BuildId: 0102)\n      from /usr/lib/good.so, debug information from /debug/good.debug\n", "\nEvery frame has a name.\n"},
			never: []string{"What to try", "The log\n", "Nearly"}},
		{name: "named in the log", log: "#0 0x1 in f /a.c:3 (/a.so+0x3)\n", healthy: true, want: []string{"1 with a name (1 of them in the log already)", "Every frame has a name"}},
		{name: "frames of nothing", log: "#1 0x7f20 (<unknown module>)\n#2 0x1 in g /x.c:3\n#3 0x7f0000001000 (/usr/lib/li\n", want: []string{
			"3 frames on 3 lines, 1 with a name", "1 frame of which nothing can be asked: the log gives no address in a module; the first in line 1", "Nearly frames\n     1  line: a frame that is cut off before its closing",
			"1  line: a frame whose emitter does not know the module"}},
		{name: "missing", log: good + "#1 0x7f20 (/usr/lib/gone.so+0x20) (BuildId: 0105)\n#2 0x7f30 (/usr/lib/gone.so+0x30) (BuildId: 0105)\n#3 0x1 (/lib/x/libc.so.6+0x1) (BuildId: 06)\n",
			want: []string{"4 frames on 4 lines, 1 with a name", "Modules, without debuginfod servers (DEBUGINFOD_URLS is not set)",
				"  NOT_FOUND, 2 of 2 frames: /usr/lib/gone.so (BuildId: 0105)\n      the first in line 2: elf not found\n      asked, in this order:\n" +
					"        1  /root/usr/lib/gone.so: no such file\n        2  https://server/buildid (404)\n", "  ok, 1 frame",
				"  1. /usr/lib/gone.so (BuildId: 0105): its file was not found\n", "qss-filter --symbols DIR the.log\n", "qss-filter --rootfs DIR the.log\n", "dpkg -S PATH",
				"  2. /lib/x/libc.so.6", "apt-get install libc6-dbg\n", "  3. no debuginfod server was asked, since DEBUGINFOD_URLS is not set\n       DEBUGINFOD_URLS=https://debuginfod.elfutils.org/ qss-filter doctor the.log\n"}},
		{name: "with a root and a server", log: "#1 0x7f20 (/usr/lib/gone.so+0x20) (BuildId: 0105)\n", o: Options{Roots: true, Servers: []string{"http://x"}},
			want: []string{"\nModules\n"}, never: []string{"--rootfs", "DEBUGINFOD_URLS"}},
		{name: "servers are off", log: "#1 0x7f20 (/usr/lib/gone.so+0x20) (BuildId: 0105)\n", o: Options{ServersOff: true},
			want: []string{"without debuginfod servers (--no-debuginfod)"}, never: []string{"DEBUGINFOD_URLS"}},
		{name: "another build", log: "#1 0x7f20 (/x/other.so+0x20) (BuildId: 0102)\n", want: []string{"MISMATCH_BUILD_ID, 1 of 1 frame",
			"the first in line 1: build ID differs: log has 0102, /root/other.so has 0304", "/x/other.so (BuildId: 0102): the file found is from another build", "has the build ID 0102"}},
		{name: "the files' faults", log: "#1 0x7f20 (/x/locked.so+0x20) (BuildId: 01)\n#2 0x1 (/x/packed.so+0x1) (BuildId: 02)\n#3 0x1 (/x/broken.so+0x1) (BuildId: 03)\n#4 0x1 (/x/twice.so+0x1)\n",
			want: []string{"/x/broken.so (BuildId: 03): its file cannot be used", "/x/locked.so (BuildId: 01): no permission to read its file\n       ls -l /x/locked.so",
				"/x/packed.so (BuildId: 02): its file is packed (gzip)", "/x/twice.so (no build ID in the log): 2 different files named twice.so\n       qss-filter where /x/twice.so"}},
		{name: "no symbol", log: "#1 0x7f20 (/x/good.so+0x9001) (BuildId: 0102)\n", want: []string{"NO_SYMBOL, 1 of 1 frame", "no symbol at 0x9000 in good.so", "found /x/good.so, debug",
			"no symbol covers the address", "qss-filter symbolize /x/good.so 0x9000"}},
		{name: "stripped, of this machine", log: "#1 0x7f20 (/usr/bin/bare.so+0x20) (BuildId: 0102)\n",
			o: Options{Owner: func(path string) (string, string) { return "bare", "apt-get install bare-dbgsym" }}, want: []string{"INCOMPLETE", "no debug information, and no symbol", "from the package bare of this machine", "  apt-get install bare-dbgsym\n"}},
		{name: "of another system", healthy: true, log: "3   libc.dylib  0x00007fff6c3a2dfa kill + 10\n", want: []string{"libc.dylib (no build ID in the log): the log has no UUID of it", "Binary Images"}, never: []string{"--symbols"}},
		{name: "no build ID", log: "#0 0x7f10 (/usr/lib/good.so+0x10)\n#1 0x1 (gone.so+0x1)\n", want: []string{"gone.so (no build ID in the log)", "so servers and .build-id trees cannot be asked",
			"1 frame with an unverified name"}},
		{name: "with the flags that were given", log: "#1 0x7f20 (/x/gone.so+0x20)\n#1 0x7f20 (/x/twice.so+0x20)\n",
			o:    Options{Flags: []string{"--symbols=my dir", "--process-key=none"}, FileFlags: []string{"--symbols=my dir"}},
			want: []string{"qss-filter '--symbols=my dir' --process-key=none --symbols DIR the.log\n", "qss-filter where '--symbols=my dir' /x/twice.so\n"}},
		{name: "no mappings", log: "    @     0x555500001020  (unknown)\n", want: []string{"1 address in no known mapping", "The log has no mappings. A process that has ended left them in its core file",
			"coredumpctl dump PID --output core\n       qss-filter --maps core the.log\n", "qss-filter -- COMMAND\n"}, never: []string{"/proc"}},
		{name: "no mappings, of a process that runs", log: "01-02 03:04:05.678  4711  4712 E crash:     @     0x555500001020  (unknown)\n", o: Options{Process: program},
			want: []string{"Process 4711 of this machine began before the log was written", "qss-filter --maps /proc/4711/maps the.log\n"}, never: []string{"core"}},
		{name: "no mappings, of a process whose ID is another's now", log: "01-02 03:04:05.678  4711  4712 E crash:     @     0x666600001020  (unknown)\n", o: Options{Process: program},
			want: []string{"coredumpctl dump 4711 --output core\n       qss-filter --maps core the.log\n"}, never: []string{"/proc"}},
		{name: "no mappings, of a process whose ID a later one has", log: "01-02 03:04:05.678  4711  4712 E crash:     @     0x555500001020  (unknown)\n", o: Options{Process: program, written: time.Unix(99, 0)},
			want: []string{"coredumpctl dump 4711 --output core\n"}, never: []string{"/proc"}},
		{name: "mappings below", log: "    @     0x555500001020  (unknown)\n" + strings.Repeat("x\n", 20) + ranges, want: []string{"Mappings that cover them come below", "qss-filter --lookahead=41 the.log"}},
		{name: "mappings of another", log: "==7==ERROR: AddressSanitizer: x\n" + ranges + "==8==ERROR: AddressSanitizer: x\n    @     0x555500001020  (unknown)\n",
			want: []string{"of another process", "qss-filter --process-key=none the.log"}},
		{name: "mappings of others", log: ranges + "    @     0x777700001020  (unknown)\n", want: []string{"The log has 1 mappings, none of which covers them"}},
		{name: "a board", log: "Backtrace: 0x400d5f3b:0x3ffb1f90 0x400d1234:0x3ffb1fb0\n", want: []string{"2 frames of which nothing can be asked: no program of a board is known that has code there",
			"addresses of a board, which has one program", "qss-filter --symbols FIRMWARE.elf the.log\n"}},
		{name: "a log that is cut", log: "{{{mmap:0x1000:0x10:load:7:r:0x0}}}\n#5 0x7f10 (/usr/lib/good.so+0x10) (BuildId: 0102)\n{{{bt:0:0x10", healthy: true,
			want: []string{"The log\n  it begins in the middle of a stack, with frame 5\n  its last line has no end, and may be cut off: {{{bt:0:0x10\n", "1 element that cannot be read, mmap 0x1000: unknown module ID 0x7; the first in line 1",
				"the module of a mapping is not defined", "Nearly frames\n     1  line: markup that is cut off before its end\n        the first in line 3: {{{bt:0:0x10\n", "have it write longer ones"}},
		{name: "nothing", log: "a\nb\n", want: []string{"2 lines, 4 bytes\n0 frames on 0 lines, 0 with a name\n", "  nothing: no line has a frame", "There is nothing to resolve."}},
		{name: "empty", log: "", want: []string{"0 lines", "The log\n  it is empty"}},
		{name: "packed", log: "\x1f\x8b\x08\x00", want: []string{"it is compressed (gzip)", "the input is compressed (gzip)\n       gzip -dc the.log | qss-filter"}},
		{name: "UTF-16", log: "\xff\xfe#\x000\x00 \x00", want: []string{"iconv -f UTF-16 -t UTF-8 the.log"}},
		{name: "UTF-16 without a mark", log: "#\x000\x00 \x000\x00x\x001\x002\x003\x004\x00\n\x00", want: []string{"full of NUL bytes", "iconv -f UTF-16LE"}},
		{name: "an ELF file", log: "\x7fELF\x02\x01\x01\x00", want: []string{"it is an ELF file, not a log", "qss-filter symbolize the.log 0xADDRESS"}},
		{name: "a cache that is broken", log: good, o: Options{Cache: func() error { return errors.New("no space left") }}, healthy: true, want: []string{"the cache of answers does not work: no space left", "--cache-dir DIR"}},
		{name: "orders to a terminal", log: "#1 0x7f20 (/usr/\x1b[31mlib\x07/gone.so+0x20)\n#2 0x1 (/a\u202eb.so+0x1)\n", want: []string{"/a·b.so"}, never: []string{"\x1b", "\x07", "\u202e"}},
	} {
		var out bytes.Buffer
		c.o.Log, c.o.Finder = "the.log", files{}
		c.o.New = func(j jsonl.Options) (*filter.Filter, func(), error) {
			return filter.New(filter.Options{Symbols: files{}, JSON: &j}), func() {}, nil
		}
		healthy, err := c.o.examine(t.Context(), strings.NewReader(c.log), &out)
		if err != nil || healthy != c.healthy {
			t.Errorf("%s: healthy %t, %v; want %t", c.name, healthy, err, c.healthy)
		}
		rest := out.String()
		for _, part := range c.want {
			at := strings.Index(rest, part)
			if at < 0 {
				t.Errorf("%s: no %q in\n%s", c.name, part, out.String())
				break
			}
			rest = rest[at+len(part):]
		}
		for _, part := range c.never {
			if strings.Contains(out.String(), part) {
				t.Errorf("%s: %q in\n%s", c.name, part, out.String())
			}
		}
	}
}

// TestNear tells lines that look like frames apart, and leaves ordinary ones alone.
func TestNear(t *testing.T) {
	data, err := os.ReadFile("testdata/near.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if kind, ok := strings.CutPrefix(line, "== "); ok {
			want = kind
			continue
		}
		s := newSurvey()
		f := filter.New(filter.Options{Symbols: files{}, JSON: &jsonl.Options{Each: s.line}})
		if err := f.Run(t.Context(), strings.NewReader(line+"\n"), &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		got := ""
		if kinds := s.near.kinds(); len(kinds) > 0 {
			got = kinds[0].what
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s\n is %q, want %q (%d frames)", line, got, want, s.all())
		}
	}
}

func TestDebian(t *testing.T) {
	for line, want := range map[string]string{
		"libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6\n": "libc6, apt-get install libc6-dbg",
		"dash: /bin/dash\n":                 "dash, apt-get install dash-dbgsym    # from debian-debug, or ddebs.ubuntu.com",
		"diversion by dash from: /bin/sh\n": ", ",
		"":                                  ", ",
	} {
		if name, install := debian(line); name+", "+install != want {
			t.Errorf("%q gives %q, %q", line, name, install)
		}
	}
}

// FuzzLog examines any bytes as a log: there is a report, which a terminal shows as it is.
func FuzzLog(f *testing.F) {
	near, err := os.ReadFile("testdata/near.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(near) {
		f.Add(line)
	}
	for _, log := range []string{"#0 0x7f10 (/usr/lib/good.so+0x10) (BuildId: 0102)\n#1 0x7f20 (/usr/\x1b[31mlib\x07/gone.so+0x20)\n#2 0x1 (/a\u202eb.so+0x1)\n",
		"{{{mmap:0x1000:0x10:load:7:r:0x0}}}\n#5 0x7f10 (/usr/lib/other.so+0x10) (BuildId: 0102)\n{{{bt:0:0x10", "\xff\xfe#\x000\x00 \x00", "\x1f\x8b\x08\x00",
		"555500001000-555500002000 r-xp 00000000 08:01 7 /usr/lib/good.so\n    @     0x777700001020  (unknown)\n", "==7==ERROR: AddressSanitizer: x\n#1 0x7f20 (<unknown module>)\n"} {
		f.Add([]byte(log))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		var out bytes.Buffer
		o := Options{Log: "the.log", Finder: files{}, New: func(j jsonl.Options) (*filter.Filter, func(), error) {
			return filter.New(filter.Options{Symbols: files{}, JSON: &j}), func() {}, nil
		}}
		if _, err := o.examine(t.Context(), bytes.NewReader(log), &out); err != nil || out.Len() == 0 {
			t.Fatalf("%v, %d bytes", err, out.Len())
		}
		for _, r := range out.String() {
			if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar && !bytes.ContainsRune(log, r) {
				t.Fatalf("%q in %q", r, out.String())
			}
		}
	})
}

// TestJSON holds that the report as JSON says what the text does.
func TestJSON(t *testing.T) {
	log := "#0 0x7f10 (/usr/lib/good.so+0x10) (BuildId: 0102)\n#1 0x7f20 (/usr/\x1b[31mlib/gone.so+0x20) (BuildId: 0105)\n{{{bt:0:0x12\n"
	o := Options{Log: "the.log", JSON: true, Finder: files{}, New: func(j jsonl.Options) (*filter.Filter, func(), error) {
		return filter.New(filter.Options{Symbols: files{}, JSON: &j}), func() {}, nil
	}}
	var out bytes.Buffer
	if healthy, err := o.examine(t.Context(), strings.NewReader(log), &out); healthy || err != nil {
		t.Fatalf("%t, %v", healthy, err)
	}
	if strings.Count(out.String(), "\n") != 1 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("want one line: %q", out.String())
	}
	var r reportJSON
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Log != "the.log" || r.Lines != 3 || r.Frames != 2 || r.Named != 1 || r.Outcomes["NOT_FOUND"] != 1 || len(r.Nearly) != 1 {
		t.Errorf("%+v", r)
	}
	if len(r.Modules) != 2 || r.Modules[0].Status != "NOT_FOUND" || len(r.Modules[0].Asked) != 2 || r.Modules[0].Asked[0].Result != "no such file" ||
		r.Modules[1].Status != "ok" || r.Modules[1].Found == "" {
		t.Errorf("%+v", r.Modules)
	}
	if len(r.Advice) == 0 || len(r.Advice[0].Commands) == 0 || r.Advice[0].Commands[0] != "qss-filter --symbols DIR the.log" {
		t.Errorf("%+v", r.Advice)
	}
}

// TestUnpacked reads a log that is compressed.
func TestUnpacked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte("#0 0x7f10 (/usr/lib/good.so+0x10) (BuildId: 0102)\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	o := Options{Log: path, Finder: files{}, New: func(j jsonl.Options) (*filter.Filter, func(), error) {
		return filter.New(filter.Options{Symbols: files{}, JSON: &j}), func() {}, nil
	}}
	for n, healthy := range map[int]bool{b.Len(): true, b.Len() - 10: false} {
		if err := os.WriteFile(path, b.Bytes()[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if got, err := Run(t.Context(), o, &out); got != healthy || (err == nil) != healthy {
			t.Errorf("%d bytes: %t, %v: %s", n, got, err, out.String())
		}
	}
}
