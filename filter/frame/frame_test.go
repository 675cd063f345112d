package frame

import (
	"bytes"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

func TestFind(t *testing.T) {
	const id = "529039c4877f2b56918b2063129d06669b993be2"
	type want struct {
		shape                           Shape
		num, addr, gap, module, off, id string
		done, sanitizer                 bool
	}
	for _, tc := range []struct {
		line string
		want want
	}{
		{"#0 0x7f01 (/usr/lib/a.so+0x1130) (Buildid: " + id + ")", want{Numbered, "0", "0x7f01", "", "/usr/lib/a.so", "0x1130", id, false, false}},
		{"    #0 0x7f01  (/usr/lib/a.so+0x1130) (BuildId: " + id + ")", want{Numbered, "0", "0x7f01", "", "/usr/lib/a.so", "0x1130", id, false, true}},
		{"#0 0x7f01 (/a.so+0x1) (BuildId:AB)", want{Numbered, "0", "0x7f01", "", "/a.so", "0x1", "AB", false, false}},
		{"#0 0x7f01 (/a.so+0x1) (Build-id:ab)", want{Numbered, "0", "0x7f01", "", "/a.so", "0x1", "ab", false, false}},
		{"#0 0x7f01 (/a.so+0x1) (Build ID: ab)", want{Numbered, "0", "0x7f01", "", "/a.so", "0x1", "ab", false, false}},
		{"#0 0x7f01 (/a.so+0x1) (buildid: ab)", want{Numbered, "0", "0x7f01", "", "/a.so", "0x1", "ab", false, false}},
		{"#0 0x7f01 (/a.so+0x1) (Buildid: )", want{Numbered, "0", "0x7f01", "", "/a.so", "0x1", "", false, false}},
		{"#0 0x7f01 (/a.so+0x1) (Buildid: xyz)", want{Numbered, "0", "0x7f01", "", "/a.so", "0x1", "xyz", false, false}},
		{"  #00 0x7f01 (/a.so+0x1)", want{Numbered, "00", "0x7f01", "", "/a.so", "0x1", "", false, false}},
		{"#1 0x7f01 main (/a.so+0x1)", want{Numbered, "1", "0x7f01", " main", "/a.so", "0x1", "", false, false}},
		{"#1 0x7f01 in f(int volatile*, int) (/a.so+0x1)", want{Numbered, "1", "0x7f01", " in f(int volatile*, int)", "/a.so", "0x1", "", false, false}},
		{"#1 0x7f01 in f /src/a.c:10:5 (/a.so+0x1)", want{Numbered, "1", "0x7f01", " in f /src/a.c:10:5", "/a.so", "0x1", "", true, false}},
		{"#1 0x7f01 in f /src/a.c:10 (approximate) (/a.so+0x1)", want{Numbered, "1", "0x7f01", " in f /src/a.c:10 (approximate)", "/a.so", "0x1", "", true, false}},
		{"#1 0x7f01 in f ??:0  (/a.so+0x1)", want{Numbered, "1", "0x7f01", " in f ??:0", "/a.so", "0x1", "", true, true}},
		{"#1 0x7f01 in f /src/a.c:10:5", want{NumberOnly, "1", "0x7f01", "", "", "", "", true, false}},
		{"#1 0x7f01", want{Numbered, "1", "0x7f01", "", "", "0x7f01", "", false, false}},
		{"#1 0x7f01 (<unknown module>)", want{NumberOnly, "1", "0x7f01", "", "", "", "", false, false}},
		{"#1 0x7f01 (/a.so+) (Buildid: ab)", want{NumberOnly, "1", "0x7f01", "", "", "", "", false, false}},
		{"#0 0x7f01 (/usr/lib/libl++.so.6+0x1114)", want{Numbered, "0", "0x7f01", "", "/usr/lib/libl++.so.6", "0x1114", "", false, false}},
		{"#0 0x7f01 (/data/my app (v2)/lib demo.so+0x1)", want{Numbered, "0", "0x7f01", "", "/data/my app (v2)/lib demo.so", "0x1", "", false, false}},
		{"#0 0x7f01 (/a/b+0x1)/c+0x2) (BuildId: ab)", want{Numbered, "0", "0x7f01", "", "/a/b", "0x1", "", false, false}},
		{"#0 0x7f01 (/a.so (deleted)+0x1)", want{Numbered, "0", "0x7f01", "", "/a.so (deleted)", "0x1", "", false, false}},
		{"#0 0x7f01 in g(x) (lib (v2).so+0x1)", want{Numbered, "0", "0x7f01", " in g(x)", "lib (v2).so", "0x1", "", false, false}},
		{"    #0 <null> <null> (crash+0xea9) (BuildId: ab)", want{Numbered, "0", "", " <null> <null>", "crash", "0xea9", "ab", false, true}},
		{"SUMMARY: AddressSanitizer: x (/a/crash+0x1) (BuildId: ab) ", want{Pair, "", "", "", "/a/crash", "0x1", "ab", false, true}},
		{"SUMMARY: AddressSanitizer: x f a.c:1:2 (/a/crash+0x1)", want{Pair, "", "", "", "/a/crash", "0x1", "", true, true}},
		{"[frame=3 pc=0x55 module=/a/b c offset=0x1182a3 func=<null> src=<null>:0:0 (BuildId: ab)]",
			want{Fields, "3", "", "", "/a/b c", "0x1182a3", "ab", false, true}},
		{"[frame=3 pc=0x55 module=/a offset=0x1 func=main src=a.c:1:2]", want{Fields, "3", "", "", "/a", "0x1", "", true, true}},
		{"text before #7 0x7f01 (/a.so+0x1) text after", want{Numbered, "7", "0x7f01", "", "/a.so", "0x1", "", false, false}},
		{`{"log":"#7 0x7f01 (/a.so+0x1)\n"}`, want{Numbered, "7", "0x7f01", "", "/a.so", "0x1", "", false, false}},
	} {
		b := []byte(tc.line)
		var s Search
		s.Reset(b)
		f := s.Next(0)
		if f == nil {
			t.Errorf("%q: not found", tc.line)
			continue
		}
		got := want{f.Shape, string(f.Num.Of(b)), string(f.Addr.Of(b)), string(f.Gap.Of(b)), string(f.Module.Of(b)),
			string(f.Off.Of(b)), string(f.BuildID.Of(b)), f.Done, f.Convention == Moved}
		if got != tc.want {
			t.Errorf("%q:\n got %+v\nwant %+v", tc.line, got, tc.want)
		}
	}
}

func TestFindNothing(t *testing.T) {
	for _, line := range []string{
		"", "#", "#1", "#1 ", "#1 0x", "#1 0xg", "#x 0x1 (/a+0x1)", "#1 12 (/a+0x1)",
		"#99999999999999999999 0x7f01 (/a.so+0x1)",
		"#1 0x11112222333344445 (/a.so+0x1)",
		"#1 0x7f01, see issue #2",
		"the variable at 0x55 (crash+0x14987d8) (BuildId: ab)",
		"module=/a", "offset=0x12",
	} {
		var s Search
		s.Reset([]byte(line))
		if f := s.Next(0); f != nil {
			t.Errorf("%q: found %+v", line, *f)
		}
	}
}

func TestFindSeveral(t *testing.T) {
	line := []byte("#0 0x1 (/a+0x10) #1 0x2 #2 0x3 in f (/b+0x20) (BuildId: ab) tail")
	var mods []string
	var s Search
	s.Reset(line)
	for f := s.Next(0); f != nil; f = s.Next(f.Whole.End) {
		mods = append(mods, string(f.Num.Of(line))+string(f.Module.Of(line)))
	}
	if len(mods) != 3 || mods[0] != "0/a" || mods[1] != "1" || mods[2] != "2/b" {
		t.Errorf("got %q", mods)
	}
}

// TestLongLines holds that odd long lines are searched in one pass; any of them would take minutes where the
// time grew with the square of the length.
func TestLongLines(t *testing.T) {
	for _, piece := range longPieces {
		for _, head := range []string{"", "SUMMARY: ", "#0 0x1 "} {
			line := []byte(head + strings.Repeat(piece, 1<<18/len(piece)) + "+0x1)")
			var s Search
			s.Reset(line)
			for f := s.Next(0); f != nil; f = s.Next(f.Whole.End) {
				if f.Whole.Empty() {
					t.Fatalf("an empty frame in a line of %q", piece)
				}
			}
		}
	}
}

// longPieces are what lines of TestLongLines are made of: beginnings of frames that come to nothing, and frames.
var longPieces = []string{
	"#0 0x1 (", "+0x1)", "(/a+0x1) ", "#1 0x1 ", "#", "offset=0x1 ", "module=a offset=0x1 ", "SUMMARY: ", "#0 0x1 +0x1)", "(", ")",
	"#0 <null> ", "#0 pc 12 ", "#0 pc 12  a(", "#0 0x0123456789abcdef a ", "#0 0x0123456789abcdef in a (", "#0: a ", "#01: a[", "#0 Object \"",
	"#0 abs 1 virt ", "#0 0x1 /a ", "+0x1)[0x1]", ")+0x1)[0x1]", "a(+0x1)[0x1] ", "a+0x1/0x1", "[a+0x1]", "[1]@0x1+0x1", "]@0x1+0x1",
	"\ta+0x1 (/", "a+0x1 (/", "/a/b+0x1 ", "a/b+0x1 ", "] + 0x1", ") [a] + 0x1", "(0x1) [a] + 0x1 ", "1: (0x1) [a] + 0x1", "[0x1000]", " [0x1000]",
	"    @ 0x1 ", "1:     0x1 - ", "   by 0x1: ", " pc=0x1 ", "0x0123456789abcdef: ", " acktrace: 0x1000", " 0x1000", "1  a 0x0123456789abcdef ",
	"/TC:1 0x01234567 ", "\t 1 [unknown] (", "\n", "\\n", " in ", " ", "Location is global ", "record:0x", "0x", "+0x", "    #0 0x1\n",
}

// TestLoneAddress holds which numbers behind a logger's prefix are addresses of a list: where a fault was is none (Tencent/Hippy#3090).
func TestLoneAddress(t *testing.T) {
	const prefix = "03-29 12:10:22.467 30841 31533 E eup     : "
	for text, want := range map[string]bool{"0x283700007879": false, "  0x283700007879": true, "0x3c53042": true, "0x0000283700007879": true} {
		var s Search
		s.Reset([]byte(prefix + text))
		s.Begin(len(prefix))
		if got := s.Next(0) != nil; got != want {
			t.Errorf("%q: a frame: %v", text, got)
		}
	}
}

// FuzzFind holds that no text makes a finder panic, that frames follow each other, and that spans lie in their frame.
func FuzzFind(f *testing.F) {
	for _, s := range []string{
		"#0 0x7f01 (/usr/lib/a.so+0x1130) (Buildid: 529039c4)", "#0 <null> <null> (a+0x1)", "SUMMARY: x (/a+0x1)",
		"[frame=3 pc=0x55 module=/a offset=0x1 func=<null> src=<null>:0:0 (BuildId: ab)]", "#0 0x1#1 0x2 (a+0x1)+0x2)",
	} {
		f.Add([]byte(s))
	}
	for _, line := range samples(f) {
		f.Add(line)
	}
	for _, piece := range longPieces {
		f.Add([]byte(strings.Repeat(piece, 3)))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		var s Search
		s.Reset(line)
		from := 0
		for fr := s.Next(from); fr != nil; fr = s.Next(from) {
			if fr.Whole.Start < from || fr.Whole.Empty() || fr.Whole.End > len(line) {
				t.Fatalf("frame at %v after %d in %q", fr.Whole, from, line)
			}
			for _, s := range []Span{fr.Num, fr.Addr, fr.Gap, fr.Module, fr.Off, fr.BuildID, fr.Func, fr.Source, fr.Member, fr.Symbol} {
				if s == fr.Module && fr.Family == "addr2line" { // the command names it once
					continue
				}
				if s != (Span{}) && (s.Start > s.End || s.Start < fr.Whole.Start || s.End > fr.Whole.End) {
					t.Fatalf("span %v outside its frame %v in %q", s, fr.Whole, line)
				}
			}
			if fr.Gap.Start < fr.Num.End && fr.Shape != NumberOnly && fr.Shape != Fields {
				t.Fatalf("gap %v before the number in %q", fr.Gap, line)
			}
			if fr.Base != InModule && fr.Space != symsrc.Linked && (fr.Base != Absolute || fr.Space != symsrc.Fixed && fr.Space != symsrc.InFileOrFixed) {
				t.Fatalf("a space of the module, but none counts in %q", line)
			}
			if fr.Family == "" {
				t.Fatalf("no format in %q", line)
			}
			from = fr.Whole.End
		}
		if !bytes.Equal(line, before) {
			t.Fatal("the line was changed")
		}
	})
}

func BenchmarkFind(b *testing.B) {
	const frame = "    #0 0x55aefc1432a3  (/home/dev/bin/clang22-asan/crash+0x1182a3) (BuildId: 8fe381949ea8c7642b620146e119430364dc452b)"
	for _, bm := range []struct{ name, line string }{
		{"sanitizer", frame},
		{"logcat", "06-26 17:53:52.371 12487 12487 I wrap.sh : " + frame},
		{"none", "06-26 17:53:52.371 12487 12487 I wrap.sh : the value at offset+0x10 of the table is not what it was, in 3 of 4 cases"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			line := []byte(bm.line)
			b.ReportAllocs()
			var s Search
			for b.Loop() {
				s.Reset(line)
				for f := s.Next(0); f != nil; f = s.Next(f.Whole.End) {
				}
			}
		})
	}
}
