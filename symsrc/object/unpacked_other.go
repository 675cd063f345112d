//go:build !linux

package object

import (
	"errors"
	"os"
)

// Without a boot ID there are no copies.

func bootID() string                                                  { return "" }
func lockFile(string) (*os.File, error)                               { return nil, errors.ErrUnsupported }
func (t *unpackedCache) mapCopy(*unpackedCopy) ([]byte, func() error) { return nil, nil }
