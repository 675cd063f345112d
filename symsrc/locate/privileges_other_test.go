//go:build !linux

package locate

import (
	"os"
	"testing"
)

// withoutPrivileges runs do where permissions bind, which they do not for root.
func withoutPrivileges(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("permissions do not bind root")
	}
	do()
}
