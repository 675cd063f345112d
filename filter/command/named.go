package command

import (
	"errors"
	"strings"

	"qss-filter/symsrc"
)

// optionFlags are the flags that set the options which errors speak of.
var optionFlags = map[string]string{
	"filter.Maps": "maps", "filter.DumpContext": "dump-context",
}

// named returns an error with the flag's name in the place of the option's, as `--flag VALUE: reason`.
func named(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var each []error
		for _, one := range all.Unwrap() {
			each = append(each, named(one))
		}
		return errors.Join(each...)
	}
	wrong, ok := errors.AsType[*symsrc.OptionError](err)
	if !ok {
		return err
	}
	flag, known := optionFlags[wrong.Option]
	if !known {
		return err
	}
	text := "--" + flag
	if wrong.Value != "" {
		text += " " + wrong.Value
	}
	return &namedError{strings.Replace(err.Error(), wrong.Error(), text+": "+wrong.Err.Error(), 1), err}
}

// namedError is an error whose text names a flag.
type namedError struct {
	text string
	err  error
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.err }
