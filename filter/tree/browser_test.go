package tree

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser is Chromium, driven through a pipe by the protocol of its developer tools.
type browser struct {
	t       *testing.T
	to      io.Writer
	from    *bufio.Reader
	session string
	id      int
}

// startBrowser starts the browser with an empty page. The test is skipped if there is none.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("no browser: Chromium is not installed")
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	input, commands, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{input, theirs} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Skipf("no browser: %s does not start: %v", program, err)
	}
	input.Close()
	theirs.Close()
	t.Cleanup(func() {
		commands.Close() // it ends then
		ended := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		ended.Stop()
		ours.Close()
	})
	time.AfterFunc(2*time.Minute, func() { ours.Close() }) // a browser that hangs fails the test
	b := &browser{t: t, to: commands, from: bufio.NewReaderSize(ours, 1<<20)}
	var target struct{ TargetID string }
	if err := b.try("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		t.Skipf("no browser: %s does not run: %v", program, err)
	}
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Page.enable", nil, nil)
	b.call("Page.setBypassCSP", map[string]any{"enabled": true}, nil) // for axe, not for the page
	return b
}

// devtools is a message of the protocol.
type devtools struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Params    any             `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	if err := b.try(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// try calls a method, and waits for its result.
func (b *browser) try(method string, params map[string]any, result any) error {
	b.id++
	text, err := json.Marshal(devtools{ID: b.id, Method: method, SessionID: b.session, Params: params})
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return err
	}
	for {
		m, err := b.next()
		switch {
		case err != nil:
			return err
		case m.ID != b.id:
		case len(m.Error) > 0:
			return errors.New(string(m.Error))
		case result == nil:
			return nil
		default:
			return json.Unmarshal(m.Result, result)
		}
	}
}

func (b *browser) next() (m devtools, err error) {
	text, err := b.from.ReadBytes(0)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text[:len(text)-1], &m)
}

// open shows a page of a width in CSS pixels, light or dark, and returns the time until it was loaded.
func (b *browser) open(path string, width int, scheme string) time.Duration {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	start := time.Now()
	b.id++
	text, err := json.Marshal(devtools{ID: b.id, Method: "Page.navigate", SessionID: b.session, Params: map[string]any{"url": "file://" + path}})
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	for err == nil {
		var m devtools
		if m, err = b.next(); m.Method == "Page.loadEventFired" {
			b.eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))", nil) // until it is painted
			return time.Since(start)
		}
	}
	b.t.Fatal(err)
	return 0
}

// eval evaluates an expression in the page.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if len(r.ExceptionDetails) > 0 {
		b.t.Fatalf("%.80s: %s", expression, r.ExceptionDetails)
	}
	if value != nil {
		if err := json.Unmarshal(r.Result.Value, value); err != nil {
			b.t.Fatalf("%.80s: %v", expression, err)
		}
	}
}

// want fails the test unless an expression is true.
func (b *browser) want(what, expression string) {
	b.t.Helper()
	var yes bool
	if b.eval(expression, &yes); !yes {
		b.t.Errorf("%s: not true: %s", what, expression)
	}
}

// key presses a key.
func (b *browser) key(key string) {
	b.t.Helper()
	press := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		press["text"] = key
	}
	b.call("Input.dispatchKeyEvent", press, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// reportOfFault is a report of AddressSanitizer with its three stacks, of which one has a frame without a name.
const reportOfFault = "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x60 at pc 0x1 bp 0x2 sp 0x3\nREAD of size 4 at 0x60 thread T0\n" +
	"    #0 0x1 in memcpy /build/compiler-rt/lib/asan.cc:1:2\n    #1 0x2 in ns::use<std::map<std::string, std::vector<int>>>(int*) /a/long/path/of/sources/that/goes/on/and/on/a.cc:12:3\n" +
	"    #2 0x3  (/bad.so+0x3)\n\n0x60 is located 0 bytes inside of 4-byte region\nfreed by thread T0 here:\n    #0 0x1 in operator delete(void*) /b/asan.cc:1\n" +
	"    #1 0x2 in drop() /src/a.cc:20:3\n\npreviously allocated by thread T0 here:\n    #0 0x1 in malloc /b/asan.cc:2\n    #1 0x2 in make() /src/a.cc:30:3\n\n"

// TestBrowser uses the page as a person would, with the keyboard, the filters and the search.
func TestBrowser(t *testing.T) {
	b := startBrowser(t)
	one := frame(0, "/a.so", 2) + frame(1, "/bad.so", 4)
	batch := newBatch(t, map[string]string{"dev/one": reportOfFault, "two": one + one + one + frame(0, "/a.so", 6)})
	batch.opt.Group, batch.opt.HTML = true, filepath.Join(batch.out, "page.html")
	batch.opt.Written = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	batch.run(t, nil)
	page := batch.opt.HTML
	b.open(page, 1280, "light")
	groups := `[...document.querySelectorAll("details.group > summary")].map(e => e.textContent)`
	b.want("the title", `document.title.endsWith("/in") && document.querySelector("time").textContent === "2026-01-02 03:04"`)
	b.want("faults first", groups+`.join() .startsWith("1 × faultheap-use-after-free READ 4ns::use<")`)
	b.want("three groups", groups+`.length === 3`)
	b.want("nothing is open", `document.querySelectorAll("ol").length === 0`)

	b.key("j")
	b.want("j goes to the first group", `document.activeElement === document.querySelector("summary")`)
	b.key("j")
	b.key("k")
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}, nil)
	b.eval("new Promise(r => setTimeout(r, 50))", nil)
	b.want("Enter opens it", `document.querySelectorAll("details.group")[0].open && document.querySelector("ol li.own").textContent.includes("ns::use<")`)
	b.want("what is about it stands below", `[...document.querySelectorAll("details.group details.below > summary")].map(e => e.textContent).join() === "1 × freed bydrop() a.cc:20,1 × allocated bymake() a.cc:30"`)
	b.want("a word for people", `document.querySelector("ol").textContent.includes("(no symbols found)") && !document.body.innerText.includes("NOT_FOUND")`)
	b.key("e")
	b.eval("new Promise(r => setTimeout(r, 50))", nil)
	b.want("e opens all", `document.querySelectorAll("ol").length === 5 && document.getElementById("all").textContent === "Fold all"`)
	b.key("e")
	b.want("and closes them", `document.querySelectorAll("details.group[open]").length === 0`)

	b.key("/")
	b.want("/ goes to the search", `document.activeElement.id === "search"`)
	for _, key := range []string{"f", "n", "_", "6"} {
		b.key(key)
	}
	b.want("the search finds", groups+`.join() === "1 × fn_6 a.c:6" && document.getElementById("found").textContent === "1 group fits"`)
	b.key("Escape")
	b.want("Escape clears it", groups+`.length === 3 && document.getElementById("found").textContent === ""`)
	choose := func(id, value string) {
		b.eval(fmt.Sprintf(`document.getElementById(%q).value = %q; document.getElementById(%q).dispatchEvent(new Event("change"))`, id, value, id), nil)
	}
	choose("status", "named")
	b.want("those with all names", groups+`.join() === "1 × fn_6 a.c:6"`)
	choose("status", "")
	choose("module", "bad.so")
	b.want("those of a module", groups+`.length === 2`)
	choose("module", "")
	choose("order", "count")
	b.want("the most frequent first", groups+`[0].startsWith("3 × fn_2")`)
	b.open(page, 1280, "light")
	b.eval(`location.hash = "x"`, nil)
	b.open(page+"?#fn_6", 1280, "light")
	b.want("a search in the address", groups+`.join() === "1 × fn_6 a.c:6"`)
}

// axe returns the source of axe-core, whose file QSS_AXE names. The test is skipped if it is not there.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("QSS_AXE")
	if path == "" {
		t.Skip("QSS_AXE names no axe.min.js of axe-core (npm)")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAccessible holds that axe-core finds nothing wrong with the page, folded and unfolded, and that it never scrolls sideways.
func TestAccessible(t *testing.T) {
	source := axe(t)
	b := startBrowser(t)
	batch := newBatch(t, map[string]string{"dev/one": reportOfFault, "two": frame(0, "/a.so", 2) + frame(1, "/bad.so", 4),
		"three": "#0 0x1 in " + strings.Repeat("very_long_name_", 30) + "(int) /a.c:1:1\n#1 0x7f1111 (/usr/lib/x86_64-linux-gnu/libvery-long-name-of-a-library.so.1.2.3+0x1111) (BuildId: 529039c4877f2b56918b2063129d06669b993be2)\n"})
	batch.opt.Group, batch.opt.HTML = true, filepath.Join(batch.out, "page.html")
	batch.run(t, nil)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{400, 768, 1280} {
			b.open(batch.opt.HTML, width, scheme)
			b.eval(source, nil)
			for _, state := range []string{"folded", "unfolded"} {
				if state == "unfolded" {
					b.eval(`document.getElementById("all").click()`, nil)
				}
				var r struct {
					Passes     int
					Violations []string
				}
				b.eval(`axe.run(document, {resultTypes: ["violations"]}).then(r => ({passes: r.passes.length,
					violations: r.violations.map(v => v.id + " " + v.nodes.length + " " + v.nodes[0].html.slice(0, 200))}))`, &r)
				var wide int
				b.eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &wide)
				t.Logf("%s, %d px, %s: %d violations, %d rules pass, %d px too wide", scheme, width, state, len(r.Violations), r.Passes, wide)
				if len(r.Violations) > 0 || r.Passes == 0 || wide > 0 {
					t.Errorf("%s, %d px, %s: %q", scheme, width, state, r.Violations)
				}
			}
		}
	}
}

// TestManyStacks opens a page of 10,000 different stacks.
func TestManyStacks(t *testing.T) {
	if testing.Short() {
		t.Skip("it is a measurement")
	}
	b := startBrowser(t)
	var log strings.Builder
	for i := range 10000 {
		for k := range 10 {
			fmt.Fprintf(&log, "#%d 0x%x in acme::ns%d::fn%d(int*) /src/mod%d/file%d.cc:%d:3\n", k, i*10+k, i%50, (i*31+k*7)%1009, k, (i+k)%500, i%1000+1)
		}
	}
	batch := newBatch(t, map[string]string{"log": log.String()})
	batch.opt.Group, batch.opt.HTML = true, filepath.Join(batch.out, "page.html")
	batch.run(t, nil)
	took := b.open(batch.opt.HTML, 1280, "light")
	b.want("the page says how many there are", `document.getElementById("totals").textContent.includes("10000 stacks")`)
	start := time.Now()
	b.eval(`document.getElementById("search").value = "fn77("; show()`, nil)
	t.Logf("open in %v, first search in %v", took, time.Since(start))
	// Time depends on the machine. What opening costs is what is made of the stacks before one is asked for.
	var elements int
	b.eval(`document.getElementsByTagName("*").length`, &elements)
	if elements == 0 || elements > 1000 {
		t.Errorf("the page has %d elements", elements)
	}
}
