package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// scriptSources is how many sources the map has, and scriptLines how many lines each of them has.
const scriptSources, scriptLines = 700, 350

// writeScript writes a minified script of one line, its map with the contents of the sources, and a log with n frames of it.
func writeScript(path string, n int) error {
	words := strings.Fields("return this await new function items total currency price map reduce length push render state props value index options")
	rng := rand.New(rand.NewPCG(11, 12))
	var script, mappings bytes.Buffer
	var columns []int
	last := [4]int{}
	for source := range scriptSources {
		for line := range scriptLines {
			for column := 0; column < 24; column += 8 {
				at := [4]int{script.Len(), source, line, column}
				columns = append(columns, at[0])
				if len(columns) > 1 {
					mappings.WriteByte(',')
				}
				for i := range at {
					appendVLQ(&mappings, at[i]-last[i])
				}
				last = at
				script.WriteString(words[rng.IntN(len(words))])
				script.WriteByte(".(,;"[rng.IntN(4)])
			}
		}
	}
	script.WriteString("\n//# sourceMappingURL=" + filepath.Base(path) + ".js.map\n")
	if err := os.WriteFile(path+".js", script.Bytes(), 0o644); err != nil {
		return err
	}
	file, err := os.Create(mapOfScript(path))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprint(w, `{"version":3,"sources":[`)
	for i := range scriptSources {
		fmt.Fprintf(w, `%s"src/feature%d/component%d.ts"`, comma(i), i%41, i)
	}
	fmt.Fprint(w, `],"sourcesContent":[`)
	for i := range scriptSources {
		fmt.Fprintf(w, `%s"`, comma(i))
		for line := range scriptLines {
			fmt.Fprintf(w, `  const %s%d = \"%s\" + %d;\n`, words[rng.IntN(len(words))], line, words[rng.IntN(len(words))], i*line)
		}
		fmt.Fprint(w, `"`)
	}
	fmt.Fprintf(w, `],"names":[],"mappings":"%s"}`, mappings.Bytes())
	if err := w.Flush(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	var log bytes.Buffer
	for i := range n {
		fmt.Fprintf(&log, "    at f%d (%s.js:1:%d)\n", i, path, columns[rng.IntN(len(columns))]+1)
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

// comma returns what stands before the i-th element of a list.
func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

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
