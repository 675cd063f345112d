package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// cri reads what the container runtime interface writes after the time: `stdout F text`, `stderr P text`. P marks a part
// of a line that goes on in the next entry of the stream. Further tags may follow after colons.
func cri(r *Reader, line []byte, k int) int {
	if !scan.Has(line, k, "stdout ") && !scan.Has(line, k, "stderr ") {
		return -1
	}
	k += len("stdout ")
	tags := nextWord(line, k)
	c := at0(line, k)
	if c != 'F' && c != 'P' || int(tags.End) > k+1 && line[k+1] != ':' {
		return -1
	}
	end := min(int(tags.End)+1, len(line))
	r.p.Kind = CRI
	r.p.Partial, r.p.Stream = c == 'P', span(k-len("stdout "), k-1)
	return end
}

// kubectl reads `[pod/x/app] `, as kubectl logs --prefix writes it.
func kubectl(r *Reader, line []byte, i int) int {
	if !scan.Has(line, i, "[pod/") {
		return -1
	}
	n := bytes.IndexByte(line[i:], ']')
	if n < 0 || i+n+1 < len(line) && line[i+n+1] != ' ' {
		return -1
	}
	name := line[i+1 : i+n]
	for _, c := range name {
		if !nameByte(c) && c != '/' {
			return -1
		}
	}
	if bytes.Count(name, []byte("/")) != 2 {
		return -1
	}
	r.p.Kind = Kubectl
	r.p.addUnit(span(i+1, i+n))
	return min(i+n+2, len(line))
}

// compose reads `svc-1  | `, as docker compose and foreman write it, the bar also before the end of a color. Names are
// padded to one width, so a name without a number counts where the bar stands in a column that a numbered one has shown.
func compose(r *Reader, line []byte, i int) int {
	k := i
	for k < len(line) && nameByte(line[k]) {
		k++
	}
	name := span(i, k)
	bar := spaces(line, k)
	if bar < k+1 || !at(line, bar, '|') {
		return -1
	}
	end := escapes(line, bar+1)
	if end < len(line) && line[end] != ' ' {
		return -1
	}
	if bar != r.bar {
		if bar < k+2 || !numbered(name.Of(line)) {
			return -1
		}
		r.bar = bar
	}
	if end < len(line) {
		end++
	}
	r.p.Kind = Compose
	r.p.addUnit(name)
	return escapes(line, end)
}

// numbered reports whether a name has a number at their end: `svc-1`, `svc_1`, `web.1`.
func numbered(name []byte) bool {
	k := len(name)
	for k > 0 && scan.IsDigit(name[k-1]) {
		k--
	}
	return k > 1 && k < len(name) && !scan.IsLetter(name[k-1])
}
