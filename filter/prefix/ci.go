package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// gitHubJob reads `job\tstep\t` and the time, as `gh run view --log` writes them, a byte order mark between them on the
// first line of a step. Any byte may begin a job's name.
func gitHubJob(r *Reader, line []byte, i int) int {
	job := bytes.IndexByte(line[i:min(len(line), i+maxJob)], '\t')
	if job < 1 {
		return -1
	}
	job += i
	step := bytes.IndexByte(line[job+1:min(len(line), job+1+maxJob)], '\t')
	if step < 1 {
		return -1
	}
	k := job + 1 + step + 1
	if scan.Has(line, k, byteOrderMark) {
		k += len(byteOrderMark)
	}
	k = yearDay(line, k)
	if k < 0 || !at(line, k, 'T') {
		return -1
	}
	k = clock(line, k+1)
	if k < 0 || !at(line, k, '.') {
		return -1
	}
	k = fraction(line, k)
	if k < 0 || !at(line, k, 'Z') || k+1 < len(line) && line[k+1] != ' ' {
		return -1
	}
	r.p.Kind = GitHubJob
	r.p.addUnit(span(i, job))
	return min(k+2, len(line))
}

// maxJob is the length of the longest job's or step's name.
const maxJob = 128

// gitLab reads what GitLab's runner writes after the time: two hexadecimal digits of the stream, O or E, and a space, or
// a plus where the line goes on from the entry before.
func gitLab(r *Reader, line []byte, k int) int {
	if k+4 > len(line) || !lowerHex(line[k]) || !lowerHex(line[k+1]) || line[k+2] != 'O' && line[k+2] != 'E' ||
		line[k+3] != ' ' && line[k+3] != '+' {
		return -1
	}
	r.p.Kind = GitLab
	return k + 4
}

// lowerHex reports whether c is a hexadecimal digit, in lower case where it is a letter.
func lowerHex(c byte) bool { return scan.IsHex(c) && c|0x20 == c }

// ctest reads `7: `, the number of the test that ctest -V and srun -l write before each line. Numbered frames look
// the same (Tizen's `10: name + 0x2f (0x…) […] + 0x119f`, Rust's `1000:     0x5593… - name`), and so does the output of
// grep -n before the indented frames of sanitizers: none of these counts. An address that is alone on its line and has all its
// digits does: V8, which numbers its frames (`10: 0xa7279c8`), writes no zeros before them.
func ctest(r *Reader, line []byte, i int) int {
	k := digits(line, i, 1, 6)
	if k < 0 || !at(line, k, ':') || k+1 < len(line) && line[k+1] != ' ' {
		return -1
	}
	text := spaces(line, k+1)
	if _, end, ok := scan.Address(line, text); ok && (end-text != fullAddress || !scan.LineEnd(line, end)) || scan.Has(line, text, "(0x") || at(line, text, '#') && text-k-1 == 4 {
		return -1
	}
	if rest := line[k:]; bytes.Contains(rest, []byte("] + 0x")) || bytes.Contains(rest, []byte(" - 0x")) {
		return -1
	}
	r.p.Kind = CTest
	r.p.addUnit(span(i, k))
	return min(k+2, len(line))
}

// fullAddress is the length of an address with all its digits.
const fullAddress = len("0x0123456789abcdef")

// testCount reads `[3/10] `, as gtest-parallel and ninja write it. The number tells no processes apart.
func testCount(r *Reader, line []byte, i int) int {
	k := digits(line, i+1, 1, 7)
	if k < 0 || !at(line, k, '/') {
		return -1
	}
	k = digits(line, k+1, 1, 7)
	if k < 0 || !at(line, k, ']') || k+1 < len(line) && line[k+1] != ' ' {
		return -1
	}
	r.p.Kind = TestCount
	return min(k+2, len(line))
}

// goTest reads `    x_test.go:12: `, four spaces per level of subtests, a tab in old versions.
func goTest(r *Reader, line []byte, i int) int {
	k := i
	for k < len(line) && (line[k] == ' ' || line[k] == '\t') {
		k++
	}
	if line[i] == ' ' && (k-i)%4 != 0 {
		return -1
	}
	file := k
	for k < len(line) && nameByte(line[k]) {
		k++
	}
	if k-file < len("x.go") || !scan.Has(line, k-len(".go"), ".go:") {
		return -1
	}
	k = digits(line, k+1, 1, 7)
	if k < 0 || !at(line, k, ':') || k+1 < len(line) && line[k+1] != ' ' {
		return -1
	}
	r.p.Kind = GoTest
	return min(k+2, len(line))
}

// bazel reads `(15:58:12) `, as bazel --show_timestamps writes it, and a level after it.
func bazel(r *Reader, line []byte, i int) int {
	k := clock(line, i+1)
	if k >= 0 {
		k = fraction(line, k)
	}
	if !scan.Has(line, k, ") ") {
		return -1
	}
	k += len(") ")
	for _, level := range [...]string{"INFO: ", "WARNING: ", "ERROR: ", "DEBUG: "} {
		if scan.Has(line, k, level) {
			k += len(level)
		}
	}
	r.p.Kind = Bazel
	return k
}

// pytest reads `E   `, which pytest writes before the lines of an error.
func pytest(r *Reader, line []byte, i int) int {
	if !scan.Has(line, i, "E   ") {
		return -1
	}
	r.p.Kind = Pytest
	return i + len("E   ")
}
