package prefix

import (
	"bytes"
	"strconv"
	"time"

	"qss-filter/filter/scan"
)

// maxDated is how many bytes of a line are looked at for its date.
const maxDated = 128

// Date returns the time that a logger wrote at the beginning of a line: ISO 8601 and what is like it, ctime(3), syslog, Apache, logcat,
// glog, and seconds since 1970. A time without a zone is a local one. before is a time that the line is not younger than: a date without a
// year is of the last year before that, and none if before is zero.
func Date(line []byte, before time.Time) (at time.Time, ok bool) {
	line = line[:min(len(line), maxDated)]
	for i := range line {
		if i > 0 && isAlphanumeric(line[i-1]) || !isAlphanumeric(line[i]) {
			continue
		}
		for _, read := range dates {
			if at, year, ok := read(line[i:]); ok {
				return dated(at, year, before)
			}
		}
	}
	return time.Time{}, false
}

// dated returns a date, with the year that it lacks.
func dated(at time.Time, year bool, before time.Time) (time.Time, bool) {
	if year {
		return at, true
	}
	if before.IsZero() {
		return at, false
	}
	at = time.Date(before.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), at.Location())
	if at.After(before) {
		at = at.AddDate(-1, 0, 0)
	}
	return at, true
}

func isAlphanumeric(c byte) bool { return scan.IsDigit(c) || c|0x20-'a' < 26 }

// dates read a date at the beginning of a text. year is set if it has one.
var dates = [...]func(b []byte) (at time.Time, year, ok bool){dateOfYear, dateOfMonth, dateOfGlog, dateOfApache, dateOfUnix}

// numberAt reads a number of so many digits.
func numberAt(b []byte, at, digits int) (n int, ok bool) {
	if at < 0 || len(b) < at+digits {
		return 0, false
	}
	for _, c := range b[at : at+digits] {
		if !scan.IsDigit(c) {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// dateOfYear reads `2026-11-26T10:04:05.678+01:00`, with `/` or `.` for `-` and a space for `T`, and `11-26 10:04:05.678` of logcat.
func dateOfYear(b []byte) (at time.Time, year, ok bool) {
	y, year := numberAt(b, 0, 4)
	from := 0
	if year {
		if len(b) < 5 || b[4] != '-' && b[4] != '/' && b[4] != '.' {
			return at, false, false
		}
		from = 5
	}
	month, first := numberAt(b, from, 2)
	day, second := numberAt(b, from+3, 2)
	if !first || !second || b[from+2] != '-' && (!year || b[from+2] != b[4]) || len(b) <= from+5 || b[from+5] != ' ' && b[from+5] != 'T' {
		return at, false, false
	}
	at, _, ok = timeOfDay(b, from+6, y, time.Month(month), day)
	return at, year, ok
}

// months are the names of months in dates.
const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

func monthAt(b []byte, at int) (m time.Month, ok bool) {
	if len(b) < at+3 {
		return 0, false
	}
	i := bytes.Index([]byte(months), b[at:at+3])
	return time.Month(i/3 + 1), i >= 0 && i%3 == 0
}

// dateOfMonth reads `Nov 26 10:04:05`, of syslog, and the same with a year after it, of ctime.
func dateOfMonth(b []byte) (at time.Time, year, ok bool) {
	month, ok := monthAt(b, 0)
	if !ok || len(b) < len("Nov 26 10:04:05") || b[3] != ' ' || b[6] != ' ' {
		return at, false, false
	}
	day, ok := numberAt(b, 4, 2)
	if b[4] == ' ' {
		day, ok = numberAt(b, 5, 1)
	}
	if !ok {
		return at, false, false
	}
	at, end, ok := timeOfDay(b, 7, 0, month, day)
	if y, has := numberAt(b, end+1, 4); ok && has && b[end] == ' ' && (end+5 == len(b) || !isAlphanumeric(b[end+5])) {
		at, _, ok = timeOfDay(b, 7, y, month, day)
		return at, true, ok
	}
	return at, false, ok
}

// dateOfGlog reads `I1126 10:04:05.678901`, and the same with a year before the month.
func dateOfGlog(b []byte) (at time.Time, year, ok bool) {
	if len(b) < len("I1126 10:04:05") || bytes.IndexByte([]byte("IWEF"), b[0]) < 0 {
		return at, false, false
	}
	from := 1
	y, year := numberAt(b, from, 8)
	if year {
		y, from = y/1e4, from+4
	}
	month, first := numberAt(b, from, 2)
	day, second := numberAt(b, from+2, 2)
	if !first || !second || b[from+4] != ' ' {
		return at, false, false
	}
	at, _, ok = timeOfDay(b, from+5, y, time.Month(month), day)
	return at, year, ok
}

// dateOfApache reads `26/Nov/2026:10:04:05 +0100`.
func dateOfApache(b []byte) (at time.Time, year, ok bool) {
	day, first := numberAt(b, 0, 2)
	month, second := monthAt(b, 3)
	y, third := numberAt(b, 7, 4)
	if !first || !second || !third || b[2] != '/' || b[6] != '/' || len(b) < 12 || b[11] != ':' {
		return at, false, false
	}
	at, _, ok = timeOfDay(b, 12, y, month, day)
	return at, true, ok
}

// dateOfUnix reads seconds since 1970 of ten digits, and a fraction.
func dateOfUnix(b []byte) (at time.Time, year, ok bool) {
	end := digits(b, 0, 10, 10)
	if end < 0 || end+1 >= len(b) || b[end] != '.' || !scan.IsDigit(b[end+1]) {
		return at, false, false
	}
	n, err := strconv.ParseInt(string(b[:end]), 10, 64)
	return time.Unix(n, 0), true, err == nil
}

// timeOfDay reads `10:04:05`, a fraction, and a zone, and returns the time of that day. end is after the fraction.
func timeOfDay(b []byte, i, year int, month time.Month, day int) (at time.Time, end int, ok bool) {
	hour, first := numberAt(b, i, 2)
	minute, second := numberAt(b, i+3, 2)
	seconds, third := numberAt(b, i+6, 2)
	if !first || !second || !third || b[i+2] != ':' || b[i+5] != ':' ||
		month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || seconds > 60 {
		return at, 0, false
	}
	end = i + 8
	if end+1 < len(b) && (b[end] == '.' || b[end] == ',') && scan.IsDigit(b[end+1]) {
		for end++; end < len(b) && scan.IsDigit(b[end]); end++ {
		}
	}
	return time.Date(year, month, day, hour, minute, seconds, 0, zoneAt(b, end)), end, true
}

// zoneAt reads `Z`, `+01:00`, `+0100`, or one of these or `UTC` after a space. Without one it is the local zone.
func zoneAt(b []byte, i int) *time.Location {
	for i < len(b) && b[i] == ' ' {
		i++
	}
	rest := b[min(i, len(b)):]
	switch {
	case bytes.HasPrefix(rest, []byte("Z")), bytes.HasPrefix(rest, []byte("UTC")), bytes.HasPrefix(rest, []byte("GMT")):
		return time.UTC
	case len(rest) < 5 || rest[0] != '+' && rest[0] != '-':
		return time.Local
	}
	hours, ok := numberAt(rest, 1, 2)
	at := 3
	if rest[at] == ':' {
		at++
	}
	minutes, has := numberAt(rest, at, 2)
	if !ok || !has {
		return time.Local
	}
	seconds := (hours*60 + minutes) * 60
	if rest[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds)
}
