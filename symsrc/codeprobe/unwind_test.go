package codeprobe

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// frames returns a .debug_frame of one CIE and one FDE for 0x1000 to 0x1100, with these programs.
func frames(initial, program []byte) []byte {
	entry := func(body ...[]byte) []byte {
		b := slices.Concat(body...)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	cie := entry([]byte{0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0, 1, 0x78, 16}, initial)
	var place []byte
	for _, v := range []uint64{0x1000, 0x100} {
		place = binary.LittleEndian.AppendUint64(place, v)
	}
	return append(cie, entry(make([]byte, 4), place, program)...)
}

// unwindAll returns all that a section says.
func unwindAll(t testing.TB, f *Code, s frameSection) (all []Unwinding) {
	t.Helper()
	x := unwinder{seen: make(map[uint64]bool), each: func(u *Unwinding) error {
		c := *u
		c.Rows = slices.Clone(u.Rows)
		all = append(all, c)
		return nil
	}}
	if err := x.section(f, s); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestUnwindInstructions performs every instruction (DWARF 5 §6.4.2).
func TestUnwindInstructions(t *testing.T) {
	f := New(&elf.File{Header: elf.Header{Format: elf.Format{Is64: true}}}, &elf.Content{}, nil, nil)
	initial := []byte{cfaDefCFA, 7, 8, cfaOffset | 16, 1}
	first := []Rule{{CFA, RuleValue, 7, 8}, {16, RuleSaved, CFA, -8}}
	for _, tc := range []struct {
		name    string
		program []byte
		want    []UnwindRow // after the first
	}{
		{"nothing", nil, nil},
		{"offsets", []byte{cfaAdvance | 1, cfaDefCFAOffset, 16, cfaOffset | 6, 2, cfaAdvance1, 3, cfaDefCFARegister, 6},
			[]UnwindRow{{0x1001, []Rule{{CFA, RuleValue, 7, 16}, {6, RuleSaved, CFA, -16}}}, {0x1004, []Rule{{CFA, RuleValue, 6, 16}}}}},
		{"what is so already", []byte{cfaAdvance | 1, cfaDefCFAOffset, 8, cfaAdvance | 1, cfaDefCFAOffset, 16}, []UnwindRow{{0x1002, []Rule{{CFA, RuleValue, 7, 16}}}}},
		{"remembered", []byte{cfaAdvance | 1, cfaOffset | 3, 2, cfaAdvance | 1, cfaRememberState, cfaDefCFAOffset, 16, cfaRestore | 3, cfaAdvance | 1, cfaRestoreState},
			[]UnwindRow{{0x1001, []Rule{{3, RuleSaved, CFA, -16}}}, {0x1002, []Rule{{CFA, RuleValue, 7, 16}, {3, RuleSame, 0, 0}}},
				{0x1003, []Rule{{CFA, RuleValue, 7, 8}, {3, RuleSaved, CFA, -16}}}}},
		{"given back what the CIE has not", []byte{cfaRememberState, cfaAdvance | 1, cfaOffset | 3, 2, cfaAdvance | 1, cfaRestoreState},
			[]UnwindRow{{0x1001, []Rule{{3, RuleSaved, CFA, -16}}}, {0x1002, []Rule{{3, RuleSame, 0, 0}}}}},
		{"all of the CIE's", []byte{cfaAdvance | 1, cfaUndefined, 16, cfaAdvance | 1, cfaRestoreExtended, 16},
			[]UnwindRow{{0x1001, []Rule{{16, RuleUndefined, 0, 0}}}, {0x1002, []Rule{{16, RuleSaved, CFA, -8}}}}},
		{"long forms", []byte{cfaAdvance2, 0, 1, cfaOffsetExtended, 3, 2, cfaAdvance4, 1, 0, 0, 0, cfaOffsetExtendedSF, 3, 0x7d, cfaAdvance8, 1, 0, 0, 0, 0, 0, 0, 0, cfaNegativeOffset, 3, 4},
			[]UnwindRow{{0x1100, []Rule{{3, RuleSaved, CFA, -16}}}, {0x1101, []Rule{{3, RuleSaved, CFA, 24}}}, {0x1102, []Rule{{3, RuleSaved, CFA, 32}}}}},
		{"values", []byte{cfaAdvance | 1, cfaValOffset, 3, 2, cfaValOffsetSF, 6, 1, cfaRegister, 12, 13, cfaSameValue, 14},
			[]UnwindRow{{0x1001, []Rule{{3, RuleValue, CFA, -16}, {6, RuleValue, CFA, -8}, {12, RuleValue, 13, 0}, {14, RuleSame, 0, 0}}}}},
		{"signed frames", []byte{cfaAdvance | 1, cfaDefCFASF, 6, 0x7e, cfaAdvance | 1, cfaDefCFAOffsSF, 0x7d}, []UnwindRow{{0x1001, []Rule{{CFA, RuleValue, 6, 16}}}, {0x1002, []Rule{{CFA, RuleValue, 6, 24}}}}},
		{"expressions", []byte{cfaAdvance | 1, cfaDefCFAExpr, 2, 0x77, 8, cfaExpression, 3, 1, 0x30, cfaValExpression, 6, 0, cfaArgsSize, 8, cfaNegateRAState},
			[]UnwindRow{{0x1001, []Rule{{CFA, RuleUnknown, 0, 0}, {3, RuleUnknown, 0, 0}, {6, RuleUnknown, 0, 0}}}}},
		{"a place", append([]byte{cfaSetLoc}, append(binary.LittleEndian.AppendUint64(nil, 0x1008), cfaDefCFAOffset, 16)...), []UnwindRow{{0x1008, []Rule{{CFA, RuleValue, 7, 16}}}}},
		{"unknown", []byte{cfaAdvance | 1, cfaDefCFAOffset, 16, 0x3f, cfaAdvance | 1, cfaDefCFAOffset, 24}, []UnwindRow{{0x1001, []Rule{{CFA, RuleValue, 7, 16}}}}},
		{"cut off", []byte{cfaAdvance | 1, cfaDefCFAOffset}, []UnwindRow{{0x1001, nil}}},
	} {
		all := unwindAll(t, f, frameSection{Format: f.elf.Format, data: frames(initial, tc.program)})
		if len(all) != 1 || all[0].Lo != 0x1000 || all[0].Hi != 0x1100 || all[0].Return != 16 {
			t.Errorf("%s: %+v", tc.name, all)
			continue
		}
		want := append([]UnwindRow{{0x1000, first}}, tc.want...)
		for i := range all[0].Rows {
			slices.SortFunc(all[0].Rows[i].Rules, func(a, b Rule) int { return a.Register - b.Register })
		}
		if !slices.EqualFunc(all[0].Rows, want, func(a, b UnwindRow) bool { return a.Addr == b.Addr && slices.Equal(a.Rules, b.Rules) }) {
			t.Errorf("%s:\n got %+v\nwant %+v", tc.name, all[0].Rows, want)
		}
	}
}

// FuzzUnwind reads sections of any content, as either kind.
func FuzzUnwind(f *testing.F) {
	f.Add(frames([]byte{cfaDefCFA, 7, 8}, []byte{cfaAdvance | 1, cfaRememberState, cfaOffset | 3, 2, cfaRestoreState}), false, true)
	paths, _ := filepath.Glob("../object/testdata/*.elf")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		file, err := elf.New(data, budget.NewFile(len(data)), elf.Rules{})
		if err != nil {
			continue
		}
		if s, ok := New(file, &elf.Content{}, nil, nil).frameSection(); ok {
			f.Add(slices.Clone(s.data), true, !file.Big)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, eh, little bool) {
		file := New(&elf.File{Header: elf.Header{Format: elf.Format{Is64: true, Big: !little}}}, &elf.Content{}, nil, nil)
		for _, u := range unwindAll(t, file, frameSection{Format: file.elf.Format, data: data, eh: eh, addr: 0x1000}) {
			if u.Lo >= u.Hi || len(u.Rows) == 0 || u.Rows[0].Addr != u.Lo || len(u.Rows) > maxUnwindRows {
				t.Errorf("%+v", u)
			}
		}
	})
}
