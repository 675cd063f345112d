package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// scriptCases are about a source map of 14 MB: three frames of its script, and ten thousand.
var scriptCases = []oneCase{
	{"script", "three frames of JavaScript, with a map of 14 MB", func(path string, _ *libc) error { return writeScript(path, 3) },
		func(log string, _ *libc) []command {
			return append(withCaches(command{name: "qss-filter", argv: []string{"qss-filter", log}, input: os.DevNull}), scriptPeers(log, goal{20, 0.4})...)
		}},
	{"scripts", "10,000 frames of JavaScript, with a map of 14 MB", func(path string, _ *libc) error { return writeScript(path, 10_000) },
		func(log string, _ *libc) []command {
			return append(withCaches(command{name: "qss-filter", argv: []string{"qss-filter", log}, input: os.DevNull}), scriptPeers(log, goal{20, 0.4})...)
		}},
}

// scriptPackages are the peers at npm, below the directory of the log's.
const scriptPackages = "@jridgewell/trace-mapping metro-symbolicate"

// scriptPeers returns commands that read a log of writeScript, which say why they are not there.
func scriptPeers(log string, want goal) (peers []command) {
	node := filepath.Join(scriptDir(log), "node_modules")
	for _, p := range []struct {
		name, needs string
		argv        []string
	}{
		{"node trace-mapping", "@jridgewell/trace-mapping", []string{"node", log + ".tracer.cjs", log}},
		{"node metro-symbolicate", "metro-symbolicate", []string{"node", filepath.Join(node, "metro-symbolicate/src/index.js"), mapOfScript(log)}},
	} {
		if _, err := os.Stat(filepath.Join(node, p.needs)); err != nil {
			fmt.Printf("  %-22s skipped: %s is not below %s (npm install --prefix DIR %s; -dir DIR)\n", p.name, p.needs, node, scriptPackages)
			continue
		}
		peers = append(peers, command{name: p.name, argv: p.argv, input: log, goal: want})
	}
	return peers
}

// scriptDir returns the directory with the packages: the one that is kept, or that of the log.
func scriptDir(log string) string {
	if *keep != "" {
		if dir, err := filepath.Abs(*keep); err == nil {
			return dir
		}
	}
	return filepath.Dir(log)
}

func mapOfScript(log string) string { return log + ".js.map" }

// tracer reads a log as trace-mapping's users do: each map once, and the place of each frame.
const tracer = `const fs = require("fs");
const { TraceMap, originalPositionFor } = require(%q);
const maps = {};
process.stdout.write(fs.readFileSync(process.argv[2], "utf8").split("\n").map((line) => {
  const m = /^(.*\()(.*):(\d+):(\d+)\)$/.exec(line);
  if (!m) return line;
  const map = maps[m[2]] ??= new TraceMap(fs.readFileSync(m[2] + ".map", "utf8"), m[2] + ".map");
  const at = originalPositionFor(map, { line: +m[3], column: m[4] - 1 });
  return m[1] + at.source + ":" + at.line + ":" + (at.column + 1) + ")";
}).join("\n"));
`

// scriptSources is how many sources the map has, scriptFunctions how many functions each of them has, and scriptLines how many lines each of these.
const scriptSources, scriptFunctions, scriptLines = 450, 23, 15

// minified is a script of one line, with its mappings.
type minified struct {
	script, mappings bytes.Buffer
	last             [5]int // of the last segment: column, source, line, column and name
}

// add adds code that comes from a place of a source, with the name that it has there if that is not −1.
func (m *minified) add(code string, source, line, column, name int) {
	if m.mappings.Len() > 0 {
		m.mappings.WriteByte(',')
	}
	at := [...]int{m.script.Len(), source, line, column, name}
	fields := at[:]
	if name < 0 {
		fields, at[4] = at[:4], m.last[4]
	}
	for i, v := range fields {
		appendVLQ(&m.mappings, v-m.last[i])
	}
	m.last = at
	m.script.WriteString(code)
}

// writeScript writes a minified script of one line, its map with the contents of the sources, and a log with n frames of it: calls in functions whose
// names are short there.
func writeScript(path string, n int) error {
	words := strings.Fields("items total currency price map reduce length push render state props value index options")
	rng := rand.New(rand.NewPCG(11, 12))
	word := func() string { return words[rng.IntN(len(words))] }
	var of minified
	type call struct{ column, function int }
	var calls []call
	var names []string
	contents := make([]string, scriptSources)
	for source := range contents {
		var text strings.Builder
		line := 0
		for range scriptFunctions {
			function := len(names)
			names = append(names, fmt.Sprintf("%sOf%s%d", word(), word(), function))
			name := names[function]
			fmt.Fprintf(&text, "export function %s(first, second) {\n", name)
			of.add("function ", source, line, len("export "), -1)
			of.add(minifiedName(function), source, line, len("export function "), function)
			of.add("(", source, line, len("export function "+name), -1)
			of.add("a,", source, line, len("export function "+name+"("), -1)
			of.add("b){", source, line, len("export function "+name+"(first, "), -1)
			for k := range scriptLines - 2 {
				line++
				method, key, value := word(), word(), word()
				text.WriteString("  ")
				column := 2
				add := func(code, original string) {
					of.add(code, source, line, column, -1)
					text.WriteString(original)
					column += len(original)
				}
				if k < scriptLines-3 {
					add("const ", "const ")
					add(fmt.Sprintf("c%d=", k), fmt.Sprintf("%s%d = ", value, k))
				} else {
					add("return ", "return ")
				}
				add("a.", "first.")
				calls = append(calls, call{of.script.Len(), function})
				add(method+"(", method+"(")
				add("b.", "second.")
				add(key, key)
				text.WriteString(", ")
				of.script.WriteByte(',')
				column += 2
				literal := fmt.Sprintf("%q", value)
				add(literal+")", literal+")")
				text.WriteString(";\n")
				if k < scriptLines-3 {
					of.script.WriteByte(';')
				}
			}
			line++
			of.add("}", source, line, 0, -1)
			text.WriteString("}\n")
			line++
		}
		contents[source] = text.String()
	}
	of.script.WriteString("\n//# sourceMappingURL=" + filepath.Base(path) + ".js.map\n")
	if err := os.WriteFile(path+".js", of.script.Bytes(), 0o644); err != nil {
		return err
	}
	sources := make([]string, scriptSources)
	for i := range sources {
		sources[i] = fmt.Sprintf("src/feature%d/component%d.ts", i%41, i)
	}
	text, err := json.Marshal(map[string]any{"version": 3, "sources": sources, "sourcesContent": contents, "names": names, "mappings": of.mappings.String()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(mapOfScript(path), text, 0o644); err != nil {
		return err
	}
	var log bytes.Buffer
	for range n {
		at := calls[rng.IntN(len(calls))]
		fmt.Fprintf(&log, "    at %s (%s.js:1:%d)\n", minifiedName(at.function), path, at.column+1)
	}
	if err := os.WriteFile(path, log.Bytes(), 0o644); err != nil {
		return err
	}
	for _, of := range []string{path + ".js", mapOfScript(path)} {
		if err := age(of); err != nil {
			return err
		}
	}
	return os.WriteFile(path+".tracer.cjs", fmt.Appendf(nil, tracer, filepath.Join(scriptDir(path), "node_modules/@jridgewell/trace-mapping")), 0o644)
}

// minifiedName returns the name that a minifier gives a function.
func minifiedName(function int) string { return "f" + strconv.FormatInt(int64(function), 36) }

// appendVLQ appends a number as mappings have it: in base64, five bits a digit, the sign in the lowest one.
func appendVLQ(to *bytes.Buffer, v int) {
	u := uint(v) << 1
	if v < 0 {
		u = uint(-v)<<1 | 1
	}
	for more := true; more; u >>= 5 {
		d := u & 31
		if more = u > 31; more {
			d |= 32
		}
		to.WriteByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[d])
	}
}
