package symsrc

// OptionError says which field of a package's Options is wrong. What named the field, such as a flag, names it for its user.
type OptionError struct {
	// Option is the package and the field, such as "locate.Symbols".
	Option string
	// Value is what the field has; "" where that does not help.
	Value string
	Err   error
}

func (e *OptionError) Error() string {
	text := e.Option
	if e.Value != "" {
		text += " " + e.Value
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns what is wrong with the field.
func (e *OptionError) Unwrap() error { return e.Err }

// AvoidableError is an error, or a warning, that another value of an option would avoid. What named the field, such as a flag, says
// so to its user.
type AvoidableError struct {
	// Option is the package and the field, such as "cache.Dir".
	Option string
	Err    error
}

func (e *AvoidableError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *AvoidableError) Unwrap() error { return e.Err }
