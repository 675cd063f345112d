package linecache

// The beginnings of the lines that may be known.
var (
	MMapStart   = []byte("{{{mmap:0x")
	ModuleStart = []byte("{{{module:")
	ResetStart  = []byte("{{{reset")
	BTStart     = []byte("{{{bt:")
	Closing     = []byte("}}}")
)
