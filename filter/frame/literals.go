package frame

import (
	"bytes"

	"qss-filter/filter/match"
	"qss-filter/filter/scan"
)

// What the formats hold for the stream to find them, and what must stand around it for a line to be read. Absolute addresses count only where a
// process's mappings are known, and frames without a module where a stack is being renumbered.
var (
	plusHex      = match.Literal{Text: "+0x", After: match.Hex, When: match.Always, Fits: endsOffset}
	plusSpaceHex = match.Literal{Text: "+ 0x", After: match.Hex, When: match.Always, Fits: endsSpacedOffset}
	bracketHex   = match.Literal{Text: "[0x", After: match.Hex, When: match.Always, Fits: endsBracket}
	offsetHex    = match.Literal{Text: "offset=0x", After: match.Hex, When: match.Always, Fits: followsModule}
	pcWord       = match.Literal{Text: " pc ", When: match.Always, Fits: betweenNumbers}
	inlinedMark  = match.Literal{Text: "(inlined)", When: match.Always, Fits: endsPerf}
	unknownWord  = match.Literal{Text: "[unknown] (", When: match.Always, Fits: followsHex}
	pcOfFuchsia  = match.Literal{Text: ": pc 0x", After: match.Hex, When: match.Always, Fits: followsDigit}
	mapAddrWord  = match.Literal{Text: mapAddr, After: match.Hex, When: match.Always, Fits: followsParen}
	mtracePlace  = match.Literal{Text: ":[0x", After: match.Hex, When: match.Always, Fits: endsMtrace}
	atHex        = match.Literal{Text: " @ 0x", After: match.Hex, When: match.Always, Fits: followsItem}
	pathParen    = match.Literal{Text: " (/", When: match.Absolute}
	mongoOffset  = match.Literal{Text: `","o":"`, After: match.Hex, When: match.Always}
	mongoEscaped = match.Literal{Text: `\",\"o\":\"`, After: match.Hex, When: match.Always}
	moduleOffset = match.Literal{Text: `"module_offset":`, When: match.Always}
	returnWord   = match.Literal{Text: `"returnAddress`, When: match.Always, Fits: statesAddress}
	address      = match.Literal{Text: "0x", After: match.Hex, When: match.Absolute, Fits: isAddress}
	segfaultWord = match.Literal{Text: "segfault", When: match.Always, Fits: statesFault}
	ipColon      = match.Literal{Text: " ip:", After: match.Hex, When: match.Always, Fits: statesFault}
	unhandled    = match.Literal{Text: ": unhandled ", When: match.Always, Fits: statesFault}
	userFault    = match.Literal{Text: "User process fault", When: match.Always, Fits: statesFault}
	epcWord      = match.Literal{Text: "epc = ", After: match.Hex, When: match.Always, Fits: statesFault}
	barHex       = match.Literal{Text: "|0x", After: match.Hex, When: match.Always, Fits: endsFields}
	unrealWord   = match.Literal{Text: "!UnknownFunction(0x", After: match.Hex, When: match.Always}
	unnamedIn    = match.Literal{Text: ": ??? (in /", When: match.Always, Fits: endsHex}
	stackWord    = match.Literal{Text: "3ff", When: match.Absolute}
	atAddress    = match.Literal{Text: "Object \"", When: match.Always, Fits: followsNumber}
	numberZeros  = match.Literal{Text: "# 0x00000000", When: match.Always, Fits: followsDigit}
	firstID      = match.Literal{Text: "[0]", After: match.Hex, When: match.Always, Fits: beforeID}
	capturedWord = match.Literal{Text: ") [captured native frame] (", When: match.Always, Fits: endsHex}
	idOffsetKey  = match.Literal{Text: `"build_id_offset":`, When: match.Always, Fits: followsBuildID}
	relativeKey  = match.Literal{Text: `relative_address`, When: match.Always, Fits: statesHex}
	unnamedMark  = match.Literal{Text: unnamedWord, After: match.Hex, When: match.Always, Fits: afterTick}
	satyrBegins  = match.Literal{Text: satyrAddress, After: match.Digit, When: match.Always, Fits: endsAddress}
	satyrStates  = match.Literal{Text: satyrID, After: match.Hex, When: match.Always, Fits: endsID}
	unknownTwice = match.Literal{Text: "Unknown  Unknown", When: match.Always, Fits: endsLine}
	addr2line    = match.Literal{Text: addr2lineWord, When: match.Always, Fits: ofStack}
	linkColon    = match.Literal{Text: " ra: ", After: match.Hex, When: match.Absolute}
	dollar       = match.Literal{Text: "  $0000", After: match.Hex, When: match.Absolute}
	relocatedAs  = match.Literal{Text: "(reloc)", When: match.Absolute}
	adjustedAs   = match.Literal{Text: " reloc adjusted", When: match.Absolute}
	firmware     = match.Literal{Text: firmwareWord, After: match.Hex, When: match.Always}
	mepcColon    = match.Literal{Text: "mepc: ", After: match.Hex, When: match.Absolute}
	attaching    = match.Literal{Text: TracingWord, When: match.Always, Fits: beforeProbes}
	mappedWord   = match.Literal{Text: mappedAt, After: match.Hex, When: match.Always}
	atPath       = match.Literal{Text: execinfoWord, When: match.Always, Fits: afterFunction}
	// decimalOffset is in the libraries of MATLAB, whose names end in that.
	decimalOffset = match.Literal{Text: ".so+0", After: match.Digit, When: match.Always}
	signatureWord = match.Literal{Text: "StacktraceAddressSignature:", When: match.Always, Fits: beforePaths}
	scriptPlace   = match.Literal{Text: "js:", After: match.Digit, When: match.Always, Fits: func(line []byte, at int) bool { return endsPlaceOrExcerpt(line, at+len("js")) }}
	// coloredPlace is the same where Deno has colors in it, which it writes to pipes, too.
	coloredPlace = match.Literal{Text: "js\x1b[", When: match.Always}
	// coloredLine is the same where Vitest has colors behind the colon.
	coloredLine = match.Literal{Text: "js:\x1b[", When: match.Always}
	bundlePlace = match.Literal{Text: "bundle:", After: match.Digit, When: match.Always, Fits: func(line []byte, at int) bool { return endsPlace(line, at+len("bundle")) }}
	hermesPlace = match.Literal{Text: ".hbc:", After: match.Digit, When: match.Always, Fits: func(line []byte, at int) bool { return endsPlace(line, at+len(".hbc")) }}
	// askedBundle and askedApple end the path of a bundle of Metro's server, and bareBegin is before a place in one that has no name.
	askedBundle   = match.Literal{Text: "bundle?", When: match.Always, Fits: endsAsked}
	askedScript   = match.Literal{Text: "js?", When: match.Always, Fits: endsAsked}
	askedApple    = match.Literal{Text: "bundle//", When: match.Always, Fits: endsAsked}
	bareBegin     = match.Literal{Text: "@1:", After: match.Digit, When: match.Always, Fits: endsBare}
	bareInStack   = match.Literal{Text: "@", After: match.Digit, When: match.Stacked, Fits: endsBare}
	updatePlace   = match.Literal{Text: updatesDir, When: match.Always, Fits: endsUpdate}
	stackBegin    = match.Literal{Text: stackFollows, When: match.Always, Fits: endsStackFollows}
	consolePlaced = match.Literal{Text: consoleWord, After: match.Digit, When: match.Always, Fits: endsConsole}
	wordedPlace   = match.Literal{Text: wordedFrame, After: match.Digit, When: match.Always}
	errorPlace    = match.Literal{Text: wordedError, After: match.Digit, When: match.Always}
	// sentryPlace, protocolPlace, nativePlace and sourcePlace are keys of objects that are frames of scripts.
	sentryPlace   = match.Literal{Text: sentryColumn, When: match.Always, Fits: statesPlaceOrPart}
	protocolPlace = match.Literal{Text: protocolColumn, When: match.Always, Fits: statesPlaceInScript(protocolColumn)}
	nativePlace   = match.Literal{Text: nativeMethod, When: match.Always, Fits: statesColumn}
	sourcePlace   = match.Literal{Text: engineScript, When: match.Always, Fits: statesColumn}
	// plusDecimal is before the distance from where a function or an image begins, in frames of Darwin.
	plusDecimal   = match.Literal{Text: "+ ", After: match.Digit, When: match.Always, Fits: endsDistance}
	missingWord   = match.Literal{Text: " (Missing UUID ", After: match.Hex, When: match.Always}
	imageKey      = match.Literal{Text: `"imageOffset":`, When: match.Absolute}
	metricFirst   = match.Literal{Text: `"binaryUUID"`, When: match.Always, Fits: statesMetric}
	metricKey     = match.Literal{Text: `"offsetIntoBinaryText`, When: match.Always, Fits: statesOffset}
	bugsnagWord   = match.Literal{Text: bugsnagKey, When: match.Always, Fits: statesBugsnag}
	crashImages   = match.Literal{Text: `"binary_images"`, When: match.Absolute}
	crashFrame    = match.Literal{Text: crashKey, When: match.Always, Fits: statesCrash}
	offsetWord    = match.Literal{Text: offsetStart, After: match.Hex, When: match.Always, Fits: statesPlace}
	relocatedWord = match.Literal{Text: relocatedPC, After: match.Hex, When: match.Absolute}
	locationStart = match.Literal{Text: locationKey, When: match.Always, Fits: statesLocation}
	// dictionaryWord and tableWord open the tables of a profile of OpenTelemetry that has a line for each member.
	dictionaryWord = match.Literal{Text: `"dictionary":`, When: match.Always, Fits: opensLine}
	tableWord      = match.Literal{Text: `"mappingTable":`, When: match.Always, Fits: opensLine}
	number         = match.Literal{Text: "#", After: match.Digit, When: match.Renumbering}
)

func stopAt(l ...match.Literal) []match.Literal { return l }

// isAddress reports whether a number may be an address: programs write `flags=0x1` most.
func isAddress(line []byte, at int) bool {
	digits := at + len("0x")
	return at == 0 || line[at-1] != '=' || scan.HexEnd(line, digits) > digits+2
}

// mayEnd reports whether the program's words may end before line[i:], or this filter's answer begin there.
func mayEnd(line []byte, i int) bool {
	if i >= len(line) || scan.Has(line, i, " in ") {
		return true
	}
	switch line[i] {
	case ' ', '\t':
		p := scan.Spaces(line, i)
		return p == len(line) || p > i+1 || line[p] == '\r'
	case '\r', '"', '\'', '`', '<', ',', '}', '\\': // the last begins a line break that is written as an escape
		return true
	}
	return false
}

// endsOffset reports whether what stands around a `+0x` may be an offset: most stand before a bracket, a size or the end of a word, those of
// eu-stack after an address.
func endsOffset(line []byte, at int) bool {
	end := scan.HexEnd(line, at+len("+0x"))
	if at > 0 && line[at-1] == ' ' { // those of Mozilla and Python: Go prints others after places in the source
		return end < len(line) && line[end] == ']' || scan.EndsWith(line, 0, at, " at ") || bytes.IndexByte(line[:at], '#') >= 0
	}
	if end >= len(line) {
		return true
	}
	switch line[end] {
	case ')':
		return !scan.Has(line, end+1, ":") || !inSection(line, at)
	case ']', '/', '\r', '"', '<', '\\':
		return true
	case ' ', '\t': // those before a word have a path before them, or a number, or what follows is part of the frame
		next := scan.Spaces(line, end)
		return mayEnd(line, end) || bytes.IndexByte([]byte("([/0"), line[next]) >= 0 || bytes.IndexByte(line[:at], '/') >= 0 || bytes.IndexByte(line[:at], '#') >= 0
	}
	return scan.EndsWith(line, 0, scan.BackHex(line, 0, at), "0x")
}

// inSection reports whether a section stands before the place, as in `(.text+0x318): undefined reference` of linkers.
func inSection(line []byte, at int) bool {
	const longest = 1 << 6
	from := max(0, at-longest)
	name := line[from+bytes.LastIndexByte(line[from:at], '(')+1 : at]
	return len(name) > 1 && name[0] == '.' && scan.IsLetter(name[1]) && bytes.IndexByte(name, '/') < 0
}

// endsSpacedOffset is endsOffset for `+ 0x` of systemd, Tizen, PyTorch and minidump-stackwalk.
func endsSpacedOffset(line []byte, at int) bool {
	end := scan.HexEnd(line, at+len("+ 0x"))
	return mayEnd(line, end) || line[end] == ')' || scan.Has(line, end, " (0x") || scan.EndsWith(line, 0, at, "] ")
}

// statesHex reports whether the key at the place has a hexadecimal number, in JSON or in a string of it.
func statesHex(line []byte, at int) bool {
	rest := line[min(len(line), at+len("relative_address")):]
	rest = bytes.TrimPrefix(bytes.TrimLeft(rest, `\`), []byte(`":`))
	return bytes.HasPrefix(bytes.TrimLeft(rest[:min(len(rest), 16)], ` \`), []byte(`"0x`))
}

// endsDistance reports whether ` + N` may end a frame of Darwin, in which an address stands before it. Other programs print such frames on Linux.
func endsDistance(line []byte, at int) bool {
	end := at + len("+ ")
	for end < len(line) && scan.IsDigit(line[end]) {
		end++
	}
	return at > 0 && line[at-1] == ' ' && (mayEnd(line, end) || scan.Has(line, end, " (")) && bytes.Contains(line[:at], hexPrefix) &&
		(!bytes.Contains(line[:at], soSuffix) || bytes.IndexByte(line[:at], '`') > 0) // the latter are of lldb
}

// followsParen reports whether a parenthesis ends before the place.
func followsParen(line []byte, at int) bool { return at > 0 && line[at-1] == ')' }

// endsMtrace reports whether an address in brackets is the place of a call in a log of mtrace.
func endsMtrace(line []byte, at int) bool {
	end := scan.HexEnd(line, at+len(":[0x"))
	return scan.Has(line, end, "]") && ofMtrace(line, end+1)
}

// endsBracket reports whether `[0x…` is closed, and stands where a frame has it: at the end of the line, before this filter's answer, after
// what a frame has before it, or before a function and its distance.
func endsBracket(line []byte, at int) bool {
	end := scan.HexEnd(line, at+len("[0x"))
	switch {
	case end >= len(line):
		return true
	case line[end] != ']':
		return false
	}
	return mayEnd(line, end+1) || scan.Has(line, end+1, noPlace) || at > 0 && (line[at-1] == ')' || line[at-1] == '"') || scan.EndsWith(line, 0, at, ") ") || scan.EndsWith(line, 0, at, `" `) ||
		scan.Has(line, end, "] ") && (at == 0 || scan.IsSpace(line[at-1])) && statesDistance(line[end:min(len(line), end+maxCrystal)])
}

// maxCrystal is how far a line is searched for the distance in a function of Crystal. A longer name is read where frames are without it.
const maxCrystal = 1 << 10

// statesDistance reports whether ` +N` stands in a text.
func statesDistance(text []byte) bool {
	i := bytes.Index(text, []byte(" +"))
	return i >= 0 && i+len(" +") < len(text) && scan.IsDigit(text[i+len(" +")])
}

// followsModule reports whether a key of a module stands before an offset.
func followsModule(line []byte, at int) bool { return bytes.Contains(line[:at], moduleKey) }

// followsNumber reports whether the number of a frame stands before the place, and spaces of any kind.
func followsNumber(line []byte, at int) bool {
	i := at
	for {
		i = scan.BackSpaces(line, 0, i)
		if !scan.EndsWith(line, 0, i, "\u200b") {
			return followsDigit(line, i)
		}
		i -= len("\u200b")
	}
}

// betweenNumbers reports whether the number of a frame stands before the place, and digits after ` pc `.
func betweenNumbers(line []byte, at int) bool {
	next := skipWide(line, at+len(" pc "))
	return (next == len(line) || scan.IsHex(line[next])) && followsNumber(line, at)
}

// followsDigit reports whether a digit, or nothing at all, stands before the place.
func followsDigit(line []byte, at int) bool { return at == 0 || scan.IsDigit(line[at-1]) }

// followsHex reports whether a hexadecimal number stands before the place, and a space.
func followsHex(line []byte, at int) bool {
	return at < 2 || line[at-1] == ' ' && scan.IsHex(line[at-2])
}

// endsHex reports whether a hexadecimal number may end before the place, such as a build ID.
func endsHex(line []byte, at int) bool { return at > 0 && scan.IsHex(line[at-1]) }

// endsPerf reports whether the place is the end of a frame of perf, which begins with a tab.
func endsPerf(line []byte, at int) bool {
	return at > 0 && line[at-1] == ' ' && mayEnd(line, at+len("(inlined)")) && bytes.IndexByte(line[:at], '\t') >= 0
}

// followsItem reports whether an address after ` @ ` may be that of a numbered item, or of a file of OP-TEE that mappings reads.
func followsItem(line []byte, at int) bool {
	end := scan.HexEnd(line, at+len(" @ 0x"))
	if end < len(line) && !mayEnd(line, end) {
		return false
	}
	if scan.EndsWith(line, 0, at, "TEE load address") {
		return true
	}
	const uuid, group = len("8aaaf201-2450-11e4-abe2-0002a5d5c57b"), len("-0002a5d5c57b")
	if at >= uuid+len("] ") && line[at-group] == '-' && scan.EndsWith(line, 0, at-uuid, "] ") {
		return true
	}
	for i := at; i > 0; {
		if i = bytes.LastIndex(line[:i], itemWord); i > 0 && scan.IsDigit(line[i-1]) {
			return true
		}
	}
	return false
}

// itemWord stands after the number of an item.
var itemWord = []byte(". ")

// endsFields reports whether `|0x…` is the last field of a frame of minidump-stackwalk, or a field of a module.
func endsFields(line []byte, at int) bool {
	return at > 0 && line[at-1] == '|' && mayEnd(line, scan.HexEnd(line, at+len("|0x"))) || bytes.Contains(line, moduleFields)
}

// moduleFields begins the fields of a module.
var moduleFields = []byte("Module|")

// statesFault reports whether a line of the kernel that says how a program ended states a mapping, ` in NAME[START+SIZE]`.
func statesFault(line []byte, at int) bool {
	rest := line[at:]
	i := bytes.Index(rest, inWord)
	return i >= 0 && bytes.IndexByte(rest[i:], '[') >= 0
}

// followsBuildID reports whether a key of a build ID stands before the place, or the member may have its line for itself.
func followsBuildID(line []byte, at int) bool {
	return bytes.Contains(line[:at], buildIDKey) || scan.EndsWith(line, 0, at, ",   ")
}

var buildIDKey = []byte(`"build_id"`)

// endsLine reports whether the words of a line of Intel's Fortran end with its literal.
func endsLine(line []byte, at int) bool { return mayEnd(line, at+len("Unknown  Unknown")) }

// beforePaths reports whether the path of a module, and an offset, follow the place.
func beforePaths(line []byte, at int) bool {
	i := bytes.Index(line[at:], colonSlash)
	return i >= 0 && bytes.IndexByte(line[at+i:], '+') >= 0
}

var colonSlash = []byte(":/")

// statesOffset reports whether the key of a frame of MetricKit has a number.
func statesOffset(line []byte, at int) bool {
	_, ok := metricOffset(line, at)
	return ok
}

// statesCrash reports whether the key of an address has a number.
func statesCrash(line []byte, at int) bool {
	_, _, _, ok := crashAddress(line, at)
	return ok
}

// statesMetric reports whether a line that begins with the UUID of a frame of MetricKit has nothing else: its offset stands on the next one.
func statesMetric(line []byte, at int) bool {
	if len(scan.TrimLeft(line[:at])) > 0 {
		return false
	}
	_, ok := metricOpening(bytes.TrimRight(line, " \r\n"))
	return ok
}

// statesAddress reports whether an object of Swift's states an address.
func statesAddress(line []byte, _ int) bool { return bytes.Contains(line, swiftMark) }

// opensLine reports whether a key, whose object or array goes on below, has the line for itself.
func opensLine(line []byte, at int) bool {
	if len(scan.TrimLeft(line[:at])) > 0 {
		return false
	}
	end := bytes.TrimRight(line[at:], " \r\n")
	return end[len(end)-1] == '{' || end[len(end)-1] == '['
}
