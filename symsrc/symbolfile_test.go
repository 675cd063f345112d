package symsrc

import (
	"strings"
	"testing"
)

func TestDebugID(t *testing.T) {
	id, _ := ParseBuildID("e536511b75bc65beb3673345d73240c9c14efe76")
	for _, tc := range []struct{ id, want string }{
		{string(id), "1B5136E5BC75BE65B3673345D73240C90"}, // what Breakpad's dump_syms says of it
		{string(id[:16]), "1B5136E5BC75BE65B3673345D73240C90"},
		{"\x01\x02\x03\x04\x05\x06\x07\x08", "040302010605080700000000000000000"},
	} {
		if got := BuildID(tc.id).DebugID(); got != tc.want {
			t.Errorf("%x: %s, want %s", tc.id, got, tc.want)
		}
		if back, ok := ParseDebugID([]byte(tc.want)); !ok || back != BuildID(tc.id).Cut() {
			t.Errorf("%s: %x", tc.want, back)
		}
	}
}

func TestIdentifyBreakpad(t *testing.T) {
	id, _ := ParseBuildID("e536511b75bc65beb3673345d73240c9c14efe76")
	other, _ := ParseBuildID("e536511b75bc65beb3673345d73240c9c14efe77")
	machO, _ := ParseBuildID("1b5136e5bc75be65b3673345d73240c9")
	short := BuildID("\x1b\x2c\x3d\x4e\x5f\x60\x71\x82")
	const module = "MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 "
	for _, tc := range []struct {
		head     string
		ok       bool
		id, not  BuildID
		cut      bool
		fileName string
	}{
		{module + "a\nINFO CODE_ID E536511B75BC65BEB3673345D73240C9C14EFE76\n", true, id, other, false, "a"},
		{module + "a\r\nINFO GENERATOR mozilla/dump_syms\r\nINFO CODE_ID e536511b75bc65beb3673345d73240c9c14efe76 a.so\r\n", true, id, other, false, "a"},
		{module + "with blanks.so\nFILE 0 a\n", true, id, "", true, "with blanks.so"},
		{module + "a\nFILE 0 a\nINFO CODE_ID 00\n", true, other, "", true, "a"},
		{"MODULE Linux arm 4E3D2C1B605F827100000000000000000 a\n", true, short, short + "\x01", true, "a"},
		{"MODULE Android arm64 1B5136E5BC75BE65B3673345D73240C9000 a\n", true, id, "", true, "a"},
		{head: "MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90\nFILE 0 a\n", ok: true, id: id, cut: true},
		{head: module + "a\nINFO CODE_ID F536511B75BC65BEB3673345D73240C9C14EFE76\n"}, // they contradict each other
		{head: module + "a\nINFO CODE_ID what\n"},
		{head: module + "cut off"},
		{head: "MODULE windows x86_64 1B5136E5BC75BE65B3673345D73240C90 a.pdb\n"},
		{"MODULE mac arm64 1B5136E5BC75BE65B3673345D73240C90 a\n", true, machO, id, false, "a"},
		{"MODULE Mac arm64 1B5136E5BC75BE65B3673345D73240C90 a\nINFO CODE_ID 1B5136E5BC75BE65B3673345D73240C9\n", true, machO, id, false, "a"},
		{head: "MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C91 a\n"}, // an age
		{head: "MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C9 a\n"},
		{head: "MODULE Linux x86_64 000000000000000000000000000000000 a\n"},
		{head: "MODULE Linux x86_64 XB5136E5BC75BE65B3673345D73240C90 a\n"},
		{head: "MODULE \n"}, {head: "MODULE"}, {head: "GSYM"}, {head: ""}, {head: "\x7fELF"},
		{head: "MYSG\x01\x00\x02\x15" + strings.Repeat("\xff", 60)}, // a UUID of 21 bytes
		{head: "MYSG\x01\x00\x02\x00" + strings.Repeat("\xff", 60)}, // none
		{head: "MYSG\x03\x00\x02\x10" + strings.Repeat("\xff", 60)},
		{head: "MYSG\x02\x00\x02\x00" + strings.Repeat("\x06\x00\x00\x00", 20)},
		{"MYSG\x01\x00\x02\x14" + strings.Repeat("\x00", 20) + string(id), true, id, other, false, ""},
	} {
		f, ok := IdentifySymbols([]byte(tc.head))
		if ok != tc.ok {
			t.Errorf("%q: %v %+v", tc.head, ok, f)
			continue
		}
		if !ok {
			continue
		}
		if f.Cut != tc.cut || f.Name != tc.fileName || !f.Of(tc.id) || f.Of(tc.not) || f.Of("") {
			t.Errorf("%q: %+v", tc.head, f)
		}
	}
}

func TestFits(t *testing.T) {
	id, _ := ParseBuildID("e536511b75bc65beb3673345d73240c9c14efe76")
	other, _ := ParseBuildID("e536511b75bc65beb3673345d73240cac14efe76")
	short := BuildID("\x1b\x2c\x3d\x4e\x5f\x60\x71\x82")
	for _, tc := range []struct {
		id, file BuildID
		want     bool
	}{
		{id, id, true}, {id, other, false}, {id.Cut(), id, true}, {id.Cut(), id.Cut(), true}, {id.Cut(), other, false},
		{id, id.Cut(), false}, {short.Cut(), short, true}, {short, short.Cut(), false}, {id.Cut(), "", false}, {BuildID("").Cut(), "", false},
	} {
		if got := tc.id.Fits(tc.file); got != tc.want {
			t.Errorf("%s fits %s: %v", tc.id, tc.file, got)
		}
	}
}
