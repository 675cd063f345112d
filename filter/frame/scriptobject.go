package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Frames of JavaScript that are objects of JSON:
//
//	{"filename":"app:///main.jsbundle","function":"value","lineno":19,"colno":2507,"in_app":true}                           Sentry, Elastic APM
//	{"functionName":"App","scriptId":"44","url":"http://localhost:3000/main.js","lineNumber":0,"columnNumber":237}          Chrome's protocol
//	{"file":"http://localhost:3000/main.js","method":"App","lineNumber":1,"columnNumber":238}                               Bugsnag
//	{"colno":2507,"filename":"app:\/\/\/main.jsbundle","lineno":19,"pre_context":["a();"]}                                  the same, on iOS
//	{"methodName":"value","file":"http://localhost:8081/index.bundle?platform=ios","lineNumber":99,"column":11}             React Native
//	{"line":695,"column":2496,"sourceURL":"main.jsbundle"}                                                                  an error of JavaScriptCore
//
// Lines and columns of Sentry's, Bugsnag's and JavaScriptCore's (ErrorInstance::finishCreation in its runtime/ErrorInstance.cpp) count from 1, those of
// Chrome's protocol, and of WebDriver's, from 0 (CallFrame in V8's js_protocol.pdl, script.StackFrame of WebDriver BiDi), and of React Native's only
// columns (its Libraries/Core/Devtools/parseErrorStack.js). Sentry's SDK for React Native adds 1 to the columns of Hermes.

// The keys of columns, by which these are found.
const (
	sentryColumn   = `"colno":`
	protocolColumn = `"columnNumber":`
	nativeMethod   = `"methodName":`
	engineScript   = `"sourceURL":`
)

func readScriptObject(s *Search, line []byte, at, from int, f *Frame) bool {
	s.object.Nests = scan.Has(line, at, sentryColumn) // only these have others in them, the source around the line and variables
	defer func() { s.object.Nests = false }()
	return s.readObject(line, at, from, f, ofScript) || scan.Has(line, at, sentryColumn) && readScriptPart(sentryColumn)(s, line, at, from, f)
}

// ofScript reads such a frame.
func ofScript(line []byte, o *scan.Object, f *Frame) bool {
	row, column := o.Get(line, "lineno"), o.Get(line, "colno")
	file, name := o.Path(line, "abs_path"), o.Text(line, "function")
	firstRow, firstColumn := uint64(1), uint64(1)
	switch {
	case column != nil:
		if !endsScript(file.Of(line)) { // of a program on the machine itself only this may be the path
			file = o.Path(line, "filename")
		}
	case o.Get(line, "methodName") != nil:
		row, column = o.Get(line, "lineNumber"), o.Get(line, "column")
		file, name, firstColumn = o.Path(line, "file"), o.Text(line, "methodName"), 0
		if !IsBundle(file.Of(line)) { // other tools write such objects, whose columns count from 1
			return false
		}
	case o.Get(line, "sourceURL") != nil:
		row, column = o.Get(line, "line"), o.Get(line, "column")
		file = o.Path(line, "sourceURL")
	default:
		row, column = o.Get(line, "lineNumber"), o.Get(line, "columnNumber")
		if file, name = o.Path(line, "url"), o.Text(line, "functionName"); !file.Empty() {
			firstRow, firstColumn = 0, 0
		} else if file, name = o.Path(line, "file"), o.Text(line, "method"); file.Empty() {
			file, name = o.Path(line, "fileName"), o.Text(line, "functionName")
		}
	}
	if row == nil || column == nil || row.Quoted || column.Quoted || !endsScript(file.Of(line)) {
		return false
	}
	r, okRow := scan.Number(row.Value.Of(line), 10)
	c, okColumn := scan.Number(column.Value.Of(line), 10)
	if !okRow || !okColumn || r < firstRow || c < firstColumn || r >= 1<<31 || c >= 1<<31 {
		return false
	}
	*f = Frame{Family: scripts, Space: symsrc.InScript, Convention: Exact, Module: file, Hint: name, Off: column.Value,
		Offset: (r-firstRow)<<32 | (c - firstColumn)}
	return true
}

// endsScript reports whether a path or URL is that of a script, whatever a server is asked for with it.
func endsScript(path []byte) bool {
	return bytes.HasSuffix(beforeAsked(path), []byte("js")) || IsBundle(path)
}

// IsBundle reports whether a path or URL is that of a bundle of React Native, whatever a server is asked for with it.
func IsBundle(path []byte) bool {
	path = beforeAsked(path)
	return bytes.HasSuffix(path, []byte("bundle")) || bytes.HasSuffix(path, []byte(".hbc")) || bytes.Contains(path, []byte(updatesDir))
}

// beforeAsked returns a path or URL without what a server is asked for.
func beforeAsked(path []byte) []byte {
	path, _, _ = bytes.Cut(path, []byte("?"))
	if i := bytes.Index(path, []byte("bundle//&")); i >= 0 {
		path = path[:i+len("bundle")]
	}
	return path
}

// maxNear bounds, in bytes, where the name of a script is looked for beside the key of its column.
const maxNear = 512

// statesScript reports whether the name of a script ends a string near the key at the place, or is asked for there.
func statesScript(line []byte, at int) bool {
	near := line[max(0, at-maxNear):min(len(line), at+maxNear)]
	for _, end := range [...][]byte{[]byte(`js"`), []byte(`bundle"`), []byte(`js?`), []byte(`bundle?`), []byte(`bundle//&`), []byte(`.hbc"`)} {
		if bytes.Contains(near, end) {
			return true
		}
	}
	return false
}

// statesPlaceInScript reports the same where the value of the key, which ends the literal, is a number.
func statesPlaceInScript(key string) func(line []byte, at int) bool {
	return func(line []byte, at int) bool {
		value := scan.Spaces(line, at+len(key))
		return value < len(line) && scan.IsDigit(line[value]) && statesScript(line, at)
	}
}

// statesColumn reports the same where the key of a column is near, too.
func statesColumn(line []byte, at int) bool {
	return bytes.Contains(line[max(0, at-maxNear):min(len(line), at+maxNear)], nativeColumn) && statesScript(line, at)
}

var nativeColumn = []byte(`"column":`)
