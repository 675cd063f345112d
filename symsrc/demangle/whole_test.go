package demangle

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plainName matches the names that llvm-cxxfilt reads as one word.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.$]+$`)

// tableNames returns the names in all symbol tables of a file.
func tableNames(t *testing.T, path string) (names []string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Skipf("%v", err)
	}
	defer f.Close()
	full, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	for _, s := range append(full, dynamic...) {
		name, _, _ := strings.Cut(s.Name, "@")
		if strings.HasPrefix(name, "_") && plainName.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isLegacyRust matches names whose last part is a hash; llvm does not decode their escapes.
var isLegacyRust = regexp.MustCompile(`17h[0-9a-f]{16}E`)

// gnuForms replace the different spellings of binutils and llvm with a common one.
var gnuForms = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\{lambda\(([^{}]*)\)#\d+\}|'lambda\d*'\(([^'{}]*)\)`), "lambda($1$2)"},
	{regexp.MustCompile(`\{unnamed type#\d+\}|'unnamed\d*'`), "unnamed"},
	{regexp.MustCompile(`auto:\d+`), "auto"},
	{regexp.MustCompile(`\(auto(&*)\)\.\.\.`), "auto$1"},
	{regexp.MustCompile(`\s+`), ""},
}

// commonSpelling returns name in the spelling that binutils and llvm have in common.
func commonSpelling(name string) string {
	for _, f := range gnuForms {
		name = f.from.ReplaceAllString(name, f.to)
	}
	return name
}

// local matches names in which the parameters of several templates are in scope: those of lambdas, of unnamed types, and of
// entities declared in functions. llvm resolves these parameters in the wrong scope: `__exchange<int, S>(int&, S&&)`
// instead of `__exchange<int, S>(S&, S&&)`.
var local = regexp.MustCompile(`^_Z.*(U[lt]|Z.+E)`)

// compareNames compares all names of a file with llvm's readable forms: LLVM byte for byte, Demangle without regard to spaces.
// Demangle may differ only in known cases: llvm does not demangle the name, or it is a local or a legacy Rust name. The log
// says for how many of these c++filt of binutils agrees with Demangle.
func compareNames(t *testing.T, path string) {
	t.Helper()
	names := tableNames(t, path)
	want := filtered(t, "llvm-cxxfilt-22", names)
	gnu := filtered(t, "c++filt", names)
	demangled, refused, locals, confirmed := 0, 0, 0, 0
	for i, name := range names {
		if want[i] != name {
			demangled++
		}
		if got := LLVM(name, true); got != want[i] {
			t.Errorf("%s\n got %s\nwant %s", name, got, want[i])
		}
		got := Demangle(name)
		switch {
		case strings.ReplaceAll(got, " ", "") == strings.ReplaceAll(want[i], " ", ""), isLegacyRust.MatchString(name):
			continue
		case want[i] == name:
			refused++
		case local.MatchString(name):
			locals++
		default:
			t.Errorf("%s\n got %s\nwant %s", name, got, want[i])
		}
		if commonSpelling(got) == commonSpelling(gnu[i]) {
			confirmed++
		}
	}
	t.Logf("%s: %d names; llvm demangles %d; Demangle demangles %d that llvm does not, and %d local ones differently; c++filt agrees with Demangle on %d of these",
		path, len(names), demangled, refused, locals, confirmed)
}

// filtered returns the output of a demangling filter for each name.
func filtered(t *testing.T, tool string, names []string) []string {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("%s is not installed", tool)
	}
	cmd := exec.Command(tool)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(names) {
		t.Fatalf("%s: %d lines of output for %d names", tool, len(lines), len(names))
	}
	return lines
}

// TestDemangleTables compares whole symbol tables, including local symbols: those of Debian's debug packages, where they
// are installed, and of Rust's standard library.
func TestDemangleTables(t *testing.T) {
	paths := []string{"/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6", "/usr/bin/ceph-osd"}
	if root := os.Getenv("QSS_OBJECTS"); root != "" {
		for _, pattern := range []string{"libstdc++*/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6", "ceph-osd-dbg/usr/lib/debug/.build-id/*/*.debug"} {
			more, _ := filepath.Glob(filepath.Join(root, pattern))
			paths = append(paths, more...)
		}
	}
	if out, err := exec.Command("rustc", "--print", "sysroot").Output(); err == nil {
		more, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "lib/rustlib/*/lib/libstd-*.so"))
		paths = append(paths, more...)
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) { compareNames(t, path) })
	}
}

// rustSource uses generics, closures, traits, constants and non-ASCII identifiers, which the two manglings encode differently.
const rustSource = `
use std::collections::HashMap;
use std::fmt::Debug;
trait Shape { fn area(&self) -> f64; fn name(&self) -> String { String::from("shape") } }
struct Square<const N: usize, T>(T);
impl<const N: usize, T: Debug + Clone> Shape for Square<N, T> { #[inline(never)] fn area(&self) -> f64 { (N * N) as f64 } }
#[inline(never)] fn größe<F: Fn(&[u8]) -> (i32, &'static str)>(f: F) -> i32 { f(&[1, 2]).0 }
#[inline(never)] fn apply(s: &dyn Shape, f: fn(f64) -> f64) -> f64 { f(s.area()) + s.name().len() as f64 }
#[inline(never)] fn flag<const B: bool, const C: char, const I: i8>() -> usize { B as usize + C as usize + I as usize }
fn main() {
	let mut m: HashMap<String, Vec<Box<dyn Shape + Send>>> = HashMap::new();
	m.entry("a".into()).or_default().push(Box::new(Square::<3, u8>(1)));
	let n = größe(|b| (b.len() as i32, "x"));
	let t: f64 = m.values().flatten().map(|s| apply(s.as_ref(), |x| x * 2.0)).sum();
	println!("{} {} {}", n, t, flag::<true, 'ß', -5>());
}
`

// TestDemangleRustPrograms compares all symbols of a Rust program, compiled with each mangling.
func TestDemangleRustPrograms(t *testing.T) {
	if err := exec.Command("rustc", "--version").Run(); err != nil { // a proxy of rustup may be there alone
		t.Skip("rustc does not run: ", err)
	}
	for _, mangling := range []string{"legacy", "v0"} {
		t.Run(mangling, func(t *testing.T) {
			dir := t.TempDir()
			source := filepath.Join(dir, "a.rs")
			if err := os.WriteFile(source, []byte(rustSource), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("rustc", "-Zunstable-options", "-Csymbol-mangling-version="+mangling, "-Copt-level=1",
				"-o", filepath.Join(dir, "a.elf"), source)
			cmd.Env = append(os.Environ(), "RUSTC_BOOTSTRAP=1") // for unstable options
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			compareNames(t, filepath.Join(dir, "a.elf"))
		})
	}
}
