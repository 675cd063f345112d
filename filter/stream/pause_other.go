//go:build !unix

package stream

import "io"

// newPauser returns a pauser that reads from in.
func newPauser(in io.Reader) pauser { return newReadAhead(in) }
