package cli

import (
	"strings"

	"qss-filter/sgr"
)

// rendered returns a page in Markdown as a terminal of that width shows it: without marks, with tables in columns and text wrapped. It reads
// what topics have: titles, paragraphs, lists, tables, indented blocks of code, and text in `code`, **strong** or a [link](to).
func rendered(text string, width int, theme *sgr.Theme) string {
	r := renderer{width: width, theme: theme}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		n := 1
		switch line := lines[i]; {
		case strings.TrimSpace(line) == "":
			r.out.WriteByte('\n')
		case strings.HasPrefix(line, "#"):
			r.out.WriteString(theme.Strong(plainText(strings.TrimLeft(line, "# "))) + "\n")
		case strings.HasPrefix(line, "    "):
			r.out.WriteString(line + "\n")
		case strings.HasPrefix(line, "|"):
			n = run(lines[i:], func(line string) bool { return strings.HasPrefix(line, "|") })
			r.table(lines[i : i+n])
		default:
			n = 1 + run(lines[i+1:], func(line string) bool {
				return strings.TrimSpace(line) != "" && listMark(line) == "" && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "    ")
			})
			mark := listMark(line)
			r.wrap(mark, strings.TrimPrefix(strings.Join(trimmed(lines[i:i+n]), " "), mark))
		}
		i += n
	}
	return r.out.String()
}

// run returns how many of the lines from the first on are of a kind.
func run(lines []string, is func(string) bool) (n int) {
	for n < len(lines) && is(lines[n]) {
		n++
	}
	return n
}

// trimmed returns lines without the spaces around them.
func trimmed(lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

// listMark returns what a line of a list begins with, as `* ` or `1. `, or "".
func listMark(line string) string {
	if strings.HasPrefix(line, "* ") {
		return "* "
	}
	if digits := len(line) - len(strings.TrimLeft(line, "0123456789")); digits > 0 && strings.HasPrefix(line[digits:], ". ") {
		return line[:digits+2]
	}
	return ""
}

// renderer writes a page.
type renderer struct {
	out   strings.Builder
	width int
	theme *sgr.Theme
}

// styled is a word of a text, with its colors, and how many cells it takes.
type styled struct {
	text  string
	cells int
}

// words returns the words of a text in Markdown. Code with spaces is several words.
func (r *renderer) words(text string) (all []styled) {
	var now styled
	add := func(text string, paint func(string) string) {
		for i, part := range strings.Split(text, " ") {
			if i > 0 {
				if now.cells > 0 {
					all = append(all, now)
				}
				now = styled{}
			}
			if part != "" {
				now.cells += sgr.Width([]byte(part))
				now.text += paint(part)
			}
		}
	}
	plain := func(s string) string { return s }
	for text != "" {
		at := strings.IndexAny(text, "`*[\\")
		if at < 0 {
			add(text, plain)
			break
		}
		add(text[:at], plain)
		text = text[at:]
		if inside, after, ok := between(text, "`", "`"); ok {
			add(strings.ReplaceAll(inside, `\|`, "|"), r.theme.Place)
			text = after
		} else if inside, after, ok := between(text, "**", "**"); ok {
			add(plainText(inside), r.theme.Strong)
			text = after
		} else if inside, after, ok := between(text, "[", "]("); ok {
			add(plainText(inside), plain)
			_, text, _ = strings.Cut(after, ")")
		} else if len(text) > 1 && text[0] == '\\' && strings.IndexByte("|*`[", text[1]) >= 0 {
			add(text[1:2], plain)
			text = text[2:]
		} else {
			add(text[:1], plain)
			text = text[1:]
		}
	}
	if now.cells > 0 {
		all = append(all, now)
	}
	return all
}

// between returns what stands between two marks at the beginning of a text, and what follows them.
func between(text, begin, end string) (inside, after string, ok bool) {
	rest, ok := strings.CutPrefix(text, begin)
	if !ok {
		return "", text, false
	}
	inside, after, ok = strings.Cut(rest, end)
	return inside, after, ok && inside != ""
}

// plainText returns a text without its marks.
func plainText(text string) string { return strings.NewReplacer("`", "", "**", "").Replace(text) }

// wrap writes a paragraph. Its lines are indented as far as the mark of a list before it.
func (r *renderer) wrap(mark, text string) {
	for i, line := range lines(r.words(text), r.width-len(mark)) {
		if i == 0 {
			r.out.WriteString(mark)
		} else {
			r.out.WriteString(strings.Repeat(" ", len(mark)))
		}
		r.out.WriteString(line.text + "\n")
	}
}

// lines returns words as lines of a width.
func lines(words []styled, width int) (all []styled) {
	var now styled
	for _, w := range words {
		if now.cells > 0 && now.cells+1+w.cells > width {
			all, now = append(all, now), styled{}
		}
		if now.cells > 0 {
			now.text += " "
			now.cells++
		}
		now.text += w.text
		now.cells += w.cells
	}
	return append(all, now)
}

// Between columns of a table stand columnGap spaces, and a column that is wrapped has at least leastColumn cells.
const (
	columnGap   = 2
	leastColumn = 8
)

// table writes a table, whose second line has no text. A column that is too wide for the terminal is wrapped.
func (r *renderer) table(rows []string) {
	var cells [][][]styled
	var widths, least []int // of columns, and of their longest words
	for i, row := range rows {
		if i == 1 && strings.Trim(row, "|-: ") == "" {
			continue
		}
		var of [][]styled
		for k, text := range fields(row) {
			words := r.words(text)
			if k == len(widths) {
				widths, least = append(widths, 1), append(least, leastColumn)
			}
			for _, w := range words {
				least[k] = max(least[k], w.cells)
			}
			widths[k] = max(widths[k], lines(words, 1<<20)[0].cells)
			of = append(of, words)
		}
		cells = append(cells, of)
	}
	r.shrink(widths, least)
	for i, row := range cells {
		if i == 0 && strings.Trim(rows[0], "| ") == "" {
			continue // a head without titles
		}
		high := 0
		wrapped := make([][]styled, len(row))
		for k := range row {
			wrapped[k] = lines(row[k], widths[k])
			high = max(high, len(wrapped[k]))
		}
		for line := range high {
			text := ""
			for k := range row {
				var cell styled
				if line < len(wrapped[k]) {
					cell = wrapped[k][line]
				}
				if i == 0 {
					cell.text = r.theme.Strong(cell.text)
				}
				text += cell.text
				text += strings.Repeat(" ", max(1, widths[k]+columnGap-cell.cells))
			}
			r.out.WriteString(strings.TrimRight(text, " ") + "\n")
		}
	}
}

// shrink makes the widest columns narrower until the table fits, or each is as wide as its longest word.
func (r *renderer) shrink(widths, least []int) {
	for {
		all, widest := columnGap*(len(widths)-1), -1
		for k, w := range widths {
			all += w
			if w > least[k] && (widest < 0 || w > widths[widest]) {
				widest = k
			}
		}
		if all <= r.width || widest < 0 {
			return
		}
		widths[widest]--
	}
}

// fields returns the fields of a row. A bar in code has a backslash before it.
func fields(row string) (all []string) {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	start := 0
	for i := range len(row) {
		if row[i] == '|' && (i == 0 || row[i-1] != '\\') {
			all, start = append(all, strings.TrimSpace(row[start:i])), i+1
		}
	}
	return append(all, strings.TrimSpace(row[start:]))
}
