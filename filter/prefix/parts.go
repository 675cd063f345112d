package prefix

import "qss-filter/filter/scan"

// The functions of this file look at line[i:] and return the offset after what they name, or −1 where it does not stand
// there. They accept any i from 0 to len(line).

// at reports whether line[i] is c.
func at(line []byte, i int, c byte) bool { return uint(i) < uint(len(line)) && line[i] == c }

// at0 returns line[i], or 0 outside the line.
func at0(line []byte, i int) byte {
	if uint(i) < uint(len(line)) {
		return line[i]
	}
	return 0
}

// spaces returns the offset of the first byte that is no space.
func spaces(line []byte, i int) int {
	for i < len(line) && line[i] == ' ' {
		i++
	}
	return i
}

// digits skips between least and most digits; a further digit after them is a failure.
func digits(line []byte, i, least, most int) int {
	start := i
	for i < len(line) && scan.IsDigit(line[i]) {
		i++
	}
	if n := i - start; n < least || n > most {
		return -1
	}
	return i
}

// pair skips two digits whose value is at most most.
func pair(line []byte, i int, most byte) int {
	if i+2 > len(line) {
		return -1
	}
	hi, lo := line[i]-'0', line[i+1]-'0'
	if hi > 9 || lo > 9 || hi*10+lo > most {
		return -1
	}
	return i + 2
}

// clock skips `HH:MM:SS`.
func clock(line []byte, i int) int {
	if i+8 > len(line) || line[i+2] != ':' || line[i+5] != ':' ||
		pair(line, i, 23) < 0 || pair(line, i+3, 59) < 0 || pair(line, i+6, 60) < 0 {
		return -1
	}
	return i + 8
}

// monthDay skips `MM-DD`.
func monthDay(line []byte, i int) int {
	if i+5 > len(line) || line[i+2] != '-' || pair(line, i, 12) < 0 || pair(line, i+3, 31) < 0 {
		return -1
	}
	return i + 5
}

// yearDay skips `YYYY-MM-DD`.
func yearDay(line []byte, i int) int {
	if i+10 > len(line) || line[i+4] != '-' || digits(line[:i+4], i, 4, 4) < 0 {
		return -1
	}
	return monthDay(line, i+5)
}

// fraction skips a point or comma and up to nine digits; nothing at all is a fraction too.
func fraction(line []byte, i int) int {
	if i < len(line) && (line[i] == '.' || line[i] == ',') {
		return digits(line, i+1, 1, 9)
	}
	return i
}

// zone skips `Z`, `+0900` or `+09:00`; nothing at all is a zone too.
func zone(line []byte, i int) int {
	if at(line, i, 'Z') {
		return i + 1
	}
	if !at(line, i, '+') && !at(line, i, '-') {
		return i
	}
	i = pair(line, i+1, 23)
	if i < 0 {
		return -1
	}
	if at(line, i, ':') {
		i++
	}
	return pair(line, i, 59)
}

// monthName skips an English month of three letters.
func monthName(line []byte, i int) int { return name3(line, i, "JanFebMarAprMayJunJulAugSepOctNovDec") }

// weekdayName skips an English weekday of three letters.
func weekdayName(line []byte, i int) int { return name3(line, i, "MonTueWedThuFriSatSun") }

// name3 skips one of the names of three letters that are strung together in names.
func name3(line []byte, i int, names string) int {
	if i+3 > len(line) {
		return -1
	}
	for k := 0; k < len(names); k += 3 {
		if line[i] == names[k] && line[i+1] == names[k+1] && line[i+2] == names[k+2] {
			return i + 3
		}
	}
	return -1
}

// syslogDate skips `Nov 20 15:58:12` (RFC 3164 §4.1.2: days below 10 have a space in front), with a fraction of a second
// where journald is asked to be precise.
func syslogDate(line []byte, i int) int {
	i = monthName(line, i)
	if i < 0 || i+4 > len(line) || line[i] != ' ' || line[i+3] != ' ' || !scan.IsDigit(line[i+2]) ||
		!scan.IsDigit(line[i+1]) && line[i+1] != ' ' {
		return -1
	}
	i = clock(line, i+4)
	if i < 0 {
		return -1
	}
	return fraction(line, i)
}

// escapes skips SGR sequences `ESC[…m` and a byte order mark.
func escapes(line []byte, i int) int {
	for i < len(line) {
		switch {
		case line[i] == 0x1b && at(line, i+1, '['):
			k := i + 2
			for k < len(line) && (scan.IsDigit(line[k]) || line[k] == ';' || line[k] == ':') {
				k++
			}
			if !at(line, k, 'm') {
				return i
			}
			i = k + 1
		case scan.Has(line, i, byteOrderMark):
			i += len(byteOrderMark)
		default:
			return i
		}
	}
	return i
}

const byteOrderMark = "\uFEFF"

// nameByte reports whether c is a byte of host, pod, service and file names.
func nameByte(c byte) bool {
	return scan.IsLetter(c) || scan.IsDigit(c) || c == '-' || c == '_' || c == '.'
}
