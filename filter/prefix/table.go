package prefix

// layer reads one logger's prefix at line[at:], where line is cut to maxRead bytes. It returns the offset after the prefix, −1 where
// there is none, and fills r.p only where there is one.
type layer func(r *Reader, line []byte, at int) int

// row is one recognizer of prefixes.
type row struct {
	// first are the bytes that its prefixes begin with, spaces not counted.
	first  string
	indent indent
	read   layer
	// sample is a line with such a prefix before "text".
	sample string
}

// indent is whether spaces stand before what a prefix begins with.
type indent uint8

const (
	flush indent = iota
	mayIndent
	mustIndent
)

const (
	digitBytes  = "0123456789"
	letterBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// rows are the recognizers. Two of them never fit the same text: what begins in the same way, such as the loggers that write a date first, is one
// recognizer that looks further.
var rows = [...]row{
	{digitBytes, mayIndent, logcatTimed, "11-20 15:58:12.000 19531 19540 I wrap.sh : text"},
	{digitBytes, flush, isoDate, "2026-11-20T15:58:12.000000000Z stderr F text"},
	{digitBytes, flush, unixTime, "1795190292.114000 host prog[19531]: text"},
	{digitBytes, flush, clockTime, "15:58:12     INFO - text"},
	{digitBytes, flush, ctest, "7: text"},
	{digitBytes, flush, kmsg, "6,1234,1362000000,-;text"},
	{"VDIWEFSA", flush, logcatBrief, "I/wrap.sh (19531): text"},
	{"IWEF", flush, glog, "I20261120 15:58:12.114867 22721 a.cc:6] text"},
	{"[", flush, bracketSeconds, "[ 1362.000000] text"},
	{"[", flush, bracketDate, "[Fri Nov 20 15:58:12 2026] text"},
	{"[", flush, logcatLongHeader, "[ 11-20 15:58:12.000 19531:19540 I/wrap.sh  ]"},
	{"[", flush, chromium, "[7:8:0522/203957.919000:FATAL:a/b.cc(148)] text"},
	{"[", flush, mpi, "[1,0]<stderr>:text"},
	{"[", flush, torchrun, "[rank3]: text"},
	{"[", flush, testCount, "[3/10] text"},
	{"[", flush, kubectl, "[pod/app-1/app] text"},
	{"<", flush, priority, "<14>1 2026-11-20T15:58:12.000Z host prog 19531 - - text"},
	{"JFMASOND", flush, monthDate, "Nov 20 15:58:12 host prog[19531]: text"},
	{"MTWFS", flush, weekday, "Fri 2026-11-20 15:58:12 CET host prog[19531]: text"},
	{"=-*", flush, pidMark, "==19531==ERROR: AddressSanitizer: text"},
	{digitBytes, mayIndent, gecko, " 4:16.44 GECKO(19531) text"},
	{"GP", flush, geckoBar, "GECKO(19531) | text"},
	{letterBytes + digitBytes + "_", mustIndent, goTest, "    x_test.go:12: text"},
	{"(", flush, bazel, "(15:58:12) INFO: text"},
	{"(", flush, ray, "(RayWorkerWrapper pid=24036) text"},
	{"E", flush, pytest, "E   text"},
	{"k", flush, dmesgDecoded, "kern  :err   : [ 1362.000000] text"},
	{letterBytes + digitBytes, flush, compose, "svc-1  | text"},
}

// table holds recognizers by what their prefixes begin with.
type table struct {
	rows []row
	// dispatch[0][c] has bit n set where rows[n] begins with c; dispatch[1][c], where it does so after spaces or tabs.
	dispatch [2][256]uint32
}

// maxRows is how many rows the bits of a dispatch have room for.
const maxRows = 32

// builtin holds the recognizers of this package.
var builtin = *newTable(rows[:])

func newTable(rows []row) *table {
	if len(rows) > maxRows {
		panic("prefix: more recognizers than bits to choose among them")
	}
	t := &table{rows: rows}
	for n, l := range rows {
		for _, c := range []byte(l.first) {
			if l.indent != mustIndent {
				t.dispatch[0][c] |= 1 << n
			}
			if l.indent != flush {
				t.dispatch[1][c] |= 1 << n
			}
		}
	}
	return t
}
