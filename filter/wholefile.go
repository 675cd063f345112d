package filter

import (
	"bytes"
	"io"
	"math"

	"qss-filter/filter/mappings"
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

// listed reports whether a line of text is a mapping of code, or stands above the modules of the stacks before it.
func listed(text []byte) bool {
	for _, mark := range [...][]byte{mappings.LoadedHeadline, mappings.AppleHeadline, mappings.ApplePart} {
		if bytes.Contains(text, mark) {
			return true
		}
	}
	return mappings.HoldsImages(text) || holdsMapping(text, executable, mappings.Parse) || holdsMapping(text, mappings.RangeDashes[0], image) || holdsMapping(text, mappings.RangeDashes[1], image)
}

// image reads the image that a line ends with.
func image(line []byte) (mappings.Mapping, bool) { return mappings.Image(imageOf(line)) }

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

// holdsMapping reports whether read finds a mapping in a line of text with a mark.
func holdsMapping(text, mark []byte, read func(line []byte) (mappings.Mapping, bool)) bool {
	if !bytes.Contains(text, mark) {
		return false
	}
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, mark) {
			continue
		}
		body, _ := scan.CutEnd(line)
		if _, ok := read(body); ok {
			return true
		}
	}
	return false
}

// executable is in the mode of a mapping of code, in every form of a list.
var executable = []byte("r-x")
