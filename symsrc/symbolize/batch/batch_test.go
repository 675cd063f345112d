package batch_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"qss-filter/symsrc/symbolize/batch"
)

// TestPath checks which file a path below /proc stands for.
func TestPath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	for name, want := range map[string]string{
		fmt.Sprintf("/proc/%d/exe", pid):          self,
		fmt.Sprintf("/proc/%d/root%s", pid, self): self,
		fmt.Sprintf("/proc/%d/maps", pid):         fmt.Sprintf("/proc/%d/maps", pid),
		fmt.Sprintf("/proc/%d/root/nowhere", pid): fmt.Sprintf("/proc/%d/root/nowhere", pid),
		"/proc/self/exe":                          "/proc/self/exe",
		"/proc/kcore":                             "/proc/kcore",
		"/proc//exe":                              "/proc/exe",
		"/nowhere/../a":                           "/a",
	} {
		if got := batch.Path(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestRecent checks that answers are kept by their requests, and not more than fit.
func TestRecent(t *testing.T) {
	var r batch.Recent
	if got, ok := r.Append([]byte("a"), []byte("1")); ok || string(got) != "a" {
		t.Errorf("%q is kept of nothing", got)
	}
	r.Keep([]byte("huge"), make([]byte, 8<<20))
	if _, ok := r.Append(nil, []byte("huge")); ok {
		t.Error("an answer of 8 MiB is kept")
	}
	for i := range 1 << 16 {
		request, answer := fmt.Append(nil, i), fmt.Append(nil, "answer ", i)
		r.Keep(request, answer)
		answer[0] = 'x'
		// Another answer may have come too late on a busy machine, but not a wrong one.
		if got, ok := r.Append([]byte("a"), request); ok && string(got) != fmt.Sprint("aanswer ", i) {
			t.Fatalf("%q for %d", got, i)
		}
	}
	if _, ok := r.Append(nil, []byte("0")); ok {
		t.Error("the first of 65,536 answers is kept")
	}
}
