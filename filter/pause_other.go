//go:build !unix

package filter

import "io"

func newPauser(in io.Reader) pauser { return newReadAhead(in) }
