package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// javaCases are about maps of names of Java: one frame in twenty lines of logcat, and three frames with a large map.
var javaCases = []oneCase{
	{"java", "logcat with 5 % frames of Java, 5,000 distinct", func(path string, _ *libc) error { return writeJava(path, 10_000_000) },
		func(log string, _ *libc) []command {
			read := func(name, log string) command {
				return command{name: name, argv: []string{"qss-filter", "--map", mapOf(log)}, input: log}
			}
			bare := read("qss-filter without frames", log+bareEnd)
			bare.goal = goal{times: 0.7}
			return []command{read("qss-filter", log), bare}
		}},
	{"retrace", "three frames of Java, with a map of 47 MB", func(path string, _ *libc) error {
		return writeThree(path, 47_000_000)
	}, func(log string, _ *libc) []command {
		warm := command{name: "qss-filter", argv: []string{"qss-filter", "--map", mapOf(log), log}, input: os.DevNull}
		cold := warm
		cold.name, cold.cold = "qss-filter cold", true
		return []command{warm, cold, {name: "java proguard-retrace", input: os.DevNull, goal: goal{20, 0.1},
			argv: []string{"java", "-cp", "/usr/share/java/proguard-retrace.jar:/usr/share/java/proguard.jar", "proguard.retrace.ReTrace", mapOf(log), log}}}
	}},
}

// bareEnd ends the path of a log without its frames.
const bareEnd = ".bare"

// mapOf returns the path of the map of a log, with or without its frames.
func mapOf(log string) string { return strings.TrimSuffix(log, bareEnd) + ".mapping.txt" }

// shortName returns the i-th name that an obfuscator makes: a, b, …, z, aa, ab, …
func shortName(i int) (name string) {
	for i++; i > 0; i /= 26 {
		i--
		name = string(rune('a'+i%26)) + name
	}
	return name
}

// methods is how many methods a class of writeMap has, and lines how many lines each has.
const methods, lines = 12, 5

// writeMap writes a map as R8 does, of about that size, and returns how many classes it has.
func writeMap(path string, size int) (classes int, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	n, _ := fmt.Fprint(w, "# compiler: R8\n# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.2\"}\n# pg_map_id: 4f1b2c3\n")
	for ; n < size; classes++ {
		k, _ := fmt.Fprintf(w, "com.example.feature%d.subsystem.Component%dImplementation -> a.%s:\n# {\"id\":\"sourceFile\",\"fileName\":\"Component%dImplementation.kt\"}\n",
			classes%97, classes, shortName(classes), classes)
		n += k
		for m := range methods {
			k, _ := fmt.Fprintf(w, "    %d:%d:void processSomething%d(java.lang.String,int):%d:%d -> %s\n", m*lines+1, m*lines+lines, m, m*9+20, m*9+20+lines-1, shortName(m))
			n += k
		}
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return classes, file.Close()
}

// javaFrames returns n frames of the classes of a map.
func javaFrames(classes, n int) []string {
	rng := rand.New(rand.NewPCG(7, 8))
	frames := make([]string, n)
	for i := range frames {
		m := rng.IntN(methods)
		frames[i] = fmt.Sprintf("\tat a.%s.%s(SourceFile:%d)\n", shortName(rng.IntN(classes)), shortName(m), m*lines+1+rng.IntN(lines))
	}
	return frames
}

// writeThree writes three frames, and a map of that size.
func writeThree(path string, size int) error {
	classes, err := writeMap(mapOf(path), size)
	if err != nil {
		return err
	}
	if err := age(mapOf(path)); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Join(javaFrames(classes, 3), "")), 0o644)
}

// writeJava writes a log in which 5 % of the lines are frames, in stacks of ten, the same log without them, and a map of that size, which is
// older, as maps are.
func writeJava(path string, size int) error {
	classes, err := writeMap(mapOf(path), size)
	if err != nil {
		return err
	}
	if err := age(mapOf(path)); err != nil {
		return err
	}
	frames := javaFrames(classes, 5000)
	for _, name := range []string{path, path + bareEnd} {
		file, err := os.Create(name)
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(file, 1<<20)
		rng := rand.New(rand.NewPCG(3, 4))
		for size, i := 0, 0; size < *mb*1000*1000; i++ {
			head := fmt.Sprintf("11-21 10:%02d:%02d.%03d  1201  %d ", i/60%60, i%60, i%1000, 1201+i%7)
			n, text := 1, fmt.Sprintf("I ActivityManager: Start proc %d:com.example.app%d/u0a%d for service status=200 took=%dms\n", i%30000, i%100, i%300, rng.IntN(1000))
			first := rng.IntN(len(frames) - 10)
			if i%191 == 0 && name == path {
				n, head = 10, head+"E AndroidRuntime: "
			}
			for k := range n {
				if n > 1 {
					text = frames[first+k]
				}
				size += len(head) + len(text)
				if _, err := w.WriteString(head + text); err != nil {
					return err
				}
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}
