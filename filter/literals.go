package filter

import (
	"bytes"
	"slices"

	"qss-filter/filter/frame"
	"qss-filter/filter/mappings"
	"qss-filter/filter/match"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
)

// literals are what the recognizers rely on: those of frames, of lists of mappings, and of all else that a line may mean.
var literals = slices.Concat(frame.Literals(), frame.JavaLiterals(), mappings.Literals(), []match.Literal{
	{Text: "{{{", When: match.Always, Fits: opensElement},
	{Text: "<<<", When: match.Always, Fits: opensElement},
	{Text: "<?xml ", When: match.Always, Fits: beginsDocument},
	{Text: "Sanitizer", When: match.Always, Fits: isReport},
	{Text: "runtime error:", When: match.Always, Fits: followsColon},
	{Text: " on shard ", After: match.Digit, When: match.Always}, // Seastar's
	{Text: "[shard ", After: match.Digit, When: match.Always},
	{Text: " at pc=0x", After: match.Hex, When: match.Always},
	{Text: "Native frames: (J=", When: match.Always},
	{Text: " Stack (depth: ", When: match.Absolute},
	{Text: crashReport, When: match.Always, Fits: endsLine(crashReport)},
	{Text: counterKey, When: match.Always, Fits: endsLine(counterKey)},
	{Text: "Crashed:", When: match.Always, Fits: followsThread},
	{Text: "[ RUN      ] ", When: match.Absolute},
	{Text: "[==========] Running ", When: match.Absolute},
	{Text: " (core dumped)", When: match.Absolute},
	{Text: "ELF file SHA256:", When: match.Absolute},
	{Text: "DEDUP_TOKEN: ", When: match.Always, Fits: holdsDashes},
	{Text: "Backtrace:", When: match.Always, Fits: headsAddresses},
	{Text: "<signal handler called>", When: match.Absolute},
	{Text: "\x1b[", When: match.Coloring},
	{Text: "&lt;", When: match.Document, Hides: true},
	{Text: "&gt;", When: match.Document, Hides: true},
	{Text: "&amp;", When: match.Document, Hides: true},
	{Text: "&quot;", When: match.Document, Hides: true},
	{Text: "&apos;", When: match.Document, Hides: true},
	{Text: "&#", After: match.Digit, When: match.Document, Hides: true},
	{Text: "&#x", When: match.Document, Hides: true},
})

// opensElement reports whether an element of markup may begin at the place: its tag is of small letters, and ends in a colon or with the
// element, or the line may go on.
func opensElement(line []byte, at int) bool {
	begin := at + len("{{{")
	end := begin
	for end < len(line) && line[end]-'a' < 26 {
		end++
	}
	if end == len(line) {
		return end > begin || at == 0 || line[at-1] != line[at] // more of them are no element: a line of a conflict, or a rule
	}
	return end > begin && (line[end] == ':' || line[end] == '}' || line[end] == '>')
}

// beginsDocument reports whether a declaration of XML stands at the beginning of a line, but for a byte order mark and spaces.
func beginsDocument(line []byte, at int) bool {
	return scan.Spaces(line, len(line)-len(bytes.TrimPrefix(line, []byte("\ufeff")))) == at
}

// isReport reports whether the name of a sanitizer stands in the first or the last line of its report.
func isReport(line []byte, at int) bool {
	return bytes.Contains(line[:at], resolve.ErrorWord) || bytes.Contains(line[:at], resolve.WarningWord) || bytes.Contains(line[:at], resolve.SummaryWord)
}

// followsColon reports whether the words of UBSan follow a place in the source, as they do there.
func followsColon(line []byte, at int) bool { return at == 0 || scan.EndsWith(line, 0, at, ": ") }

// The headlines of a crash report of Tizen, and of what a signal interrupted in Redis, end their lines.
const (
	crashReport = "Crash Information"
	counterKey  = "EIP:"
)

// endsLine returns what reports whether a headline ends its line.
func endsLine(headline string) func(line []byte, at int) bool {
	return func(line []byte, at int) bool { return scan.LineEnd(line, at+len(headline)) }
}

// followsThread reports whether a headline of Darwin's reports says which thread crashed.
func followsThread(line []byte, at int) bool {
	return bytes.Contains(line[:at], []byte("Thread ")) || scan.Spaces(line, 0) == at
}

// holdsDashes reports whether functions may be missing in a sanitizer's token: dashes stand between them.
func holdsDashes(line []byte, at int) bool {
	rest := line[at+len("DEDUP_TOKEN: "):]
	return scan.LineEnd(rest, 0) || bytes.Contains(rest, []byte(tokenSeparator))
}

// headsAddresses reports whether addresses or modules may follow the word, on its line or below it.
func headsAddresses(line []byte, at int) bool {
	i := scan.Spaces(line, at+len("Backtrace:"))
	return scan.LineEnd(line, i) || line[i] == '/' || scan.Has(line, i, "0x")
}
