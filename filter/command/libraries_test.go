package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// licenses are known by words that each of them has.
var licenses = []struct{ name, has string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"Unlicense", "free and unencumbered software released into the public domain"},
	{"ISC", "Permission to use, copy, modify, and"},
	{"BSD-3-Clause", "Redistribution and use in source and binary forms"},
}

// license names the license of a module in a directory: the one whose words come first in its file.
func license(t *testing.T, dir string) string {
	t.Helper()
	for _, pattern := range []string{"LICENSE*", "COPYING*", "UNLICENSE*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			continue
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Join(strings.Fields(string(text)), " ")
		found, first := "", len(words)
		for _, l := range licenses {
			if i := strings.Index(words, l.has); i >= 0 && i < first {
				found, first = l.name, i
			}
		}
		return found
	}
	return ""
}

// TestLibraries holds the table of libraries in the topic security to go.mod and to the files of their licenses.
func TestLibraries(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}} {{.Dir}}{{end}}", "all").Output()
	if err != nil {
		t.Skip("go does not list the modules: ", err)
	}
	readme, err := os.ReadFile("filter/command/topics/security.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| \[[^]]+\]\(https://([^)]+)\) \| (\S+) \| .+ \|$`).FindAllStringSubmatch(string(readme), -1) {
		told[row[1]] = row[2]
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		path, dir, _ := strings.Cut(line, " ")
		path = regexp.MustCompile(`/v\d+$`).ReplaceAllString(path, "")
		if dir == "" { // where only some packages were ever tested
			t.Logf("%s was never downloaded: its license is not compared", path)
		} else if has := license(t, dir); told[path] != has || has == "" {
			t.Errorf("the topic security says of the license of %s %q, it is %q", path, told[path], has)
		}
		delete(told, path)
	}
	for path := range told {
		t.Errorf("the topic security names %s, which go.mod does not need", path)
	}
}
