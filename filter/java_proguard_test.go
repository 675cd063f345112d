package filter_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
)

// TestJavaAgainstProGuard holds that frames of real jars become what the retrace of ProGuard makes of them. The test has the jars obfuscated,
// calls what they have, and compares what becomes of each frame that is thrown.
func TestJavaAgainstProGuard(t *testing.T) {
	for _, tool := range []string{"proguard", "javac", "java"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := t.TempDir()
	stdoutOf(t, "javac", "-d", dir, "testdata/Driver.java")
	runtimeClasses(t, filepath.Join(dir, "rt.jar"))
	for _, c := range []struct {
		jar     string
		options []string
	}{
		{"commons-cli.jar", []string{"-optimizationpasses 1", "-optimizations method/inlining/*", "-allowaccessmodification"}},
		{"commons-lang3.jar", []string{"-dontoptimize", "-overloadaggressively", "-repackageclasses ''"}},
	} {
		t.Run(c.jar, func(t *testing.T) {
			jar := filepath.Join("/usr/share/java", c.jar)
			if _, err := os.Stat(jar); err != nil {
				t.Skip(err)
			}
			compareWithProGuard(t, dir, jar, c.options)
		})
	}
}

// stdoutOf returns what a command prints.
func stdoutOf(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, errs.Bytes())
	}
	return string(out)
}

// runtimeClasses writes a jar with the classes of Java 8, as the compiler knows them: those of a newer Java are none for ProGuard 6.2.2.
func runtimeClasses(t *testing.T, path string) {
	t.Helper()
	javac, err := exec.LookPath("javac")
	if err == nil {
		javac, err = filepath.EvalSymlinks(javac)
	}
	if err != nil {
		t.Fatal(err)
	}
	sigs, err := zip.OpenReader(filepath.Join(filepath.Dir(javac), "../lib/ct.sym"))
	if err != nil {
		t.Skip("the compiler has no classes of Java 8: ", err)
	}
	defer sigs.Close()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, seen := zip.NewWriter(file), map[string]bool{}
	for _, f := range sigs.File {
		releases, name, _ := strings.Cut(f.Name, "/")
		name, base := strings.CutPrefix(name, "java.base/")
		name, class := strings.CutSuffix(name, ".sig")
		if !base || !class || !strings.Contains(releases, "8") || seen[name] {
			continue
		}
		seen[name] = true
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || len(text) < 8 {
			t.Fatal(f.Name, err)
		}
		text[6], text[7] = 0, 52 // the version of class files of Java 8
		out, err := w.Create(name + ".class")
		if err == nil {
			_, err = out.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// compareWithProGuard has a jar obfuscated, and compares what becomes of the frames of its exceptions.
func compareWithProGuard(t *testing.T, dir, jar string, options []string) {
	out, mapping := filepath.Join(dir, "out-"+filepath.Base(jar)), filepath.Join(t.TempDir(), "mapping.txt")
	config := append([]string{"-injars " + jar + "(!META-INF/versions/**)", "-outjars " + out, "-libraryjars " + filepath.Join(dir, "rt.jar"), "-printmapping " + mapping,
		"-dontshrink", "-dontwarn", "-dontnote", "-ignorewarnings", "-dontpreverify", "-renamesourcefileattribute SourceFile", "-keepattributes SourceFile,LineNumberTable"}, options...)
	stdoutOf(t, "proguard", "@"+mapFile(t, dir, "proguard.conf", strings.Join(config, "\n")))
	trace := stdoutOf(t, "java", "-noverify", "-cp", out+":"+dir, "Driver", out)

	var units strings.Builder
	var frames []string
	seen := map[string]bool{}
	for line := range strings.Lines(trace) {
		if strings.HasPrefix(line, "\tat ") && !seen[line] {
			seen[line] = true
			fmt.Fprintf(&units, "unit %d\n%s", len(frames), line)
			frames = append(frames, line)
		}
	}
	text, err := os.ReadFile(mapping)
	if err != nil {
		t.Fatal(err)
	}
	theirs := unitsOf(stdoutOf(t, "java", "-cp", "/usr/share/java/proguard-retrace.jar:/usr/share/java/proguard.jar", "proguard.retrace.ReTrace", mapping, mapFile(t, dir, "units.txt", units.String())))
	ours := unitsOf(runAll(t, filter.Options{Java: named(t, string(text))}, strings.NewReader(units.String())))
	if len(theirs) != len(frames) || len(ours) != len(frames) {
		t.Fatalf("%d frames, %d of theirs, %d of ours", len(frames), len(theirs), len(ours))
	}
	renamed, same := 0, 0
	for i, frame := range frames {
		if len(ours[i]) != 1 || ours[i][0]+"\n" != frame {
			renamed++
		}
		// With a line, methods without lines are not meant, such as those that are abstract: R8's retrace says so, too, in its
		// OverloadedWithAndWithoutRangeStackTrace. Only ProGuard's shows them.
		more := slices.DeleteFunc(slices.Clone(theirs[i]), func(line string) bool { return slices.Contains(ours[i], line) })
		if slices.ContainsFunc(ours[i], func(line string) bool { return !slices.Contains(theirs[i], line) }) || slices.ContainsFunc(more, func(line string) bool { return !isLineless(text, line) }) {
			t.Errorf("%s became\n%s\ntheirs\n%s", frame, strings.Join(ours[i], "\n"), strings.Join(theirs[i], "\n"))
		} else if len(more) == 0 {
			same++
		}
	}
	if renamed < len(frames)/2 {
		t.Errorf("only %d of %d frames have another name", renamed, len(frames))
	}
	t.Logf("%d distinct frames, %d with other names; %d become the same, and %d without methods that have no lines", len(frames), renamed, same, len(frames)-same)
}

// unitsOf returns the lines of each unit, without what is between candidates, sorted, each once.
func unitsOf(text string) (units [][]string) {
	for line := range strings.Lines(text) {
		line = strings.Replace(strings.TrimSuffix(line, "\n"), "<OR> ", "", 1)
		if strings.HasPrefix(line, "unit ") {
			units = append(units, nil)
		} else {
			units[len(units)-1] = append(units[len(units)-1], line)
		}
	}
	for i := range units {
		slices.Sort(units[i])
		units[i] = slices.Compact(units[i])
	}
	return units
}

// isLineless reports whether a map has the method of a frame, without its lines.
func isLineless(mapping []byte, frame string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(frame, "\tat "), "(")
	dot := strings.LastIndexByte(name, '.')
	inside := false
	for line := range bytes.Lines(mapping) {
		if line[0] != ' ' {
			inside = bytes.HasPrefix(line, []byte(name[:dot]+" -> "))
		} else if inside && bytes.Contains(line, []byte(" "+name[dot+1:]+"(")) && bytes.IndexByte(line, ':') < 0 {
			return true
		}
	}
	return false
}
