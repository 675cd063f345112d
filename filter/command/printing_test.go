package command_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goStack prints the stack of a goroutine after a fault.
const goStack = `
	//go:noinline
	func charge(cents *int) { *cents = 1; fmt.Println("charged") }
	func work(cents *int) {
		defer func() { recover(); printStack(os.Stdout) }() // at a fault: no call ends at charge's address
		charge(cents)
	}
	func main() {
		done := make(chan bool)
		go func() { work(nil); close(done) }() // nor does one end at goexit's
		<-done
	}
`

// TestPrinting compiles what the topic on programs that print their own stacks shows, runs it, and looks whether the filter names the frames.
func TestPrinting(t *testing.T) {
	text, err := os.ReadFile("filter/command/topics/printing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "\n## C\n")
	sections := strings.Split("\n## C\n"+page, "\n## ")[1:]
	for _, test := range []struct {
		language, name, file string
		// before and after complete the block of the page.
		before, after string
		build         []string
		// want are what the functions of the stack are called, from the inside out.
		want []string
		id   bool
	}{
		{language: "C", file: "a.c", build: []string{"gcc", "-g", "-O1", "a.c", "-o", "a", "-ldl"}, want: []string{"print_stack", "charge", "main"}, id: true,
			after: "__attribute__((noinline)) void charge(int n) { print_stack(stdout); if (n) puts(\"x\"); }\nint main(int c, char **v) { charge(c - 1); puts(v[0]); return 0; }\n"},
		{language: "C++", file: "a.cc", build: []string{"g++", "-g", "-O1", "a.cc", "-o", "a", "-ldl"}, want: []string{"print_stack", `bank::charge\(int\)`, "main"},
			after: "namespace bank { __attribute__((noinline)) void charge(int n) { print_stack(stdout); if (n) std::puts(\"x\"); } }\nint main(int c, char **v) { bank::charge(c - 1); std::puts(v[0]); }\n"},
		{language: "Rust", file: "a.rs", build: []string{"rustc", "-g", "-O", "a.rs", "-o", "a"}, want: []string{"print_stack", "charge", "main"},
			after: "#[inline(never)]\nfn charge() -> io::Result<()> { print_stack(&mut io::stdout())?; println!(\"charged\"); Ok(()) }\nfn main() { charge().unwrap(); println!(\"end\"); }\n"},
		{language: "Go", file: "a.go", build: []string{"go", "build", "-o", "a", "a.go"}, want: []string{"main.printStack", "main.work.func1", "main.charge", "main.work", "main.main.func1", "runtime.goexit"},
			before: "package main\n", after: goStack},
		{language: "Go", name: "Go, stripped", file: "a.go", build: []string{"go", "build", "-ldflags=-s -w", "-o", "a", "a.go"}, want: []string{"main.printStack", "main.work.func1", "main.charge", "main.work", "main.main.func1", "runtime.goexit"},
			before: "package main\n", after: goStack},
	} {
		t.Run(cmp.Or(test.name, test.language), func(t *testing.T) {
			if _, err := exec.LookPath(test.build[0]); err != nil {
				t.Skipf("%s is not installed", test.build[0])
			}
			block := ""
			for _, section := range sections {
				if heading, lines, _ := strings.Cut(section, "\n"); heading == test.language {
					for line := range strings.Lines(lines) {
						if code, ok := strings.CutPrefix(line, "    "); ok {
							block += code
						}
					}
				}
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, test.file), []byte(test.before+block+test.after), 0o600); err != nil {
				t.Fatal(err)
			}
			build := exec.Command(test.build[0], test.build[1:]...)
			build.Dir = dir
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			log, err := exec.Command(filepath.Join(dir, "a")).Output()
			if err != nil {
				t.Fatal(err)
			}
			if test.id && bytes.Count(log, []byte(" (BuildId: ")) < len(test.want) {
				t.Errorf("no build IDs:\n%s", log)
			}
			filter := exec.Command("qss-filter", "--no-cache", "--debuginfod=off", "--color=never")
			filter.Stdin = bytes.NewReader(log)
			out, err := filter.Output()
			if err != nil || !regexp.MustCompile(`(?s)`+strings.Join(test.want, `\W.*`+regexp.QuoteMeta(test.file)+`:\d+.*`)).Match(out) {
				t.Errorf("%v\n%s\nbecame\n%s", err, log, out)
			}
		})
	}
}
