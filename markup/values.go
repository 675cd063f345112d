package markup

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
)

// The values of fields. Their errors complete "expected …; found …".
type (
	decimal  uint64
	integer  uint64
	pointer  uint64
	hexBytes string
	lower    string
)

// wrongValue is a field whose digits are of the right kind but do not make a value.
type wrongValue string

func (w wrongValue) Error() string { return string(w) }

func (d *decimal) Capture(s []string) error {
	n, err := strconv.ParseUint(s[0], 10, 64)
	*d = decimal(n)
	return wrap(err, "frame number of at most 64 bits")
}

// Capture of a %i. strconv's base 0 is llvm's getAsInteger(0) but for 0O and underscores, which no class lets in.
func (i *integer) Capture(s []string) error {
	n, err := strconv.ParseUint(s[0], 0, 64)
	*i = integer(n)
	if errors.Is(err, strconv.ErrSyntax) {
		return wrongValue("octal digits after a leading 0")
	}
	return wrap(err, "number of at most 64 bits")
}

func (p *pointer) Capture(s []string) error {
	digits, prefixed := strings.CutPrefix(s[0], "0x")
	if !prefixed {
		return nil // zeros alone
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	*p = pointer(n)
	return wrap(err, "address of at most 64 bits")
}

func (h *hexBytes) Capture(s []string) error {
	digits := s[0]
	if len(digits)%2 != 0 {
		digits = "0" + digits
	}
	raw, err := hex.DecodeString(digits)
	*h = hexBytes(raw)
	return wrap(err, "build ID")
}

func (l *lower) Capture(s []string) error {
	*l = lower(strings.ToLower(s[0]))
	return nil
}

func wrap(err error, expected string) error {
	if err == nil {
		return nil
	}
	return wrongValue(expected)
}
