package object_test

import (
	"context"
	"fmt"
	"log"

	"qss-filter/symsrc"
	"qss-filter/symsrc/object"
)

// A file answers with the functions at an address, the innermost inlined one first.
func ExampleFile_Code() {
	f, err := object.Open("testdata/gcc5.elf")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for _, frame := range f.Code(0x1020) {
		fmt.Printf("%s %s:%d:%d\n", frame.Func, frame.File, frame.Line, frame.Column)
	}
	// Output:
	// leaf<int> /src/leaf.h:4:12
	// operator() /src/shapes.cpp:34:44
	// entry::'lambda'(int)::_FUN(int) /src/shapes.cpp:34:53
}

// An address in a log may be a return address; its line is that of the call before it.
func ExampleFile_Probe() {
	f, err := object.Open("testdata/gcc5.elf")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	const logged = 0x1210
	p := f.Probe(logged, symsrc.InFile)
	fmt.Println("a call ends there:", p.Returns)
	if p.Returns {
		for _, frame := range f.Code(p.Linked - p.CallDistance) {
			fmt.Printf("%s:%d\n", frame.File, frame.Line)
		}
	}
	// Output:
	// a call ends there: true
	// /src/shapes.cpp:71
}

// beside is a finder with the same file for every module. Programs use locate.Locator.
type beside struct{}

// Find implements symsrc.Finder.
func (beside) Find(context.Context, symsrc.Module) *symsrc.Files {
	return &symsrc.Files{Elf: "testdata/gcc5.elf", DebugStatus: symsrc.NotFound}
}

// A source opens the files of modules lazily, and verifies their build IDs.
func ExampleSource() {
	id, ok := symsrc.ParseBuildID("0937a74304c88fc010f508ca06cf336782edebf5")
	if !ok {
		log.Fatal("not a build ID")
	}
	source := object.NewSource(beside{})
	ask := func(id symsrc.BuildID) {
		a := source.Frames(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: "libshapes.so", BuildID: id}, Offset: 0x1020})
		for _, frame := range a.Frames {
			fmt.Println(frame.Func)
		}
		if len(a.Frames) == 0 {
			fmt.Println(a.Files.Reason())
		}
	}
	ask(id)
	ask("another")
	// Output:
	// leaf<int>
	// operator()
	// entry::'lambda'(int)::_FUN(int)
	// MISMATCH_BUILD_ID
}
