// Command picture draws what a terminal shows of qss-filter's output, as SVG:
//
//	go run ./testdata/picture > testdata/picture.svg              the picture of the README
//	tmux capture-pane -e -p | go run ./testdata/picture -stdin    any text with colors
//
// The picture follows the reader's preference for dark or light; -theme fixes it.
package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/creack/pty"
)

var (
	binary  = flag.String("bin", "", "draw the output of this qss-filter instead of one built here")
	stdin   = flag.Bool("stdin", false, "draw standard input")
	theme   = flag.String("theme", "", "dark or light, in place of what the reader prefers")
	columns = flag.Int("columns", 112, "width of the terminal")
)

// scene is what the picture shows, as it is typed in this directory; decided is what does not depend on the machine.
var (
	scene   = []string{"--rootfs", "../rootfs", "--source-root", "src", "--source", "1", "crash.log"}
	decided = []string{"--summary=never", "--no-cache", "--no-debuginfod"}
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := output()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(svg(lay(text, *columns), *columns, *theme))
	return err
}

// output returns the text to be drawn.
func output() ([]byte, error) {
	if *stdin {
		return io.ReadAll(os.Stdin)
	}
	if *binary == "" {
		dir, err := os.MkdirTemp("", "picture")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		*binary = filepath.Join(dir, "qss-filter")
		build := exec.Command("go", "build", "-o", *binary, ".")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("build (run this from the top of the repository): %w", err)
		}
	}
	cmd := exec.Command(*binary, slices.Concat(decided, scene)...)
	cmd.Dir = filepath.Join("testdata", "picture")
	cmd.Env, cmd.Stderr = append(os.Environ(), "QSS_COLORS=", "QSS_FILTER_CONFIG=", "NO_COLOR=", "TERM=xterm", "COLUMNS="+strconv.Itoa(*columns)), os.Stderr
	out, err := shown(cmd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", *binary, err)
	}
	return append([]byte("$ qss-filter "+strings.Join(scene, " ")+"\n"), out...), nil
}

// shown returns what a command writes to a terminal.
func shown(cmd *exec.Cmd) ([]byte, error) {
	terminal, err := pty.Start(cmd)
	if err != nil {
		return nil, err
	}
	defer terminal.Close()
	out, err := io.ReadAll(terminal) // which ends with EIO on Linux
	if failed := cmd.Wait(); failed != nil {
		return nil, failed
	}
	if err != nil && !errors.Is(err, syscall.EIO) {
		return nil, err
	}
	return bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n")), nil
}

// look is what a terminal makes of styles.
type look struct {
	back, text string
	colors     [16]string // the others are fixed
}

// The palettes are those of VS Code's terminal, dark and light.
var looks = map[string]look{
	"dark": {"#1e1e1e", "#cccccc", [16]string{"#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5",
		"#666666", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#e5e5e5"}},
	"light": {"#ffffff", "#1c1c1c", [16]string{"#000000", "#cd3131", "#00bc00", "#949800", "#0451a5", "#bc05bc", "#0598bc", "#555555",
		"#666666", "#cd3131", "#14ce14", "#b5ba00", "#0451a5", "#bc05bc", "#0598bc", "#a5a5a5"}},
}

// Sizes in pixels: of a character's cell, of the text, and around it.
const (
	cellWidth, cellHeight = 7.8, 17
	fontSize, margin      = 13, 12
)

// svg draws lines. Without a theme both are there, and the reader's preference decides.
func svg(lines [][]piece, columns int, theme string) []byte {
	var b bytes.Buffer
	width, height := float64(columns)*cellWidth+2*margin, len(lines)*cellHeight+2*margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" viewBox=\"0 0 %.0f %d\">\n<style>\n", width, height, width, height)
	fmt.Fprintf(&b, "text { font: %dpx monospace; white-space: pre }\n.b { font-weight: bold }\n.d { opacity: .6 }\n.i { font-style: italic }\n.u { text-decoration: underline }\n", fontSize)
	used := colorsOf(lines)
	switch theme {
	case "":
		rules(&b, "light", used)
		b.WriteString("@media (prefers-color-scheme: dark) {\n")
		rules(&b, "dark", used)
		b.WriteString("}\n")
	default:
		rules(&b, theme, used)
	}
	b.WriteString("</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n")
	for i, line := range lines {
		for _, p := range line {
			draw(&b, p, margin+float64(i)*cellHeight+cellHeight*3/4)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// colorsOf returns which of the colors lines have.
func colorsOf(lines [][]piece) (used [256]bool) {
	for _, line := range lines {
		for _, p := range line {
			if p.color >= 0 && p.color < len(used) {
				used[p.color] = true
			}
		}
	}
	return used
}

// rules writes the colors of a theme.
func rules(b *bytes.Buffer, theme string, used [256]bool) {
	l := looks[theme]
	fmt.Fprintf(b, ".back { fill: %s }\ntext { fill: %s }\n", l.back, l.text)
	for i, on := range used {
		if on {
			fmt.Fprintf(b, ".c%d { fill: %s }\n", i, l.color(i))
		}
	}
}

// color returns one of the 256: sixteen of the theme, a cube of six steps, and grays.
func (l *look) color(n int) string {
	steps := [...]int{0, 0x5f, 0x87, 0xaf, 0xd7, 0xff}
	switch {
	case n < 16:
		return l.colors[n]
	case n < 232:
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", steps[n/36], steps[n/6%6], steps[n%6])
	}
	gray := 8 + 10*(n-232)
	return fmt.Sprintf("#%02x%02x%02x", gray, gray, gray)
}

// draw writes a piece of text with its baseline at y. Its length is fixed, so that columns stand below each other in any font.
func draw(b *bytes.Buffer, p piece, y float64) {
	if len(bytes.TrimSpace([]byte(p.text))) == 0 {
		return
	}
	class := ""
	add := func(on bool, name string) {
		if on {
			class += " " + name
		}
	}
	add(p.bold, "b")
	add(p.dim, "d")
	add(p.italic, "i")
	add(p.underline, "u")
	add(p.color >= 0, fmt.Sprintf("c%d", p.color))
	if class != "" {
		class = fmt.Sprintf(" class=%q", class[1:])
	}
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\" xml:space=\"preserve\"%s>", margin+float64(p.column)*cellWidth, y,
		float64(utf8.RuneCountInString(p.text))*cellWidth, class)
	_ = xml.EscapeText(b, []byte(p.text)) // a buffer takes everything
	b.WriteString("</text>\n")
}

// style is how a piece of text looks.
type style struct {
	bold, dim, italic, underline bool
	color                        int // of xterm's 256, or -1 for the default
}

// piece is text of one style from a column on.
type piece struct {
	style
	column int
	text   string
}

// lay puts text with SGR sequences on lines of so many columns. Other escape sequences show nothing.
func lay(text []byte, columns int) (lines [][]piece) {
	now, column := style{color: -1}, 0
	var line []piece
	end := func() { lines, line, column = append(lines, line), nil, 0 }
	for s := strings.TrimSuffix(string(text), "\n"); s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\n':
			end()
		case r == 0x1b:
			n = escape(s, &now)
		default:
			if column == columns {
				end()
			}
			if k := len(line); k > 0 && line[k-1].style == now {
				line[k-1].text += s[:n]
			} else {
				line = append(line, piece{now, column, s[:n]})
			}
			column++
		}
		s = s[n:]
	}
	end()
	return lines
}

// escape follows the escape sequence that s begins with, and returns its length.
func escape(s string, now *style) int {
	if strings.HasPrefix(s, "\x1b]") {
		if end := strings.Index(s, "\x1b\\"); end > 0 {
			return end + 2
		}
		return len(s)
	}
	end := strings.IndexAny(s[1:], "mK")
	if !strings.HasPrefix(s, "\x1b[") || end < 0 {
		return 1
	}
	end++
	if s[end] != 'm' {
		return end + 1
	}
	codes := strings.Split(s[2:end], ";")
	for i := 0; i < len(codes); i++ {
		n, _ := strconv.Atoi(codes[i])
		if n == 38 && i+2 < len(codes) {
			now.color, _ = strconv.Atoi(codes[i+2])
			i += 2
			continue
		}
		now.apply(n)
	}
	return end + 1
}

// apply follows one parameter.
func (s *style) apply(n int) {
	switch {
	case n == 0:
		*s = style{color: -1}
	case n == 1:
		s.bold = true
	case n == 2:
		s.dim = true
	case n == 3:
		s.italic = true
	case n == 4:
		s.underline = true
	case n == 22:
		s.bold, s.dim = false, false
	case n == 39:
		s.color = -1
	case 30 <= n && n <= 37:
		s.color = n - 30
	case 90 <= n && n <= 97:
		s.color = n - 90 + 8
	}
}
