package markup

import (
	"strings"
	"testing"
)

func BenchmarkNext(b *testing.B) {
	for name, line := range map[string]string{
		"text":  strings.Repeat("I/app(123): nothing of interest ", 3) + "....",
		"bt":    "{{{bt:12:0x7fff12345678:ra}}}",
		"angle": "<<<bt:12:0x7fff12345678:ra>>>",
		"HEAD":  strings.Repeat("<<<<<<< HEAD ", 8),
	} {
		b.Run(name, func(b *testing.B) {
			bytes := []byte(line)
			b.SetBytes(int64(len(bytes)))
			b.ReportAllocs()
			for b.Loop() {
				Next(bytes, 0)
			}
		})
	}
}

func BenchmarkBT(b *testing.B) {
	line := []byte("{{{bt:12:0x7fff12345678:ra}}}")
	b.ReportAllocs()
	for b.Loop() {
		e, _ := Next(line, 0)
		if _, err := e.BT(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkContext(b *testing.B) {
	b.Run("module", func(b *testing.B) {
		e := one(b, "{{{module:1:/usr/lib/x86_64-linux-gnu/libc.so.6:elf:83932bf9de0eb0ae6ea5b21d17f8d9a9ee34e3ea}}}")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseModule(e); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mmap", func(b *testing.B) {
		e := one(b, "{{{mmap:0x7acba69d5000:0x5a000:load:1:rx:0x1000}}}")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseMMap(e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
