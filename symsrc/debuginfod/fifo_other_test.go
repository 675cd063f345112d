//go:build !unix

package debuginfod

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
