package llvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter/filtertest"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// TestLLVMSplit compares programs with split units: in files of their own, found from an absolute directory or from the current one,
// in a package beside the program, in one that is named, and missing.
func TestLLVMSplit(t *testing.T) {
	filtertest.NeedPeer(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range []string{"clang++-22 -gdwarf-5 -O2", "clang++-22 -gdwarf-4 -O2", "g++ -gdwarf-5 -O2", "relative"} {
		t.Run(build, func(t *testing.T) {
			dir := t.TempDir()
			relative := build == "relative"
			if relative {
				rel, err := filepath.Rel(here, dir)
				if err != nil {
					t.Skip(err)
				}
				build = "clang++-22 -gdwarf-5 -O2 -fdebug-compilation-dir=" + rel
			}
			src, tree := splitBuild(t, dir, build), t.TempDir()
			if err := filtertest.LayOut(tree, "abcdef", filepath.Join(dir, "a.elf")); err != nil {
				t.Fatal(err)
			}
			log := sweepLog(t, filepath.Join(dir, "a.elf"), "abcdef", 3)
			beside := filepath.Join(tree, ".build-id/ab/cdef.debug.dwp")
			check := func(what string, dwps ...string) {
				t.Helper()
				for _, dwp := range dwps {
					source := object.NewLLVMSource(&locate.Trees{Dirs: []string{tree}})
					flags := []string{"--color=never"}
					if dwp != "" {
						source.UsePackage(dwp)
						flags = append(flags, "--dwp="+dwp)
					}
					if !samePeer(t, source, peerRun{flags: flags}, []string{tree}, log) {
						t.Errorf("%s, --dwp=%s", what, dwp)
					}
				}
			}
			none, garbage, other := filepath.Join(dir, "none.dwp"), filepath.Join(src, "shapes.cpp"), filepath.Join(dir, "a.elf")
			dwos, _ := filepath.Glob(filepath.Join(dir, "*.dwo"))
			if len(dwos) != 2 {
				t.Fatalf("split units: %q", dwos)
			}
			check("files", "", none, garbage, dir, other, dwos[0])
			pack := filepath.Join(dir, "all.dwp")
			packed := exec.Command("llvm-dwp-22", append(dwos, "-o", pack)...)
			if strings.HasPrefix(build, "g++") || packed.Run() != nil { // it runs forever on those of gcc
				pack = ""
			}
			check("files", pack)
			for _, file := range dwos {
				hide := file + ".hidden"
				if err := os.Rename(file, hide); err != nil {
					t.Fatal(err)
				}
			}
			check("no files", "", none, other, dwos[0]+".hidden", dwos[1]+".hidden", pack)
			if pack != "" {
				if err := os.Rename(pack, beside); err != nil {
					t.Fatal(err)
				}
				check("a package beside", "", none, other, dwos[0]+".hidden")
			}
		})
	}
}

// splitBuild makes dir/a.elf with its split units from the sources in src.
func splitBuild(t *testing.T, dir, build string) (src string) {
	t.Helper()
	src, err := filepath.Abs("../../symsrc/object/testdata/src")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(build)
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Skip(words[0] + " is not installed")
	}
	flags := append(words[1:], strings.Fields("-gsplit-dwarf -ffreestanding -nostdlib -fno-rtti -fno-exceptions -fno-stack-protector -w -o a.elf")...)
	cmd := exec.Command(words[0], append(flags, filepath.Join(src, "shapes.cpp"), filepath.Join(src, "other.cpp"))...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return src
}
