// Command qss-filter reads a log and writes it again with every native stack frame in it made readable: function,
// source file, line, inlined calls. Everything else leaves byte for byte as it came.
package main

import (
	"os"

	"qss-filter/filter/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
