package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPrivileged holds that programs with rights of their own are not traced, which would take these from them.
func TestPrivileged(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, setuid := file("plain", "\x7fELF", 0o755), file("setuid", "\x7fELF", 0o755|os.ModeSetuid)
	for path, want := range map[string]bool{
		plain: false, setuid: true, file("setgid", "\x7fELF", 0o755|os.ModeSetgid): true, filepath.Join(dir, "none"): true, dir: true,
		file("script", "#!"+plain+" -x\n", 0o755): false, file("empty", "#!\n", 0o755): true, file("text", "echo\n", 0o755): false,
		file("by setuid", "#! "+setuid+"\n", 0o755): true, file("itself", "#!"+filepath.Join(dir, "itself")+"\n", 0o755): true,
	} {
		if got := privileged(path, maxInterpreters); got != want {
			t.Errorf("%s: %v", filepath.Base(path), got)
		}
	}
}

// TestLoading traces programs of several kinds: all libraries that they need are mapped when they are let go, and no part of them is traced then.
func TestLoading(t *testing.T) {
	asked := []string{"library", "thread", "fork", "program in fork", "program"}
	source, err := filepath.Abs("testdata/initialized.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, compiler string
		flags          []string
		library        string // "" if it is part of the program
		argv           []string
	}{
		{"glibc", "gcc", nil, "libinitialized.so", []string{"./program"}},
		{"at a fixed address", "gcc", []string{"-no-pie", "-fno-pie"}, "libinitialized.so", []string{"./program"}},
		{"code while symbols are bound", "gcc", []string{"-DRESOLVE", "-Wl,-z,now"}, "libinitialized.so", []string{"./program"}},
		{"musl", "musl-gcc", nil, "libinitialized.so", []string{"./program"}},
		{"musl with a beginning of its own", "musl-gcc", []string{"-DALONE", "-nostartfiles"}, "libinitialized.so", []string{"./program"}},
		{"32 bits", "gcc", []string{"-m32"}, "libinitialized.so", []string{"./program"}},
		{"static", "gcc", []string{"-static"}, "", []string{"./program"}},
		{"static but movable", "gcc", []string{"-static-pie"}, "", []string{"./program"}},
		{"by a script", "gcc", nil, "libinitialized.so", []string{"./script"}},
		{"by the linker", "gcc", nil, "libinitialized.so", []string{"/lib64/ld-linux-x86-64.so.2", "./program"}},
		{"by another program", "gcc", nil, "libinitialized.so", []string{"env", "./program"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			compiler := append([]string{c.compiler}, c.flags...)
			with := func(more ...string) []string { return slices.Concat(compiler, more) }
			commands := [][]string{with("-fPIC", "-pthread", "-DLIBRARY", "-c", "-o", "library.o", source)}
			last := with("-pthread", "-o", "program", source)
			if c.library == "" {
				last = append(last, "library.o")
			} else {
				commands = append(commands, with("-shared", "-pthread", "-o", c.library, "library.o"))
				last = append(last, c.library, "-Wl,-rpath,"+dir)
			}
			for _, args := range append(commands, last) {
				build := exec.Command(args[0], args[1:]...)
				build.Dir = dir
				if out, err := build.CombinedOutput(); err != nil {
					t.Skipf("%v: %v\n%s", args, err, out)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "script"), []byte("#!"+dir+"/program\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if c.argv[0] == "./program" { // the command itself
				if maps := mapsWhenLoaded(t, dir, c.argv); c.library != "" && c.name != "32 bits" && !strings.Contains(maps, c.library) {
					t.Errorf("without the library:\n%s", maps)
				}
			}
			var want string
			where := asked
			switch {
			case slices.Contains(c.flags, "-DALONE"):
				where = []string{"program"}
			case slices.Contains(c.flags, "-DRESOLVE"):
				where = append([]string{"resolver"}, asked...)
			}
			for _, where := range where {
				want += where + " TracerPid:\t0\n"
			}
			cmd := wrapped(t, c.argv...)
			cmd.Dir, cmd.Env = dir, append(cmd.Env, asWay+"=traced")
			if out, errs, status := outcome(t, cmd); out != want || errs != "" || status != 7 {
				t.Errorf("status %d, %q, %q, want 7, %q", status, out, errs, want)
			}
		})
	}
}

// mapsWhenLoaded traces a command until its libraries are loaded, and returns what is mapped as code then.
func mapsWhenLoaded(t *testing.T, dir string, argv []string) (maps string) {
	t.Helper()
	runtime.LockOSThread() // by which alone it can be traced
	defer runtime.UnlockOSThread()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Path = filepath.Join(dir, argv[0])
	if !setTraced(cmd, true) {
		t.Fatal("it is not traced")
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	called := 0
	traceLoading(cmd.Process.Pid, func() {
		called++
		raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "maps"))
		if err != nil {
			t.Error(err)
		}
		for _, m := range readMappings(raw) {
			maps += m.path + "\n"
		}
	})
	if status := statusOf(t, cmd.Wait()); status != 7 || called != 1 {
		t.Errorf("status %d, %d calls", status, called)
	}
	return maps
}
