package dwarf

// Tags (DWARF 5 §7.5.3) that are told apart.
const (
	tagCatchBlock        = 0x25
	tagCompileUnit       = 0x11
	tagLexicalBlock      = 0x0b
	tagInlinedSubroutine = 0x1d
	tagModule            = 0x1e
	tagWithStmt          = 0x22
	tagSubprogram        = 0x2e
	tagTryBlock          = 0x32
	tagNamespace         = 0x39
	tagPartialUnit       = 0x3c
	tagTypeUnit          = 0x41
	tagSkeletonUnit      = 0x4a
	tagGNUCallSite       = 0x4109
	tagLoUser            = 0x4080
)

// attr is the number in this package of an attribute that is read.
type attr uint8

const (
	attrNone attr = iota
	attrSibling
	attrName
	attrLinkageName
	attrLowPC
	attrHighPC
	attrRanges
	attrOrigin
	attrSpecification
	attrCallFile
	attrCallLine
	attrCallColumn
	attrStmtList
	attrCompDir
	attrStrOffsetsBase
	attrAddrBase
	attrRnglistsBase
	attrDwoName
	attrDwoID
	attrRangesBase
	attrDeclFile // these two only in a table of declarations
	attrDeclLine
	attrCount
)

// wanted tells the attributes that are read (DWARF 5 §7.5.4) from those that are passed over.
var wanted = [0x80]attr{0x01: attrSibling, 0x03: attrName, 0x6e: attrLinkageName, 0x11: attrLowPC, 0x12: attrHighPC,
	0x55: attrRanges, 0x31: attrOrigin, 0x47: attrSpecification, 0x58: attrCallFile, 0x59: attrCallLine, 0x57: attrCallColumn,
	0x10: attrStmtList, 0x1b: attrCompDir, 0x72: attrStrOffsetsBase, 0x73: attrAddrBase, 0x74: attrRnglistsBase, 0x76: attrDwoName}

func wantedAttr(code uint64) attr {
	switch {
	case code < uint64(len(wanted)):
		return wanted[code]
	case code == 0x2007: // DW_AT_MIPS_linkage_name
		return attrLinkageName
	case code == 0x2130: // DW_AT_GNU_dwo_name
		return attrDwoName
	case code == 0x2131: // DW_AT_GNU_dwo_id
		return attrDwoID
	case code == 0x2132: // DW_AT_GNU_ranges_base
		return attrRangesBase
	case code == 0x2133: // DW_AT_GNU_addr_base
		return attrAddrBase
	}
	return attrNone
}

// op is one step over the attributes of an entry; forms of a fixed size that follow each other are one step.
type op struct {
	kind opKind
	attr attr
	form uint16
	n    uint32 // size in bytes, where it is fixed; an implicit constant, as int32
}
