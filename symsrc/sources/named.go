package sources

import (
	"path"
	"slices"
	"strings"
)

// extensions are those of source files that compilers with DWARF read or that are generated for them.
var extensions = strings.Fields(`.ada .adb .ads .asm .c .c++ .cc .cp .cpp .cppm .cr .cu .cuh .cxx .d .def .f .f03 .f08 .f90 .f95 .for .go .h .h++ .hh
	.hip .hpp .hs .hxx .i .ii .inc .inl .ipp .ixx .java .jl .kt .l .ll .m .mm .ml .nim .odin .p .pas .pxd .pyx .rs .s .scala .sv .swift .sx
	.tcc .td .tpp .txx .v .vala .y .yy .zig`)

// namesSource reports whether a path is that of source code by its looks: by its extension, or, as C++'s own headers have none, by
// a directory of headers. Debug information may be hostile and name any file: what it names without looking like source, such
// as a key, is not to be shown unless it is known to be what was compiled.
func namesSource(file string) bool {
	if ext := strings.ToLower(path.Ext(file)); ext != "" {
		return slices.Contains(extensions, ext)
	}
	return slices.Contains(strings.Split(path.Dir(file), "/"), "include")
}
