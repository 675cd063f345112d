//go:build !linux && !darwin

package object

import (
	"errors"
	"os"
)

// Files are not mapped on these systems, so that an index would have to be read whole.
const canIndex = false

func lockFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
