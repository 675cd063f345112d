package locate

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// withoutPrivileges runs do where permissions bind. Those of root do not, so that for root it takes the capabilities to pass
// over them from a thread, which ends with do.
func withoutPrivileges(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	done := make(chan error, 1)
	go func() {
		defer close(done)      // also when do has ended the test
		runtime.LockOSThread() // and never unlocked: the thread is not used again
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		err := unix.Capget(&header, &caps[0])
		if err == nil {
			caps[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
			err = unix.Capset(&header, &caps[0])
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Skip("root cannot lay down its privileges:", err)
	}
}
