package command_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"qss-filter/symsrc/locate"
)

// TestSymbolizeLetters holds that -s of symbolize is --symbols, and that of addr2line with other letters of that.
func TestSymbolizeLetters(t *testing.T) {
	module := sampleModule(t)
	for args, want := range map[string]string{
		"-s testdata/rootfs/usr/lib/debug " + library + " 0x1130": "0x1130: inner_func /usr/src/demo/./inner.c:8:11\n",
		"-s -f -e " + module + " 0x3080":                          "walk\nemit.c:13\n",
		"-sfe " + module + " 0x3080":                              "walk\nemit.c:13\n",
		"-fse " + module + " 0x3080":                              "walk\nemit.c:13\n",
		"-f -e " + module + " 0x3080":                             "walk\n/usr/src/demo/emit.c:13\n",
	} {
		cmd := startTool(t, "qss-filter", append([]string{"symbolize"}, strings.Fields(args)...)...)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("symbolize %s: %v, %q, want %q", args, err, out, want)
		}
	}
}

// TestStandInFiles holds that what is no file of symbols is not waited for, and that the next request is answered.
func TestStandInFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("these files are those of Linux")
	}
	module, pipe := sampleModule(t), filepath.Join(t.TempDir(), "pipe")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v: %s", err, out)
	}
	files := []string{pipe, "/dev/zero", "/dev/null", "/proc/kmsg", "/proc/self/exe", "/proc/self/mem", "/sys/kernel/notes", t.TempDir()}
	if os.Geteuid() != 0 { // who may read everything
		secret := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(secret, []byte("\x7fELF"), 0); err != nil {
			t.Fatal(err)
		}
		files = append(files, secret)
	}
	for _, path := range files {
		cmd := startTool(t, "llvm-symbolizer")
		cmd.Stdin = strings.NewReader("CODE " + path + " 0x10\nCODE " + module + " 0x3080\n")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if want := "??\n??:0:0\n\nwalk\n/usr/src/demo/emit.c:13:1\n\n"; err != nil || string(out) != want || !strings.Contains(errs.String(), path) {
			t.Errorf("%s: %v, %q, %q", path, err, out, &errs)
		}
		cmd = startTool(t, "addr2line", "-e", path, "10")
		if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte(path)) {
			t.Errorf("addr2line of %s: %v, %q", path, err, out)
		}
	}
}

// TestStandInServerHangs holds that a report does not wait for a server that never answers: while it is asked for the files of several
// modules, all requests are answered.
func TestStandInServerHangs(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	cmd := startTool(t, "llvm-symbolizer")
	cmd.Env = append(cmd.Env, "DEBUGINFOD_URLS="+server.URL)
	cmd.Stdin = strings.NewReader("BUILDID:00112233445566778899 0x10\nBUILDID:00112233445566778800 0x10\nBUILDID:00112233445566778811 0x10\nCODE " +
		sampleModule(t) + " 0x3080\n")
	out, err := cmd.Output() // before the server is released
	if want := strings.Repeat("??\n??:0:0\n\n", 3) + "walk\n/usr/src/demo/emit.c:13:1\n\n"; err != nil || string(out) != want {
		t.Errorf("%v, %q", err, out)
	}
}

// TestStandInServerHas holds that a server is asked for the debug information of a stripped file, by the build ID of that, and that the
// next process has it without one.
func TestStandInServerHas(t *testing.T) {
	stripped := "testdata/rootfs/usr/lib/libdemo-1.2.3.so"
	id := locate.FileID(stripped).String()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.URL.Path != "/buildid/"+id+"/debuginfo" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, "testdata/rootfs/usr/lib/debug/.build-id/"+id[:2]+"/"+id[2:]+".debug")
	}))
	defer server.Close()
	cache := t.TempDir()
	for range 2 {
		for _, c := range []struct{ command, want string }{
			{"llvm-symbolizer --obj=" + stripped + " 0x1130", "inner_func\n/usr/src/demo/./inner.c:8:11\nmid_wrapper\n"},
			{"addr2line -fe " + stripped + " 1130", "inner_func\n/usr/src/demo/./inner.c:8\n"},
			{"qss-filter symbolize " + stripped + " 1130", "0x1130: inner_func /usr/src/demo/./inner.c:8:11\n"},
		} {
			words := strings.Fields(c.command)
			words = append(words, "--debuginfod-timeout=1h") // however busy the machine is
			cmd := startTool(t, words[0], words[1:]...)
			cmd.Env = append(cmd.Env, "DEBUGINFOD_URLS="+server.URL, "DEBUGINFOD_CACHE_PATH="+cache)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%s: %v, %q, want %q", c.command, err, out, c.want)
			}
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}
