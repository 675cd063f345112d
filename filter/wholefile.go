package filter

import (
	"bytes"
	"io"
	"math"
	"sync"

	"qss-filter/filter/mappings"
	"qss-filter/filter/match"
	"qss-filter/filter/scan"
	"qss-filter/sgr"
)

// WholeFile lets frames wait for mappings anywhere below them, as far as the memory for the lines between them allows.
var WholeFile = Lookahead{Time: math.MaxInt64}

// maxListed is how many bytes of a file are searched for mappings: reports of crashes are short. Lines longer than listPiece are left out.
const (
	maxListed = 64 << 20
	listPiece = 256 << 10
)

// ListsMappings reports whether a file has a mapping of code, or a list of modules or images below their frames, within as much of it as a report of a crash may have.
func ListsMappings(in io.Reader) bool {
	piece := make([]byte, listPiece)
	in = io.LimitReader(in, maxListed)
	for kept := 0; ; {
		n, err := io.ReadFull(in, piece[kept:])
		text := piece[:kept+n]
		end := bytes.LastIndexByte(text, '\n') + 1
		if err != nil {
			end = len(text)
		}
		if listed(text[:end]) {
			return true
		}
		if err != nil {
			return false
		}
		if kept = copy(piece, text[end:]); kept == len(piece) {
			kept = 0
		}
	}
}

// listed reports whether text has a line of which lists is true.
func listed(text []byte) bool {
	search := listMarks()
	for from := 0; from < len(text); {
		at := search.Next(text, from)
		if at < 0 {
			return false
		}
		start := bytes.LastIndexByte(text[:at], '\n') + 1
		end := len(text)
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n
		}
		if lists(text[start:end]) {
			return true
		}
		from = end
	}
	return false
}

// listMarks finds the marks without which lists is false.
var listMarks = sync.OnceValue(func() *match.Scan {
	var literals []match.Literal
	for _, marks := range [...][][]byte{listHeadlines[:], mappings.ImageKeys[:], mappings.RangeDashes[:], {executable}} {
		for _, mark := range marks {
			literals = append(literals, match.Literal{Text: string(mark), When: match.Always})
		}
	}
	return match.NewScan(literals, match.Always)
})

// listHeadlines stand above lists.
var listHeadlines = [...][]byte{mappings.LoadedHeadline, mappings.AppleHeadline, mappings.ApplePart}

// lists reports whether a line is a mapping of code, or stands above the modules of the stacks before it.
func lists(line []byte) bool {
	for _, mark := range listHeadlines {
		if bytes.Contains(line, mark) {
			return true
		}
	}
	if mappings.HoldsImages(line) {
		return true
	}
	line, _ = scan.CutEnd(line)
	if bytes.Contains(line, executable) {
		if _, ok := mappings.Parse(line); ok {
			return true
		}
	}
	for _, dash := range mappings.RangeDashes {
		if bytes.Contains(line, dash) {
			if _, ok := mappings.Image(imageOf(line)); ok {
				return true
			}
		}
	}
	return false
}

// imageOf returns the text of the image that a line may end with, without colors. It is nil for most other lines.
func imageOf(line []byte) []byte {
	dash, _ := mappings.RangeDash(line)
	if dash < 0 {
		dash = bytes.Index(line, rangeWord)
	}
	if dash < 0 {
		return nil
	}
	start := bytes.LastIndex(line[:dash], hexPrefix)
	if start < 0 {
		return nil
	}
	return sgr.Uncolored(nil, line[start:])
}

// rangeWord stands between the addresses of an image of Apple's reports.
var rangeWord = []byte(" - ")

var hexPrefix = []byte("0x")

// executable is in the mode of a mapping of code, in every form of a list.
var executable = []byte("r-x")
