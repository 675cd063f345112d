package worker

import (
	"strings"
	"testing"
	"time"

	"qss-filter/filter"
)

func newProcess() *process {
	f := filter.New(filter.Options{Symbols: offsets{}})
	return &process{filter: f, feed: f.Feed()}
}

// TestMessages feeds a process line by line, and compares the messages after each.
func TestMessages(t *testing.T) {
	p := newProcess()
	var out []message
	for i, c := range []struct {
		data string
		part bool
		want string // the messages that are complete by then: `SEQ[held] TEXT`
	}{
		{data: "one\n", want: "1 one\n"},
		{data: "two", want: "2 two"}, // without its end, as other shippers send lines
		{data: "a\nb\n", want: "3 a\nb\n"},
		{data: "", want: "4 "},
		{data: "{{{module:0:a.so:elf:0123abcd}}}\n"},
		{data: "{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n", want: "5 held "},
		{data: "text\n", want: "6 held |7 [[[ELF module #0x0 \"a.so\"; BuildID=0123abcd [0x1000-0x1fff](rx)]]]\ntext\n"},
		{data: "a line in ", part: true},
		{data: "three ", part: true, want: "8 held "},
		{data: "parts\n", want: "9 held |10 a line in three parts\n"},
	} {
		out = p.add(t.Context(), out[:0], &line{seq: uint64(i + 1), data: []byte(c.data), part: c.part}, 1000)
		if got := shown(out); got != c.want {
			t.Errorf("after %q: %q, want %q", c.data, got, c.want)
		}
	}
}

func shown(out []message) string {
	var all []string
	for _, m := range out {
		text := string('0'+rune(m.seq%10)) + " "
		if m.seq >= 10 {
			text = "1" + text
		}
		if m.held {
			text += "held "
		}
		if m.more {
			text += "more "
		}
		all = append(all, text+string(m.data))
	}
	return strings.Join(all, "|")
}

// TestRest lets go what is held back, but never the rest of a line.
func TestRest(t *testing.T) {
	p := newProcess()
	p.add(t.Context(), nil, &line{seq: 1, data: []byte("{{{module:0:a.so:elf:0123abcd}}}\n")}, 1000)
	now := time.Now()
	if p.used = now; p.resting(now, time.Second) || !p.resting(now.Add(time.Second), time.Second) {
		t.Error("the time of rest is wrong")
	}
	if got := shown(p.rest(nil, 1000)); got != "1 [[[ELF module #0x0 \"a.so\"; BuildID=0123abcd]]]\n" || p.waiting != nil {
		t.Errorf("got %q", got)
	}
	p.add(t.Context(), nil, &line{seq: 2, data: []byte("begin "), part: true}, 1000)
	if p.resting(now.Add(time.Second), time.Second) || !p.resting(now.Add(partWait), time.Second) {
		t.Error("the time of rest of an unfinished line is wrong")
	}
	if got := shown(p.rest(nil, 1000)); got != "2 held " {
		t.Errorf("got %q", got)
	}
	if got := shown(p.add(t.Context(), nil, &line{seq: 3, data: []byte("end\n")}, 5)); got != "3 more begin|3  end\n" {
		t.Errorf("got %q", got)
	}
}

// TestAgain feeds lines whose messages another worker has stored.
func TestAgain(t *testing.T) {
	p := newProcess()
	p.published, p.clear = 2, 2 // with what was held back then
	for i, want := range []string{"", "", "3 text\n"} {
		data := []string{"{{{module:0:a.so:elf:0123abcd}}}\n", "{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n", "text\n"}[i]
		if got := shown(p.add(t.Context(), nil, &line{seq: uint64(i + 1), data: []byte(data)}, 1000)); got != want {
			t.Errorf("after line %d: %q, want %q", i+1, got, want)
		}
	}
	p = newProcess()
	p.published, p.clear = 3, 2 // and the beginning of a line follows that
	for i, want := range []string{"", "", "", "4 begin\n"} {
		l := &line{seq: uint64(i + 1), data: []byte([]string{"{{{module:0:a.so:elf:0123abcd}}}\n", "{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n", "be", "gin\n"}[i]), part: i == 2}
		if got := shown(p.add(t.Context(), nil, l, 1000)); got != want {
			t.Errorf("after line %d of an unfinished one: %q, want %q", i+1, got, want)
		}
	}
}
