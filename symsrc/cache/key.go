package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// engineID is the hash of all that decides what an engine answers, beside the files.
type engineID [8]byte

// newEngineID identifies this program's engine: by the commit it was built from where that is all there is to say, else
// by the executable file, so that a rebuilt program never takes its predecessor's answers for its own.
func newEngineID(engine string) engineID {
	h := sha256.New()
	fmt.Fprintf(h, "%d\x00%s\x00%s", valueFormat, engine, programIdentity())
	return engineID(h.Sum(nil))
}

// programIdentity is the commit of the program, or what tells its file from others.
func programIdentity() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		revision, modified := "", true
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.modified":
				modified = s.Value != "false"
			}
		}
		if revision != "" && !modified {
			return revision
		}
		if v := info.Main.Version; info.Main.Sum != "" { // built from the module proxy
			return v + info.Main.Sum
		}
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return fileIdentity(path)
}

// keySize is what a key takes at most: engine, length, identity, symbol, page.
const keySize = 8 + 1 + 100 + sha256.Size + 8

// A question has a tag, which is what kind of question it is: the kind, or probeKind for what the machine code shows, and the space.
const probeKind = 15

func tagOf(kind uint8, q *symsrc.Addr) uint8 { return kind | uint8(q.Space)<<4 }

func isProbe(tag uint8) bool { return tag&15 == probeKind }

// prefix is what the keys of a module's questions begin with: engine and identity.
func (e *engineID) prefix(identity string) string {
	return string(e[:]) + string([]byte{byte(len(identity))}) + identity
}

// placeOf returns what says of which module the address of a question is, and what it counts from: the module's prefix, and the
// symbol if there is one. With it, the tag and the address a question has all that decides the answer.
func placeOf(prefix string, q *symsrc.Addr) string {
	if q.Symbol == "" && q.Size == 0 {
		return prefix
	}
	symbol := append(binary.BigEndian.AppendUint64(make([]byte, 0, 128), q.Size), q.Symbol...)
	sum := sha256.Sum256(symbol)
	return prefix + string(sum[:])
}

// pageBits is how many of the low bits of an address tell it from others of its page.
const pageBits = 9

// appendKey appends the key of the page that has a question. The address is last and big-endian, so that what belongs together lies
// together. Keys with a symbol are longer than those without.
func appendKey(dst []byte, place string, at uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, place...), at>>pageBits)
}

// fileIdentity returns a text that only this file has, and only until it is changed; "" where there is none.
func fileIdentity(path string) string {
	stamp, err := diskcache.StampAt(path, true)
	if err != nil {
		return ""
	}
	return path + "\x00" + stamp.String()
}

// filesIdentity is the identity of a module without a build ID: a hash of its files' paths, inodes, sizes and times of
// change, which is no build ID, for it has another length; "" where a file is not there.
func filesIdentity(files *symsrc.Files) string {
	if files == nil || !files.Usable() {
		return ""
	}
	text := ""
	parts := [...]symsrc.Range{files.ElfRange, files.DebugRange}
	for i, path := range [...]string{files.Elf, files.Debug} {
		if path == "" {
			text += "\x01"
			continue
		}
		one := fileIdentity(path)
		if one == "" {
			return ""
		}
		text += fmt.Sprintf("%s\x00%d\x00%d\x01", one, parts[i].Offset, parts[i].Size)
	}
	sum := sha256.Sum256([]byte(text))
	return "file" + string(sum[:]) + string(make([]byte, 64)) // longer than any build ID
}
