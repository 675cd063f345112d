package gsym

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"qss-filter/symsrc/budget"
)

// chunk is a chunk of a FunctionInfo.
type chunk struct {
	kind uint32
	data string
}

// hostile returns a file of version 1 with count functions at address 0, of 16 MiB each, which share one FunctionInfo.
func hostile(count int, names string, chunks ...chunk) []byte {
	le := binary.LittleEndian
	b := append([]byte("MYSG\x01\x00\x04\x14"), make([]byte, 8)...)
	b = le.AppendUint32(b, uint32(count))
	b = append(b, make([]byte, 28+8*count)...) // offset and size of the string table, the UUID, the addresses, and the FunctionInfo offsets
	b = le.AppendUint32(b, 2)                  // number of files
	for _, v := range [...]uint32{0, 0, 1, 1} {
		b = le.AppendUint32(b, v)
	}
	le.PutUint32(b[20:], uint32(len(b)))
	le.PutUint32(b[24:], uint32(len(names)))
	b = append(b, names...)
	b = append(b, make([]byte, -len(b)&3)...)
	for i := range count {
		le.PutUint32(b[48+4*count+4*i:], uint32(len(b)))
	}
	b = le.AppendUint32(le.AppendUint32(b, 16<<20), 1)
	for _, c := range chunks {
		b = append(le.AppendUint32(le.AppendUint32(b, c.kind), uint32(len(c.data))), c.data...)
	}
	return append(b, make([]byte, 8)...)
}

// TestCost repeats expensive lookups until they exceed the budget of the file.
func TestCost(t *testing.T) {
	const oneLine = "\x00\x04\x05\x05\x10\x00"
	call := "\x01\x00\x80\x80\x80\x08\x00\x01\x00\x00\x00\x01\x01"
	for name, data := range map[string][]byte{
		"lines":                         hostile(1, "\x00f\x00", chunk{lineTable, "\x7f\x00\x01" + strings.Repeat("\x03\x00", 2<<20)}),
		"files":                         hostile(1, "\x00f\x00", chunk{lineTable, "\x00\x04\x05" + strings.Repeat("\x01\x01", 2<<20)}),
		"ranges":                        hostile(1, "\x00f\x00", chunk{lineTable, oneLine}, chunk{inlineInfo, "\xff\xff\xff\xff\x0f" + strings.Repeat("\x01\x01", 2<<20)}),
		"calls":                         hostile(1, "\x00f\x00", chunk{lineTable, oneLine}, chunk{inlineInfo, "\x01\x00\x80\x80\x80\x08\x01\x01\x00\x00\x00\x01\x01" + strings.Repeat(strings.Replace(call, "\x80\x80\x80\x08", "\x01", 1), 1<<18)}),
		"many functions at one address": hostile(64, "\x00f\x00", chunk{lineTable, "\x7f\x00\x01" + strings.Repeat("\x03\x00", 2<<20)}),
	} {
		t.Run(name, func(t *testing.T) {
			f, err := New(data)
			if err != nil {
				t.Fatal(err)
			}
			const steps = 1 << 26
			f.work = budget.Steps(steps)
			most := steps/(stepsPerByte*2<<20) + 1
			lookups := 0
			for ; lookups <= most && err == nil; lookups++ {
				_, err = f.Frames(0x100 + uint64(lookups))
			}
			if !errors.Is(err, budget.ErrExceeded) {
				t.Errorf("after %d lookups: %v", lookups, err)
			}
		})
	}
}

// TestLongAnswer nests calls of functions with long names.
func TestLongAnswer(t *testing.T) {
	inlined := strings.Repeat("\x01\x00\x80\x80\x80\x08\x01\x01\x00\x00\x00\x01\x01", 900)
	for length, want := range map[int]error{20: nil, 1000: budget.ErrTooLong, 60000: budget.ErrTooLong} {
		f, err := New(hostile(1, "\x00"+strings.Repeat("n", length)+"\x00", chunk{lineTable, "\x00\x04\x05\x05\x10\x00"}, chunk{inlineInfo, inlined}))
		if err != nil {
			t.Fatal(err)
		}
		if frames, err := f.Frames(1); !errors.Is(err, want) || want == nil && len(frames) < 800 {
			t.Errorf("names of %d bytes: %d frames, %v", length, len(frames), err)
		}
	}
}

// TestInvalidCounts checks headers with counts and offsets beyond the end of the file.
func TestInvalidCounts(t *testing.T) {
	good := hostile(1, "\x00f\x00")
	for at, what := range map[int]string{16: "functions", 20: "string table offset", 24: "string table size", 56: "files"} {
		for _, v := range [...]uint32{0x7fffffff, 0xffffffff, uint32(len(good))} {
			b := append([]byte(nil), good...)
			binary.LittleEndian.PutUint32(b[at:], v)
			f, err := New(b)
			if err == nil {
				_, err = f.Frames(1)
			}
			if !errors.Is(err, ErrCorrupted) {
				t.Errorf("%d as %s: %v", v, what, err)
			}
		}
	}
}
