package command

import (
	"testing"

	"qss-filter/filter/importer"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"64M": 64 << 20, "1G": 1 << 30, "65536K": 64 << 20, "64MiB": 64 << 20, "64mb": 64 << 20, "67108864": 64 << 20, "67108864B": 64 << 20,
		"31M": 31 << 20, "": 0, "M": 0, "-1G": 0, "64MM": 0, "1T": 0, "64 M": 0, "9999999999G": 0, "99999999999999999999": 0, "64i": 0, "1.5G": 0,
	} {
		got, err := parseSize(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestBytesValue(t *testing.T) {
	for text, want := range map[string]string{"1": "1", "1024": "1K", "512M": "512M", "2G": "2G", "1025K": "1025K", "0": "", "-1": "", "x": "", "": "", "M": "",
		"1T": "", "1MM": "", "9999999999G": ""} {
		var b bytesValue
		err := b.Set(text)
		if (err == nil) != (want != "") || err == nil && b.String() != want {
			t.Errorf("%q is %v, %v", text, &b, err)
		}
	}
}

func TestLingerValue(t *testing.T) {
	for text, want := range map[string]string{"2s": "2s", "1m": "1m0s", "0": "0s", "0s": "0s", "forever": "forever", "": "", "x": "", "-1s": "", "2": "2s", "1.5": "1.5s", "-1": ""} {
		var l lingerValue
		err := l.Set(text)
		if (err == nil) != (want != "") || err == nil && l.String() != want {
			t.Errorf("%q is %v, %v", text, &l, err)
		}
	}
}

func TestImportValues(t *testing.T) {
	if ids, err := threads("0x7f01, 2a"); err != nil || len(ids) != 2 || ids[0] != 0x7f01 || ids[1] != 0x2a {
		t.Errorf("%v %v", err, ids)
	}
	if _, err := threads("x"); err == nil {
		t.Error("x is a thread")
	}
	var o importer.Options
	by := byFlag{by: &o.By}
	if err := by.Set("line"); err != nil || o.By != importer.ByLine || by.String() != "line" {
		t.Error(err, o.By)
	}
	if err := by.Set("pid"); err == nil {
		t.Error("samples are counted by pid")
	}
	for value, want := range map[string]importer.Offsets{"true": importer.InModule, "map-start": importer.FromMapStart, "false": importer.NoOffsets} {
		f := (*offsetsFlag)(&o.Offsets)
		if err := f.Set(value); err != nil || o.Offsets != want {
			t.Errorf("--offsets=%s: %v, %v", value, o.Offsets, err)
		}
	}
}
