package prefix

import (
	"bytes"

	"qss-filter/filter/scan"
)

// glog reads `I20261120 15:58:12.114867 22721 file.cc:6] ` of glog and, without the year, of Abseil and klog; Abseil writes
// `0000 00:00:SECONDS` before its time zone is known. The number is the thread's.
func glog(r *Reader, line []byte, i int) int {
	k := digits(line, i+1, 4, 8)
	if k < 0 || k != i+5 && k != i+9 || !at(line, k, ' ') {
		return -1
	}
	second := clock(line, k+1)
	if !at(line, second, '.') && scan.Has(line, k, " 00:00:") {
		second = digits(line, k+len(" 00:00:"), 9, 11)
	}
	if second < 0 || !at(line, second, '.') {
		return -1
	}
	k = digits(line, second+1, 6, 6)
	if k < 0 || !at(line, k, ' ') {
		return -1
	}
	tid := nextWord(line, k)
	if !allDigits(line, tid) || !at(line, int(tid.End), ' ') {
		return -1
	}
	file := nextWord(line, int(tid.End))
	name := file.Of(line)
	colon := bytes.LastIndexByte(name, ':')
	if colon < 1 || name[len(name)-1] != ']' || digits(name, colon+1, 1, 7) != len(name)-1 {
		return -1
	}
	r.p.Kind, r.p.TID = Glog, tid
	return min(int(file.End)+1, len(line))
}

// chromium reads `[PID:TID:MMDD/HHMMSS.MICROSECONDS:LEVEL:file(line)] `; either ID may be missing (base/logging.cc).
func chromium(r *Reader, line []byte, i int) int {
	var id [2]Span
	n := 0
	k := i + 1
	for {
		end := digits(line, k, 1, 20)
		if end < 0 {
			return -1
		}
		if at(line, end, '/') {
			if end != k+4 {
				return -1
			}
			k = end + 1
			break
		}
		if !at(line, end, ':') || n == len(id) {
			return -1
		}
		id[n] = span(k, end)
		n++
		k = end + 1
	}
	k = digits(line, k, 6, 6)
	if k < 0 {
		return -1
	}
	k = fraction(line, k)
	if !at(line, k, ':') {
		return -1
	}
	level := k + 1
	for k = level; k < len(line) && line[k] != ':'; k++ {
	}
	if !isLevel(line[level:k]) {
		return -1
	}
	end := bytes.Index(line[k:], []byte(")]"))
	if end < 0 {
		return -1
	}
	open := bytes.LastIndexByte(line[k:k+end], '(')
	if open < 1 || digits(line, k+open+1, 1, 7) != k+end || bytes.IndexByte(line[k:k+end], ' ') >= 0 {
		return -1
	}
	r.p.Kind = Chromium
	r.p.setPID(id[0], id[1])
	return min(k+end+len(")] "), len(line))
}

// pidMark reads `==PID== ` of valgrind, with `--` and `**` for its other messages, and `==PID==` of the sanitizers, after
// which their text begins at once. Valgrind's --time-stamp writes `==00:00:00:00.123 PID== `.
func pidMark(r *Reader, line []byte, i int) int {
	mark := line[i]
	if !at(line, i+1, mark) {
		return -1
	}
	k := i + 2
	if mark == '=' && at(line, k+2, ':') {
		end := clock(line, k+3)
		if end < 0 || pair(line, k, 99) < 0 {
			return -1
		}
		end = fraction(line, end)
		if !at(line, end, ' ') {
			return -1
		}
		k = end + 1
	}
	end := digits(line, k, 1, 10)
	if end < 0 || !at(line, end, mark) || !at(line, end+1, mark) {
		return -1
	}
	pid := span(k, end)
	end += 2
	kind := Sanitizer
	if end == len(line) || line[end] == ' ' {
		kind = Valgrind
		end = min(end+1, len(line))
	} else if mark != '=' || line[end] == '=' {
		return -1
	}
	r.p.Kind, r.p.Claimed = kind, pid
	return end
}

// mpi reads what mpirun's --tag-output writes: `[1,0]<stderr>:`, `[prterun-host-7@1,0]<stderr>: ` and, with the details
// that PRRTE can add, `[1,0][host:PID]<stderr>: `.
func mpi(r *Reader, line []byte, i int) int {
	k := i + 1
	for k < len(line) && (nameByte(line[k]) || line[k] == '@') {
		k++
	}
	if !at(line, k, ',') {
		return -1
	}
	shut := digits(line, k+1, 1, 9)
	if shut < 0 || shut == k+1 || !at(line, shut, ']') || !scan.IsDigit(line[k-1]) {
		return -1
	}
	rank := span(i+1, shut)
	k = shut + 1
	var host, pid Span
	if at(line, k, '[') {
		colon := k + 1
		for colon < len(line) && nameByte(line[colon]) {
			colon++
		}
		end := digits(line, colon+1, 1, 10)
		if end < 0 || !at(line, colon, ':') || !at(line, end, ']') {
			return -1
		}
		host, pid = span(k+1, colon), span(colon+1, end)
		k = end + 1
	}
	if !scan.Has(line, k, "<stderr>:") && !scan.Has(line, k, "<stdout>:") && !scan.Has(line, k, "<stddiag>:") {
		return -1
	}
	p := &r.p
	p.Kind = MPI
	p.setHost(host)
	p.setPID(pid, Span{})
	p.addUnit(rank)
	k += bytes.IndexByte(line[k:], ':') + 1
	if (pid.End > 0 || bytes.IndexByte(rank.Of(line), '@') >= 0) && at(line, k, ' ') {
		k++ // PRRTE writes a space, older versions of Open MPI none
	}
	return k
}

// mpiDate reads the same after `Fri Nov 20 15:58:12 2026`, which --timestamp-output adds; the month is at line[i:].
func mpiDate(r *Reader, line []byte, i int) int {
	k := syslogDate(line, i)
	if k < 0 || digits(line, k+1, 4, 4) != k+5 || !at(line, k+5, '[') {
		return -1
	}
	return mpi(r, line, k+5)
}

// maxActor bounds the name of a process of Ray, in bytes.
const maxActor = 128

// ray reads what Ray writes before the lines of its workers, `(RayWorkerWrapper pid=24036) ` and, from other machines,
// `(RayWorkerWrapper pid=24036, ip=10.0.0.7) `. vLLM writes the former before the lines of its own processes.
func ray(r *Reader, line []byte, i int) int {
	const word = " pid="
	k := bytes.Index(line[i:min(len(line), i+maxActor)], []byte(word))
	if k <= 1 {
		return -1
	}
	start := i + k + len(word)
	end := digits(line, start, 1, 10)
	if end < 0 {
		return -1
	}
	pid, host := span(start, end), Span{}
	if scan.Has(line, end, ", ip=") {
		start = end + len(", ip=")
		for end = start; end < len(line) && (nameByte(line[end]) || line[end] == ':'); end++ {
		}
		host = span(start, end)
	}
	if !scan.Has(line, end, ")") {
		return -1
	}
	if end = escapes(line, end+1); !at(line, end, ' ') {
		return -1
	}
	r.p.Kind = Ray
	r.p.setHost(host)
	r.p.setPID(pid, Span{})
	return end + 1
}

// torchrun reads the rank that PyTorch writes before the lines of an exception that ends one of its processes, `[rank3]: `.
func torchrun(r *Reader, line []byte, i int) int {
	const word = "[rank"
	end := digits(line, i+len(word), 1, 6)
	if !scan.Has(line, i, word) || end < 0 || !scan.Has(line, end, "]: ") {
		return -1
	}
	r.p.Kind = Torchrun
	r.p.addUnit(span(i+len("["), end))
	return end + len("]: ")
}

// gecko reads ` 4:16.44 GECKO(1292365) `, as Mozilla's mach writes it before the output of the browser.
func gecko(r *Reader, line []byte, i int) int {
	k := digits(line, spaces(line, i), 1, 3)
	if k < 0 || !at(line, k, ':') {
		return -1
	}
	k = pair(line, k+1, 59)
	if k < 0 || !at(line, k, '.') {
		return -1
	}
	k = pair(line, k+1, 99)
	if k < 0 || !at(line, k, ' ') {
		return -1
	}
	pid, end := geckoID(line, k+1)
	if end < 0 || end < len(line) && line[end] != ' ' {
		return -1
	}
	r.p.Kind = Gecko
	r.p.setPID(pid, Span{})
	return min(end+1, len(line))
}

// geckoBar reads `GECKO(1292365) | ` and `PID 1292365 | `, which Mozilla's harnesses write.
func geckoBar(r *Reader, line []byte, i int) int {
	pid, end := geckoID(line, i)
	if end < 0 && scan.Has(line, i, "PID ") {
		end = digits(line, i+len("PID "), 1, 10)
		pid = span(i+len("PID "), end)
	}
	if end < 0 || !scan.Has(line, end, " | ") {
		return -1
	}
	r.p.Kind = Gecko
	r.p.setPID(pid, Span{})
	return end + len(" | ")
}

// geckoID reads `GECKO(1292365)`.
func geckoID(line []byte, i int) (pid Span, end int) {
	const name = "GECKO("
	if !scan.Has(line, i, name) {
		return pid, -1
	}
	end = digits(line, i+len(name), 1, 10)
	if !at(line, end, ')') {
		return pid, -1
	}
	return span(i+len(name), end), end + 1
}
