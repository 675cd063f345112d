package object

// Codes (DWARF 5 §7) in the files that the tests create.
const (
	numTagLexicalBlock      = 0x0b
	numTagCompileUnit       = 0x11
	numTagInlinedSubroutine = 0x1d
	numTagSubprogram        = 0x2e

	numFormString        = 0x08
	numFormStrp          = 0x0e
	numFormFlagPresent   = 0x19
	numFormStrx          = 0x1a
	numFormAddrx         = 0x1b
	numFormImplicitConst = 0x21
	numFormRnglistx      = 0x23

	numLNSCopy        = 1
	numLNSAdvancePC   = 2
	numLNSAdvanceLine = 3
	numLNSSetFile     = 4
	numLNEEndSequence = 1
	numLNESetAddress  = 2
	numLNEDefineFile  = 3
)

// mostInlined is the maximal depth of inlined calls in an answer.
const mostInlined = 1000
