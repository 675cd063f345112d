package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"unicode/utf8"
)

// look is what a terminal makes of styles.
type look struct {
	back, text string
	colours    [16]string // the others are fixed
}

// The palettes are those of GNOME's terminal (Tango), dark and light.
var (
	tango = [16]string{"#2e3436", "#cc0000", "#4e9a06", "#c4a000", "#3465a4", "#75507b", "#06989a", "#d3d7cf", "#555753", "#ef2929", "#8ae234",
		"#fce94f", "#729fcf", "#ad7fa8", "#34e2e2", "#eeeeec"}
	looks = map[string]look{"dark": {"#1e1e1e", "#d0d0d0", tango}, "light": {"#ffffff", "#1c1c1c", tango}}
)

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
	used := coloursOf(lines)
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

// coloursOf tells which of the colours lines have.
func coloursOf(lines [][]piece) (used [256]bool) {
	for _, line := range lines {
		for _, p := range line {
			if p.colour >= 0 && p.colour < len(used) {
				used[p.colour] = true
			}
		}
	}
	return used
}

// rules writes the colours of a theme.
func rules(b *bytes.Buffer, theme string, used [256]bool) {
	l := looks[theme]
	fmt.Fprintf(b, ".back { fill: %s }\ntext { fill: %s }\n", l.back, l.text)
	for i, on := range used {
		if on {
			fmt.Fprintf(b, ".c%d { fill: %s }\n", i, l.colour(i))
		}
	}
}

// colour returns one of the 256: sixteen of the theme, a cube of six steps, and greys.
func (l *look) colour(n int) string {
	steps := [...]int{0, 0x5f, 0x87, 0xaf, 0xd7, 0xff}
	switch {
	case n < 16:
		return l.colours[n]
	case n < 232:
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", steps[n/36], steps[n/6%6], steps[n%6])
	}
	grey := 8 + 10*(n-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
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
	add(p.colour >= 0, fmt.Sprintf("c%d", p.colour))
	if class != "" {
		class = fmt.Sprintf(" class=%q", class[1:])
	}
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\" xml:space=\"preserve\"%s>", margin+float64(p.column)*cellWidth, y,
		float64(utf8.RuneCountInString(p.text))*cellWidth, class)
	_ = xml.EscapeText(b, []byte(p.text)) // a buffer takes everything
	b.WriteString("</text>\n")
}
