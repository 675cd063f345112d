package filter_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/prefix/prefixtest"
	"qss-filter/filter/print/jsonl"
)

// hostReport is a report of compute-sanitizer as CUDA 11.5 to 12.7 have it, with the names of C++, the unknown modules and the trailing spaces
// of real ones. The frames with a line of their own stay as they are.
const hostReport = `========= COMPUTE-SANITIZER
========= Program hit cudaErrorInvalidValue (error 1) due to "invalid argument" on CUDA API call to cudaFuncSetAttribute.
=========     Saved host backtrace up to driver entry point at error
=========     Host Frame: [0x480996]
=========                in /lib/x86_64-linux-gnu/libcuda.so.1
=========     Host Frame:cudaFuncSetAttribute [0x54d01]    
=========                in /usr/local/cuda-12.3/lib64/libcudart.so.12    
=========     Host Frame:void f<int, (cuda::std::__4::thread_scope)1>(g::h<int>, CUstream_st*) [clone .isra.0] [0xa3347]
=========                in /home/y/build/tests/./A_TEST
=========     Host Frame:Catch::Session::run() in src/catch2/catch_session.cpp:263 [0x7af20]
=========                in /home/y/build/libCatch2.so.3.3.0
=========     Host Frame:/usr/include/thrust/copy.h:176:thrust::copy<int>(int*) [0x21fa6]
=========                in /home/y/build/tests/./A_TEST
=========     Host Frame: [0xffffffffe7e80b26]
=========                in 
=========     Host Frame:_start [0xa065]
=========                in /home/y/build/tests/./A_TEST
========= 
========= ERROR SUMMARY: 1 error
`

// hostAnswers are the lines of the report that have an answer, and what the answer is: a return address is moved.
var hostAnswers = map[int]string{
	5: "/lib/x86_64-linux-gnu/libcuda.so.1@480995", 7: "/usr/local/cuda-12.3/lib64/libcudart.so.12@54d00",
	9: "/home/y/build/tests/./A_TEST@a3346", 17: "/home/y/build/tests/./A_TEST@a064",
}

// answeredReport returns the lines of the report as they leave.
func answeredReport() []string {
	lines := strings.Split(strings.TrimSuffix(hostReport, "\n"), "\n")
	for number, answer := range hostAnswers {
		text := strings.TrimRight(lines[number-1], " ")
		lines[number-1] = text + " in " + answer + lines[number-1][len(text):]
	}
	return lines
}

// hostOptions are those of a filter that shows what it was asked.
func hostOptions() filter.Options { return filter.Options{Symbols: addresses{}, Ran: filtertest.Ran} }

// TestTwoLines holds that a frame whose module stands on the next line is answered there, behind whatever prefix and in strings of JSON, that
// the first line is not delayed, and that a second run changes nothing.
func TestTwoLines(t *testing.T) {
	lines, want := strings.Split(strings.TrimSuffix(hostReport, "\n"), "\n"), answeredReport()
	f := filter.New(hostOptions())
	d := f.Feed()
	for i, line := range lines {
		if got := string(d.Add(t.Context(), nil, []byte(line+"\n"))); got != want[i]+"\n" {
			t.Errorf("line %d: got %q, want %q", i+1, got, want[i])
		}
	}
	prefixes := prefixtest.All()
	for i := range prefixes {
		p := &prefixes[i]
		got, want := filtertest.Run(t, hostOptions(), wrap(p, lines)), wrap(p, want)
		if got != want {
			t.Errorf("behind %s: %s", p.Name, firstDifference(got, want))
		}
		if again := filtertest.Run(t, hostOptions(), got); again != got {
			t.Errorf("behind %s, filtered twice: %s", p.Name, firstDifference(again, got))
		}
	}
	got, message := filtertest.Run(t, hostOptions(), `{"message":"`+escape(hostReport)+`"}`+"\n"), `{"message":"`+escape(strings.Join(want, "\n")+"\n")+`"}`+"\n"
	if got != message {
		t.Errorf("in a string: got %s\nwant %s", got, message)
	}
	if again := filtertest.Run(t, hostOptions(), got); again != got {
		t.Errorf("in a string, filtered twice: %s", again)
	}
}

// TestTwoLinesObject holds what objects of JSON say of such frames: each has its own text, behind the prefix of its line.
func TestTwoLinesObject(t *testing.T) {
	const head = "2026-11-20T15:58:12.000000001Z stderr F "
	log := head + strings.Join(strings.SplitAfter(strings.TrimSuffix(hostReport, "\n"), "\n"), head) + "\n" + `{"message":"` + escape(hostReport) + `"}` + "\n"
	var texts []string
	for line := range strings.Lines(filtertest.Run(t, filter.Options{Symbols: addresses{}, Ran: filtertest.Ran, JSON: &jsonl.Options{}}, log)) {
		var said struct {
			Prefix struct{ Text string }
			Frames []struct{ Text, Status string }
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatal(err)
		}
		for _, fr := range said.Frames {
			texts = append(texts, fmt.Sprintf("%q %s %s", said.Prefix.Text, fr.Status, fr.Text))
		}
	}
	said := func(prefix string) string {
		return prefix + " OK Host Frame: [0x480996] in /lib/x86_64-linux-gnu/libcuda.so.1\n" +
			prefix + " OK Host Frame:cudaFuncSetAttribute [0x54d01] in /usr/local/cuda-12.3/lib64/libcudart.so.12\n" +
			prefix + " OK Host Frame:void f<int, (cuda::std::__4::thread_scope)1>(g::h<int>, CUstream_st*) [clone .isra.0] [0xa3347] in /home/y/build/tests/./A_TEST\n" +
			prefix + " OK Host Frame:_start [0xa065] in /home/y/build/tests/./A_TEST\n"
	}
	if got, want := strings.Join(texts, "\n")+"\n", said(fmt.Sprintf("%q", head))+said(`""`); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestTwoLinesCrossed holds that a module is that of no other frame, where two programs write to one log at once, lines are missing, or come
// late. Where the writers are told apart, other lines may stand between the two.
func TestTwoLinesCrossed(t *testing.T) {
	const first, second, other = "=========     Host Frame: [0x1010]\n", "=========                in /lib/a.so\n", "=========     Host Frame: [0x2020]\n"
	const answered = "=========                in /lib/a.so in /lib/a.so@100f\n"
	a, b := "app-1  | ", "app-2  | "
	plain := strings.Repeat("plain text\n", 10)
	for _, tc := range []struct{ name, log, want string }{
		{"crossed", first + other + second + second, first + other + second + second},
		{"crossed, and then not", first + other + second + second + first + second, first + other + second + second + first + answered},
		{"of three", first + other + second + first + second + second, first + other + second + first + second + second},
		{"without the first", second + first + second, second + first + answered},
		{"text between", first + plain + second, first + plain + answered},
		{"far", first + strings.Repeat(plain, 100) + second, first + strings.Repeat(plain, 100) + second},
		{"two writers", a + first + b + other + a + second + b + second, a + first + b + other + a + answered + b + "=========                in /lib/a.so in /lib/a.so@201f\n"},
		{"of another writer", a + first + b + second, a + first + b + second},
		{"complete", "=========     Host Frame:/lib/b.so [0x2020]\n" + second, "=========     Host Frame:/lib/b.so [0x2020] in /lib/b.so@201f\n" + second},
		{"in a string and out of it", `{"m":"` + escape(strings.TrimSpace(first)) + `"}` + "\n" + second, `{"m":"` + escape(strings.TrimSpace(first)) + `"}` + "\n" + second},
	} {
		for _, size := range []int{1 << 20, 7} {
			f := filter.New(hostOptions())
			d := f.Feed()
			var out []byte
			for rest := []byte(tc.log); len(rest) > 0; {
				n := min(size, len(rest))
				out = d.Add(t.Context(), out, rest[:n])
				rest = rest[n:]
			}
			if got := string(d.Flush(out)); got != tc.want {
				t.Errorf("%s, in pieces of %d: %s", tc.name, size, firstDifference(got, tc.want))
			}
		}
	}
}

// TestTwoLinesOnly holds that both lines of a frame are left where lines without a frame are left out, and nothing that only looks like one.
func TestTwoLinesOnly(t *testing.T) {
	const log = "text\n=========     Host Frame: [0x1010]\n=========                in /lib/a.so\nHost Frame:\n=========                in /lib/a.so\n" +
		`{"m":"=========     Host Frame:/lib/b.so [0x2020]\ntext"}` + "\n"
	const want = "=========     Host Frame: [0x1010]\n=========                in /lib/a.so in /lib/a.so@100f\n\n" +
		`{"m":"=========     Host Frame:/lib/b.so [0x2020] in /lib/b.so@201f\ntext"}` + "\n"
	o := hostOptions()
	o.OnlyStacks = true
	if got := filtertest.Run(t, o, log); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
