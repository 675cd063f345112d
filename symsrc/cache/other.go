//go:build !linux && !darwin

package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"qss-filter/symsrc"
)

// supported reports whether there is a cache process on this system. Without one every query goes to the source.
const supported = false

type client struct{}

func newClient(*Options, string, func(error)) *client { return nil }

func (*client) ask(byte, []byte, time.Duration) ([]byte, outcome) { return nil, without }
func (*client) settle(time.Time) bool                             { return false }
func (*client) tell(byte, []byte)                                 {}
func (*client) close()                                            {}

type spool struct{}

func newSpool(string, *listing, *client, func(error)) *spool { return nil }

func (*spool) frames(*module, *symsrc.Addr, *symsrc.Answer, urgency)             {}
func (*spool) probe(*module, *symsrc.Addr, symsrc.Probe, *symsrc.Files, urgency) {}
func (*spool) close()                                                            {}

func readAtMost(string, int64) ([]byte, error) { return nil, errSystem }

var errSystem = errors.New("there is no cache on this system")

func serveCommand(context.Context, string, *Options) error {
	return fmt.Errorf("cache: %w", errSystem)
}

func printStats(*Options, string, io.Writer) error { return errSystem }
func forget(*Options, string, io.Writer) error     { return errSystem }

// Detach starts nothing.
func Detach([]string) (*exec.Cmd, error) { return nil, errSystem }

// Background does nothing.
func Background() {}

// Check returns what keeps the cache from working, or nil.
func (o *Options) Check() error { return nil }
