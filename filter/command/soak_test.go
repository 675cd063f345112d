package command_test

import (
	"os/exec"
	"runtime"
	"testing"
)

// TestSoak reads some of the traffic of testdata/soak, as much as a test has time for.
func TestSoak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors and memory are read from /proc")
	}
	lines := "60000"
	if testing.Short() {
		lines = "10000"
	}
	filter, err := exec.LookPath("qss-filter")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "run", "./testdata/soak", "-bin", filter, "-lines", lines, "-rate", "0").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
