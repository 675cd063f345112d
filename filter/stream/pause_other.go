//go:build !unix

package stream

import "io"

func newPauser(in io.Reader) pauser { return newReadAhead(in) }
