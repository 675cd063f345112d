//go:build !linux

package elfdwarf

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Without a name for the time since the machine was started there are no twins.

func bootID() string                                  { return "" }
func identity(fs.FileInfo) string                     { return "" }
func private(fs.FileInfo) bool                        { return false }
func lastUse(stat fs.FileInfo) time.Time              { return stat.ModTime() }
func freeSpace(string) int64                          { return 0 }
func lockFile(string) (*os.File, error)               { return nil, errors.ErrUnsupported }
func (w *twin) sound(fs.FileInfo) bool                { return false }
func (t *twins) mapTwin(*twin) ([]byte, func() error) { return nil, nil }
