package symsrc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// SymbolFileHead is how many bytes at the start of a symbol file IdentifySymbols needs at most.
const SymbolFileHead = 4096

// SymbolFile is what the head of a symbol file that is no ELF file says: a Breakpad .sym or a GSYM file.
type SymbolFile struct {
	// Kind is the format.
	Kind SymbolKind
	// ID is the build ID of the program that the file is of.
	ID BuildID
	// Cut is set where ID is only the first 16 bytes of the build ID, with zeros behind a shorter one.
	Cut bool
	// Name is the program's file name, "" where the format has none.
	Name string
}

// SymbolKind is the format of a symbol file.
type SymbolKind uint8

const (
	Breakpad SymbolKind = iota + 1
	GSYM
)

// String is the format's name.
func (k SymbolKind) String() string {
	switch k {
	case Breakpad:
		return "Breakpad"
	case GSYM:
		return "GSYM"
	}
	return "unknown"
}

// cutID is how much of a build ID a Breakpad debug identifier has room for: a GUID.
const cutID = 16

// Of reports whether the file is of the program with that build ID. The first 16 bytes are evidence enough where the format
// has no more: of a SHA-1 they leave one chance in 2^128, and an ID of no more than 16 bytes is there whole.
func (f *SymbolFile) Of(id BuildID) bool {
	if id == "" || f.ID == "" {
		return false
	}
	if f.Cut {
		return f.ID == id.Cut()
	}
	return id.Fits(f.ID)
}

// Cut is the first 16 bytes of the ID, with zeros behind a shorter one.
func (b BuildID) Cut() BuildID {
	var raw [cutID]byte
	copy(raw[:], b)
	return BuildID(raw[:])
}

// IsCut reports whether the ID may be one of which nothing but the first 16 bytes is known, with zeros behind a shorter one.
func (b BuildID) IsCut() bool { return len(b) == cutID }

// Fits reports whether a file of another ID is the one that this names, as far as it does: the same, or one that begins so if this one may be cut.
func (b BuildID) Fits(id BuildID) bool { return id == b || b.IsCut() && id != "" && id.Cut() == b }

// DebugID is the identifier by which Breakpad knows the program of a build ID: the first 16 bytes as a GUID, whose first
// three fields are swapped, and the age 0, in upper-case hexadecimal digits (Breakpad, src/common/linux/file_id.cc).
func (b BuildID) DebugID() string {
	raw := []byte(b.Cut())
	swapGUID(raw)
	return string(bytes.ToUpper(hex.AppendEncode(nil, raw))) + "0"
}

// swapGUID turns a GUID's bytes into those of its written form, and back.
func swapGUID(raw []byte) {
	for _, field := range [...][2]int{{0, 4}, {4, 6}, {6, 8}} {
		for i, j := field[0], field[1]-1; i < j; i, j = i+1, j-1 {
			raw[i], raw[j] = raw[j], raw[i]
		}
	}
}

// IdentifySymbols reads the head of a symbol file. It is false for any other file, and for one whose program has no build ID.
func IdentifySymbols(head []byte) (f SymbolFile, ok bool) {
	switch {
	case bytes.HasPrefix(head, []byte("MODULE ")):
		return identifyBreakpad(head)
	case bytes.HasPrefix(head, []byte("GSYM")):
		return identifyGSYM(head, binary.BigEndian)
	case bytes.HasPrefix(head, []byte("MYSG")):
		return identifyGSYM(head, binary.LittleEndian)
	}
	return f, false
}

// identifyBreakpad reads MODULE and INFO CODE_ID (Breakpad, docs/symbol_files.md). What Windows and macOS have in their
// place is no build ID.
func identifyBreakpad(head []byte) (f SymbolFile, ok bool) {
	line, rest, whole := bytes.Cut(head, []byte("\n"))
	fields := bytes.SplitN(bytes.TrimRight(line, "\r"), []byte(" "), 5)
	if !whole || len(fields) < 4 {
		return f, false
	}
	os := strings.ToLower(string(fields[1]))
	if os == "windows" {
		return f, false
	}
	id, valid := ParseDebugID(fields[3])
	if !valid {
		return f, false
	}
	f = SymbolFile{Kind: Breakpad, ID: id, Cut: true}
	if os == "mac" || os == "ios" { // the UUID of a Mach-O file, whose bytes are not swapped
		swapped := []byte(id)
		swapGUID(swapped)
		f.ID, f.Cut = BuildID(swapped), false
		if len(fields) == 5 {
			f.Name = string(fields[4])
		}
		return f, true
	}
	if len(fields) == 5 {
		f.Name = string(fields[4])
	}
	for bytes.HasPrefix(rest, []byte("INFO ")) {
		line, rest, whole = bytes.Cut(rest, []byte("\n"))
		if digits, found := bytes.CutPrefix(bytes.TrimRight(line, "\r"), []byte("INFO CODE_ID ")); found && whole {
			digits, _, _ = bytes.Cut(digits, []byte(" "))
			code, valid := ParseBuildID(digits)
			if !valid || code.Cut() != id {
				return f, false // the two contradict each other
			}
			f.ID, f.Cut = code, false
			break
		}
	}
	return f, true
}

// ParseDebugID reads a debug identifier, the inverse of BuildID.DebugID.
func ParseDebugID(digits []byte) (BuildID, bool) {
	if len(digits) < 2*cutID+1 || len(digits) > 2*cutID+8 || len(bytes.Trim(digits[2*cutID:], "0")) > 0 {
		return "", false
	}
	var raw [cutID]byte
	if _, err := hex.Decode(raw[:], digits[:2*cutID]); err != nil {
		return "", false
	}
	swapGUID(raw[:])
	return BuildID(raw[:]), raw != [cutID]byte{}
}

// identifyGSYM reads the header of a GSYM file: version 1 has the UUID in it, version 2 in a section of its own (LLVM,
// DebugInfo/GSYM/Header.h and GlobalData.h).
func identifyGSYM(head []byte, order binary.ByteOrder) (f SymbolFile, ok bool) {
	const (
		uuidAt, maxUUID      = 28, 20
		headerSize, oneEntry = 20, 20
		uuidSection          = 6
	)
	if len(head) < 48 {
		return f, false
	}
	f.Kind = GSYM
	switch order.Uint16(head[4:]) {
	case 1:
		n := int(head[7])
		if n > maxUUID {
			return f, false
		}
		f.ID = BuildID(head[uuidAt : uuidAt+n])
	case 2:
		for at := headerSize; at+oneEntry <= len(head); at += oneEntry {
			kind, off, n := order.Uint32(head[at:]), order.Uint64(head[at+4:]), order.Uint64(head[at+12:])
			if kind == 0 {
				break
			}
			if kind == uuidSection && n <= maxBuildID && off <= uint64(len(head)) && n <= uint64(len(head))-off {
				f.ID = BuildID(head[off : off+n])
			}
		}
	}
	return f, f.ID != ""
}
