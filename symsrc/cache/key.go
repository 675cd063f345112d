package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

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

// module is what is known of a module, for a time.
type module struct {
	of symsrc.Module
	// prefix is what the keys of its answers begin with, and text what it stands for: the build ID, or a hash of the files; both are
	// "" where no answers are kept.
	prefix, text string
	// files are those by which it is direct, or those of a module without a build ID, nil for neither; and made is when they were.
	files *symsrc.Files
	made  time.Time
	at    time.Time
	// direct is set where files of this machine answer, so that the cache is not asked, and shows where one shows the machine code, so
	// that it is not asked for that. They are unset once the files cannot.
	direct, shows atomic.Bool
}

// moduleTime is how long files are taken to be those on disk, as the engine does.
const moduleTime = time.Second

// maxModules bounds the modules that are known.
const maxModules = 1 << 14

// current reports whether m is still what another look would find. Where files answer, the engine looks after them; that of
// modules without a build ID they are the same ones is seen each time.
func (m *module) current() bool {
	if m.of.BuildID != "" && m.direct.Load() {
		return true
	}
	return time.Since(m.at) < moduleTime && (m.files == nil || !m.files.Watch.Changed())
}

// module returns what is known of a module.
func (s *Source) module(ctx context.Context, of symsrc.Module) *module {
	if m := s.recent.Load(); m != nil && m.of == of && m.current() {
		return m
	}
	s.mu.Lock()
	m := s.modules[of]
	s.mu.Unlock()
	if m == nil || !m.current() {
		m = s.lookAt(ctx, of)
		s.mu.Lock()
		if len(s.modules) >= maxModules {
			clear(s.modules)
		}
		s.modules[of] = m
		s.mu.Unlock()
	}
	s.recent.Store(m)
	return m
}

// lookAt looks for the files of a module on this machine. Servers are not asked.
func (s *Source) lookAt(ctx context.Context, of symsrc.Module) *module {
	m := &module{of: of, at: time.Now()}
	if s.opt.Local != nil {
		m.files = s.opt.Local.Find(ctx, of)
		here := m.files != nil && (of.BuildID == "" || !m.files.Unverified) && (s.opt.Packed == nil || !s.opt.Packed(ctx, of))
		m.direct.Store(here && answersAll(m.files))
		m.shows.Store(here && m.files.ElfStatus == symsrc.OK)
	}
	switch {
	case of.BuildID != "":
		m.text = string(of.BuildID)
	case s.opt.Finder != nil && of.Name != "":
		m.files = s.opt.Finder.Find(ctx, of)
		m.text = filesIdentity(m.files)
	}
	if m.text != "" {
		m.prefix = s.engine.prefix(m.text)
	}
	if m.files != nil {
		m.made = m.files.Made()
	}
	return m
}

// answersAll reports whether files have all that the engine could want of a module.
func answersAll(files *symsrc.Files) bool {
	return files.Usable() && files.DebugStatus == symsrc.OK && files.Retry == nil
}

// full reports whether an answer is all that any file of this build could say: it must not stand in the way of a richer file
// that is found later. So it is where a file with debug information was read that was compared with the build ID, nothing
// was missing that it refers to, and the name is from a symbol table: that of the debug information alone may lack a suffix.
// Variables are known to the symbol table only, which comes whole with debug information.
func full(q *symsrc.Addr, a *symsrc.Answer) bool {
	n := len(a.Frames)
	if n == 0 || a.Partial || a.Files == nil || a.Files.DebugStatus != symsrc.OK || a.Files.Unverified && q.Module.BuildID != "" {
		return false
	}
	for i := range a.Frames {
		if a.Frames[i].Func == "" {
			return false
		}
	}
	return q.Kind == symsrc.Data || a.Frames[n-1].Origin != symsrc.DebugOnly
}

// owns reports whether an answer from these files is one that may be kept as the module's. Whether they are still what was
// read is seen before it is written.
func (m *module) owns(files *symsrc.Files) bool {
	if m.of.BuildID != "" {
		return !files.Unverified
	}
	return files == m.files
}

// madeBy is when files were made that an answer of the module is from.
func (m *module) madeBy(files *symsrc.Files) time.Time {
	if files == m.files {
		return m.made
	}
	return files.Made()
}

// urgency tells when an answer is to be in the cache.
type urgency uint8

const (
	later urgency = iota // files of this machine have it: before these go
	soon                 // other filters may want it
)
