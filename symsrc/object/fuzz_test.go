package object

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
)

// FuzzFile opens damaged files, with the other file that their debug information may refer to, and looks up addresses. Nothing must
// panic, which newFile and guard would convert to errDamaged, and no file must take so long that the fuzzer reports a hang.
func FuzzFile(f *testing.F) {
	for _, b := range seeds {
		data, err := os.ReadFile(filepath.Join("testdata", b.name+".elf"))
		if err != nil {
			f.Fatal(err)
		}
		var beside []byte
		if b.beside != "" {
			if beside, err = os.ReadFile(filepath.Join("testdata", b.beside)); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(data, beside, uint64(0x1371))
		f.Add(data[:len(data)/2], beside, uint64(0))
	}
	f.Fuzz(func(t *testing.T, data, beside []byte, addr uint64) {
		file, err := newFileBeside(data, beside)
		if err != nil {
			if errors.Is(err, errDamaged) {
				t.Fatal(err)
			}
			return
		}
		for i := range uint64(24) {
			frames := file.Code(addr + i*i*16)
			if len(frames) > mostInlined+1 {
				t.Fatalf("%d frames", len(frames))
			}
			file.Data(addr + i*i*16)
			file.Probe(addr+i*i*16, symsrc.Space(i%4))
			if _, err := givenUp(file); err != nil {
				t.Fatal(err)
			}
		}
	})
}
