package filter_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"qss-filter/filter"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/stream"
)

// wide encodes text in UTF-16.
func wide(order binary.AppendByteOrder, text string) (b []byte) {
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

// encodings are those of UTF-16, with their byte order marks.
var encodings = []struct {
	name  string
	order binary.AppendByteOrder
	mark  string
}{{"little endian", binary.LittleEndian, "\xff\xfe"}, {"big endian", binary.BigEndian, "\xfe\xff"}, {"little endian, no mark", binary.LittleEndian, ""},
	{"big endian, no mark", binary.BigEndian, ""}}

// carried is what Run makes of bytes.
func carried(t *testing.T, o filter.Options, in io.Reader) string {
	t.Helper()
	o.Symbols = &manySource{asked: map[uint64]int{}}
	var out bytes.Buffer
	if err := filter.New(o).Run(context.Background(), in, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const wideLog = "starting \U0001F600 é\r\n#0 0x10 (/a.so+0x10)\r\n\tbetween\n#1 0x20 (/a.so+0x20) Ω\r\nthe end"

// TestUTF16 holds that a log in UTF-16 says what it says in UTF-8, in its own encoding, however it arrives.
func TestUTF16(t *testing.T) {
	want := carried(t, filter.Options{}, strings.NewReader(wideLog))
	if !strings.Contains(want, "in f10 /src/a.c") {
		t.Fatalf("got %q", want)
	}
	for _, e := range encodings {
		for _, tail := range []string{"", "\x41", "\x3d"} { // half of a code unit
			in := e.mark + string(wide(e.order, wideLog)) + tail
			encoded := e.mark + string(wide(e.order, want)) + tail
			for name, reader := range map[string]io.Reader{"whole": strings.NewReader(in), "halves": iotest.HalfReader(strings.NewReader(in)),
				"bytes": iotest.OneByteReader(strings.NewReader(in)), "error with data": iotest.DataErrReader(strings.NewReader(in))} {
				if e.mark == "" && name == "bytes" {
					continue // a first byte alone is that of any text, which does not wait for more
				}
				if got := carried(t, filter.Options{}, stream.Steady(reader)); got != encoded {
					t.Errorf("%s, %s: got %q, want %q", e.name, name, got, encoded)
				}
			}
			narrow := want
			if tail != "" {
				narrow += "\ufffd"
			}
			if got := carried(t, filter.Options{Narrow: true}, strings.NewReader(in)); got != narrow {
				t.Errorf("%s, to a terminal: %q, want %q", e.name, got, narrow)
			}
			if got := carried(t, filter.Options{JSON: &jsonl.Options{}}, strings.NewReader(in)); !strings.Contains(got, "f10") || strings.Contains(got, "\x00") {
				t.Errorf("%s, as JSON: %q", e.name, got)
			}
		}
	}
}

// TestUTF16Letters holds that a log leaves as it came wherever letters stand that are not ASCII, among those that are read four at once.
func TestUTF16Letters(t *testing.T) {
	for _, e := range encodings {
		for _, other := range []string{"\u0080", "Ω", "\uff41", "\U0001F600", "\x00", "\x7f"} {
			for before := range 10 {
				text := "begin\n" + strings.Repeat("a", before) + other + strings.Repeat("z", 9-before) + other + "\nthe end, with letters enough\n"
				in := e.mark + string(wide(e.order, text))
				if e.mark == "" && other == "\x00" {
					continue // which is no text without a mark
				}
				if got := carried(t, filter.Options{}, strings.NewReader(in)); got != in {
					t.Errorf("%s: %q is written as %q", e.name, in, got)
				}
				if got := carried(t, filter.Options{Narrow: true}, strings.NewReader(in)); got != text {
					t.Errorf("%s, to a terminal: %q is written as %q", e.name, text, got)
				}
			}
		}
	}
}

// TestNotUTF16 are beginnings that could be taken for UTF-16, and are not.
func TestNotUTF16(t *testing.T) {
	for _, text := range []string{"", "a", "\x00", "\xff", "a\x00", "a\x00b", "a\x00b\x00", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00", "a\x00\x01\x00b\x00c\x00d\x00",
		"\xff\xfe\x00\x00a\x00\x00\x00", "plain text\n", "\x00\x00\x00\x00\x00\x00\x00\x00\x00", "a\x00b\x00\x00\x00c\x00d\x00e\x00"} {
		if stream.IsUTF16([]byte(text)) {
			t.Errorf("%q is taken for UTF-16", text)
		}
		if got := carried(t, filter.Options{}, strings.NewReader(text)); got != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}

// TestUTF16Live holds that a line leaves before the next one arrives.
func TestUTF16Live(t *testing.T) {
	in, log := io.Pipe()
	shown, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- filter.New(filter.Options{Symbols: &manySource{asked: map[uint64]int{}}}).Run(context.Background(), in, out)
		out.Close()
	}()
	for i := range 5 {
		line := fmt.Sprintf("#%d 0x10 (/a.so+0x10)\r\n", i)
		text, mark := wide(binary.LittleEndian, line), ""
		if i == 0 {
			mark = "\xff\xfe"
		}
		if _, err := io.WriteString(log, mark+string(text)); err != nil {
			t.Fatal(err)
		}
		want := mark + string(wide(binary.LittleEndian, carried(t, filter.Options{}, strings.NewReader(line))))
		got := make([]byte, len(want))
		if _, err := io.ReadFull(shown, got); err != nil || string(got) != want {
			t.Fatalf("line %d: %q, want %q, %v", i, got, want, err)
		}
	}
	log.Close()
	if rest, err := io.ReadAll(shown); len(rest) > 0 || err != nil {
		t.Errorf("behind the end: %q, %v", rest, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// FuzzUTF16 holds that every byte of what has no frames leaves as it came: halves of pairs, half of a unit, other encodings.
func FuzzUTF16(f *testing.F) {
	for _, e := range encodings {
		f.Add([]byte(e.mark + string(wide(e.order, "line \U0001F600\r\nanother"))))
		f.Add([]byte(e.mark + string(wide(e.order, "half")) + "\x3d\xd8\x3d\xd8\xde"))
	}
	f.Add([]byte("\xff\xfe\x00\xd8\x0a\x00\x00\xdc\xff\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		f := filter.New(filter.Options{Symbols: &manySource{asked: map[uint64]int{}}})
		var out bytes.Buffer
		if err := f.Run(context.Background(), stream.Steady(iotest.HalfReader(bytes.NewReader(text))), &out); err != nil {
			t.Fatal(err)
		}
		if f.Stats().Frames == 0 && !bytes.Contains(text, []byte("{")) && !bytes.Equal(out.Bytes(), text) {
			t.Errorf("%q is written as %q", text, out.Bytes())
		}
	})
}
