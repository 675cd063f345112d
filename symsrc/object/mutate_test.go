package object

import (
	"errors"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
)

var (
	mutations = flag.Int("mutations", 300, "damaged files per good one that TestDamaged reads")
	objects   = flag.String("objects", "", "further files that TestDamagedObjects damages: a pattern")
)

// TestDamaged damages the files of testdata at random, and looks up addresses.
func TestDamaged(t *testing.T) {
	for _, b := range seeds {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join("testdata", b.name+".elf")
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var beside []byte
			if b.beside != "" {
				if beside, err = os.ReadFile(filepath.Join("testdata", b.beside)); err != nil {
					t.Fatal(err)
				}
			}
			addrs := codeAddresses(t, path, 41)
			r := rand.New(rand.NewPCG(uint64(len(good)), 1))
			for range *mutations {
				damaged, other := good, beside
				if len(beside) == 0 || r.IntN(2) == 0 {
					damaged = damage(r, good)
				} else {
					other = damage(r, beside)
				}
				if err := readAll(damaged, other, addrs); err != nil {
					failKeeping(t, err, damaged, other)
				}
			}
		})
	}
}

// TestDamagedObjects is TestDamaged for the files of -objects, with a tenth of the mutations.
func TestDamagedObjects(t *testing.T) {
	eachObject(t, func(t *testing.T, good []byte, addrs []uint64) {
		r := rand.New(rand.NewPCG(uint64(len(good)), 2))
		for range *mutations / 10 {
			damaged := damage(r, good)
			if err := readAll(damaged, nil, addrs); err != nil {
				failKeeping(t, err, damaged, nil)
			}
		}
	})
}

// eachObject runs a test for each file of -objects, with random addresses.
func eachObject(t *testing.T, test func(t *testing.T, good []byte, addrs []uint64)) {
	t.Helper()
	if *objects == "" {
		t.Skip("-objects is not set")
	}
	paths, err := filepath.Glob(*objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			test(t, good, randomAddresses(t, path, 200))
		})
	}
}

// failKeeping fails the test, and keeps the files that caused it in a new directory.
func failKeeping(t *testing.T, why error, file, beside []byte) {
	t.Helper()
	dir, err := os.MkdirTemp("", "damaged")
	if err != nil {
		t.Fatal(errors.Join(why, err))
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), file, 0o644), os.WriteFile(filepath.Join(dir, "beside"), beside, 0o644)); err != nil {
		t.Error(err)
	}
	t.Fatalf("%v: %s", why, dir)
}

// damage changes some bytes, and sometimes truncates the file.
func damage(r *rand.Rand, good []byte) []byte {
	b := slices.Clone(good)
	interesting := []byte{0, 1, 0x7f, 0x80, 0xff}
	for range 1 + r.IntN(12) {
		at := r.IntN(len(b))
		switch r.IntN(5) {
		case 0:
			b[at] = interesting[r.IntN(len(interesting))]
		case 1:
			b[at] ^= 1 << r.IntN(8)
		case 2:
			b[at] = byte(r.Uint32())
		case 3: // a wrong number
			for i := range min(4, len(b)-at) {
				b[at+i] = byte(r.Uint32()) | byte(-r.IntN(2))
			}
		case 4: // bytes from another position
			from := r.IntN(len(b))
			copy(b[at:min(at+8, len(b))], good[from:])
		}
	}
	if r.IntN(20) == 0 {
		b = b[:r.IntN(len(b))]
	}
	return b
}

// newFileBeside opens a file in memory. beside, unless it is nil, is the file that its debug information refers to.
func newFileBeside(data, beside []byte) (*File, error) {
	f, err := newFile(data)
	if err == nil && beside != nil {
		for _, split := range [...]bool{false, true} { // later, an error would look like a missing file
			if _, err := newFileOf(beside, split, budget.NewFile(len(beside)), &defaultPolicy); errors.Is(err, errDamaged) {
				return nil, err
			}
		}
		f.path = "/a/b"
		f.deps.allow(f, func(string) ([]byte, fs.FileInfo, func() error, error) {
			return beside, nil, func() error { return nil }, nil
		})
	}
	return f, err
}

// readAll opens a file and looks up addresses. It returns an error if a panic was recovered.
func readAll(data, beside []byte, addrs []uint64) error {
	f, err := newFileBeside(data, beside)
	if errors.Is(err, errDamaged) {
		return err
	}
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		f.Code(a)
		f.Data(a)
		f.Probe(a, symsrc.Space(a%4))
	}
	_, err = givenUp(f)
	return err
}

// givenUp reports whether a file is not read any more, and returns an error if the reason is a panic.
func givenUp(f *File) (bool, error) {
	fault := f.fault.Load()
	if fault != nil && !errors.Is(fault, budget.ErrExceeded) {
		return true, fault
	}
	return fault != nil, nil
}
