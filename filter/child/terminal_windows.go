package child

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// terminal would be the command's own; here it has none.
type terminal struct{}

func newTerminal(_, _ *os.File) *terminal { return nil }

func (*terminal) writer(f *os.File) io.Writer { return f }

func isTerminal(*os.File) bool { return false }

func ownSession() *syscall.SysProcAttr { return nil }

func openTerminal(*os.File, bool) (ours, theirs *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
