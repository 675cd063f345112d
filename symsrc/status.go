package symsrc

// Status tells how the search for a module's file ended. The ten codes are those of QSS's reports.
type Status uint8

const (
	OK                    Status = iota // readable, with what is wanted of it
	NotFound                            // no such file
	NoReadPermission                    // there, but may not be read
	NotELF                              // wrong magic
	Corrupted                           // the structure is damaged
	Incomplete                          // readable, but without debug sections
	UnsupportedCompressed               // compressed or packed in a way that is not read
	MismatchBuildID                     // its build ID is not the wanted one
	ReadError                           // an I/O error, a directory, a device
	UnknownError                        // anything else
)

var statusCodes = [...]string{
	OK: "OK", NotFound: "NOT_FOUND", NoReadPermission: "NO_READ_PERMISSION", NotELF: "NOT_ELF", Corrupted: "CORRUPTED",
	Incomplete: "INCOMPLETE", UnsupportedCompressed: "UNSUPPORTED_COMPRESSED", MismatchBuildID: "MISMATCH_BUILD_ID",
	ReadError: "READ_ERROR", UnknownError: "UNKNOWN_ERROR",
}

// String is the code as the reports spell it.
func (s Status) String() string {
	if int(s) < len(statusCodes) {
		return statusCodes[s]
	}
	return statusCodes[UnknownError]
}

// usable reports whether a file of this status may name a function: one without debug sections still has symbols.
func (s Status) usable() bool { return s == OK || s == Incomplete }
