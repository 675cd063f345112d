package tree

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// panics is a program that dies as its argument says.
const panics = `package main

import (
	"os"
	"runtime/debug"
	"time"
)

type cart struct{ items []int }

func (c *cart) total() int { return len(c.items) + c.items[7] }

func wait() { time.Sleep(time.Minute) }

func write(m map[int]int) {
	for i := 0; ; i++ {
		m[i%10]++
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func deep(n int) int { return deep(n+1) + n }

func main() {
	debug.SetMaxStack(1 << 16)
	go wait()
	go func() { wait() }()
	time.Sleep(20 * time.Millisecond)
	switch os.Args[1] {
	case "nil":
		var c *cart
		println(c.total())
	case "index":
		println((&cart{}).total())
	case "map":
		m := map[int]int{}
		go write(m)
		go write(m)
		wait()
	case "deep":
		println(deep(1))
	case "custom":
		check(os.ErrClosed)
	}
}
`

// TestGoroutines has what Go prints of real panics: each is one bug, whose functions are those of the goroutine that has crashed, and the
// other goroutines are below it.
func TestGoroutines(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "panics.exe")
	if err := os.WriteFile(source, []byte(panics), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	function := regexp.MustCompile(`(?m)^(panic|\S+\.\S+)\(.*\)\n\t(\S+):(\d+)`)
	for _, c := range []struct{ kind, signature, head string }{
		{"nil", "main.(*cart).total--main.main", "invalid memory address or nil pointer dereference"},
		{"index", "main.(*cart).total--main.main", "index out of range [7] with length 0"},
		{"map", "main.write", "fatal error: concurrent map writes"},
		{"deep", "main.deep--main.deep--main.deep", "fatal error: stack overflow"},
		{"custom", "main.check--main.main", "panic: file already closed"},
	} {
		for _, level := range []string{"single", "all", "system", "crash"} {
			cmd := exec.Command(program, c.kind)
			cmd.Env = append(os.Environ(), "GOTRACEBACK="+level)
			log, _ := cmd.CombinedOutput()
			for _, prefix := range []string{"", "web-1  | "} {
				name := c.kind + " " + level + " " + prefix
				text := prefix + strings.ReplaceAll(strings.TrimSuffix(string(log), "\n"), "\n", "\n"+prefix) + "\n"
				b := newBatch(t, map[string]string{"l": text})
				b.opt.Group, b.opt.HTML = true, filepath.Join(b.out, "stacks.html")
				b.run(t, nil)
				rows := strings.Split(strings.TrimSpace(b.file(t, "groups.tsv")), "\n")[1:]
				faults, stacks := 0, 0
				for _, row := range rows {
					cells := strings.Split(row, "\t")
					n, _ := strconv.Atoi(cells[0])
					stacks += n
					if cells[8] == otherGoroutine {
						continue
					}
					faults += n
					if !strings.HasPrefix(cells[6], c.signature) || cells[7] != c.head || cells[8] != "fault" {
						t.Errorf("%s: %s", name, row)
					}
				}
				heads := strings.Count(string(log), "\ngoroutine ") + strings.Count(string(log), "\nruntime stack:")
				if faults != 1 || stacks != heads && !(level == "system" || level == "crash") || stacks < 1 || stacks > heads {
					t.Errorf("%s: %d faults, %d stacks of %d goroutines:\n%s\n%s", name, faults, stacks, heads, log, strings.Join(rows, "\n"))
				}
				written := b.file(t, "l.stack.txt")
				for _, found := range function.FindAllStringSubmatch(string(log), -1) {
					if line := " " + found[1] + " " + found[2] + ":" + found[3] + "\n"; !strings.Contains(written, line) {
						t.Errorf("%s: %q is not in\n%s", name, line, written)
					}
				}
				_, data, _ := strings.Cut(b.file(t, "stacks.html"), `{"bugs":`)
				var bugs []pageBug
				if err := json.NewDecoder(strings.NewReader(data)).Decode(&bugs); err != nil {
					t.Fatal(err)
				}
				if len(bugs) != 1 || bugs[0].Kind != "fault" || len(bugs[0].Stacks[0].Frames) == 0 {
					t.Errorf("%s: not one bug: %+v", name, bugs)
				}
				for _, below := range bugs[0].Below {
					if below.Title == "runtime.gopark" || below.Title == "runtime.goexit" {
						t.Errorf("%s: all goroutines of the runtime are called %s", name, below.Title)
					}
				}
			}
		}
	}
}
