package demangle

import "strings"

// PlainName returns a function's name in the form on which all readers of one symbol table agree, however they write it:
// readable, without parameters, symbol version, spaces and clone suffixes. It returns "" for a name that has no such form.
func PlainName(name string) string {
	if at := strings.IndexByte(name, '@'); at > 0 && name[0] != '?' {
		if strings.HasPrefix(name[at:], "@plt") {
			return "" // a stub may be of the file that has the function, too
		}
		name = name[:at]
	}
	if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") || strings.HasPrefix(name, "__Z") {
		readable := Demangle(name)
		if readable == name {
			return ""
		}
		name = readable
	}
	for _, mark := range [...]string{" (.", " [clone "} {
		name, _, _ = strings.Cut(name, mark)
	}
	for {
		at := strings.LastIndexByte(name, '.')
		if at <= 0 || !isCloneWord(name[at+1:]) {
			break
		}
		name = name[:at]
	}
	if strings.Contains(name, "operator") || strings.Contains(name, "decltype") || strings.HasPrefix(name, "?") {
		return ""
	}
	name = strings.ReplaceAll(name, "(anonymous namespace)", "{anonymous}")
	if at := parameters(name); at >= 0 {
		if name = name[:at]; strings.HasSuffix(name, " ") { // of a pointer to a function
			return ""
		}
	}
	return strings.ReplaceAll(name, " ", "")
}

// parameters returns where the parameters of a readable name begin, -1 if it has none.
func parameters(name string) int {
	depth := 0
	for i := range len(name) {
		switch name[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}
