//go:build !unix

package batch

import "os"

// umask masks nothing where there are no such permissions.
const umask os.FileMode = 0
