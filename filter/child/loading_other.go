//go:build !linux || !amd64

package child

import "os/exec"

// setTraced does nothing on this system.
func setTraced(*exec.Cmd, bool) bool { return false }

func traceLoading(int, func()) {}
