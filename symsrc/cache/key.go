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

// engineID is the hash of everything except the files that affects an engine's answers.
type engineID [8]byte

// newEngineID identifies this program's engine: by the commit it was built from if that is enough, otherwise
// by the executable file, so that a rebuilt program never uses the answers of the previous build.
func newEngineID(engine string) engineID {
	h := sha256.New()
	fmt.Fprintf(h, "%d\x00%s\x00%s", valueFormat, engine, ProgramIdentity())
	return engineID(h.Sum(nil))
}

// ProgramIdentity returns the commit of the program, or what identifies its file.
func ProgramIdentity() string {
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

// keySize is the maximum size of a key: engine, length, identity, symbol, page.
const keySize = 8 + 1 + 100 + sha256.Size + 8

// A query has a tag: its kind, or probeKind for what the machine code shows, and its space.
const probeKind = 15

func tagOf(kind uint8, q *symsrc.Addr) uint8 { return kind | uint8(q.Space)<<4 }

func isProbe(tag uint8) bool { return tag&15 == probeKind }

// prefix returns the beginning of the keys of a module: engine and identity.
func (e *engineID) prefix(identity string) string {
	return string(e[:]) + string([]byte{byte(len(identity))}) + identity
}

// placeOf returns what a query's address is relative to: the module's prefix, and the symbol if there is one. The place, the tag
// and the address are all that the answer depends on.
func placeOf(prefix string, q *symsrc.Addr) string {
	if q.Symbol == "" && q.Size == 0 {
		return prefix
	}
	symbol := append(binary.BigEndian.AppendUint64(make([]byte, 0, 128), q.Size), q.Symbol...)
	sum := sha256.Sum256(symbol)
	return prefix + string(sum[:])
}

// pageBits is how many low bits distinguish the addresses of a page.
const pageBits = 9

// appendKey appends the key of the page of a query. The address is last and big-endian, so that neighboring pages are
// neighbors in the database. Keys with a symbol are longer than those without.
func appendKey(dst []byte, place string, at uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, place...), at>>pageBits)
}

// fileIdentity returns a text that identifies this file until it is changed, or "" if there is no file.
func fileIdentity(path string) string {
	stamp, err := diskcache.StampAt(path, true)
	if err != nil {
		return ""
	}
	return path + "\x00" + stamp.String()
}

// filesIdentity returns the identity of a module without a build ID: a hash of its files' paths, inodes, sizes and times of
// change. It differs from any build ID by its length. It is "" if a file is missing.
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

// module is what is known about a module. It becomes stale.
type module struct {
	of symsrc.Module
	// prefix is the beginning of its keys, made from text: the build ID, or a hash of the files. Both are "" if no answers are stored.
	prefix, text string
	// files are the local files if there are any, or those of a module without a build ID, and nil otherwise; made is when they were
	// made.
	files *symsrc.Files
	made  time.Time
	at    time.Time
	// direct is set if local files answer, so that the cache is not asked. shows is set if a local file has the machine code, so that
	// the cache is not asked for that. Both are cleared when the files can no longer answer.
	direct, shows atomic.Bool
}

// moduleTime is how long files are assumed to be unchanged, as in the engine.
const moduleTime = time.Second

// maxModules bounds the number of cached modules.
const maxModules = 1 << 14

// current reports whether m is not stale. If local files answer, the engine watches them; the files of modules without a
// build ID are checked each time, and files that were still looked for count until they were.
func (m *module) current() bool {
	if m.of.BuildID != "" && m.direct.Load() {
		return true
	}
	if m.files == nil {
		return time.Since(m.at) < moduleTime
	}
	return time.Since(m.at) < moduleTime && !m.files.Watch.Changed() && (m.files.Retry == nil || !m.files.Retry())
}

// module returns what is known about a module.
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
		if m.text = string(of.BuildID); m.direct.Load() && m.files.ByPath {
			m.text = filesIdentity(m.files) // a log may name any file, and a file claim any build ID
		}
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

// answersAll reports whether files have everything that the engine needs of a module.
func answersAll(files *symsrc.Files) bool {
	return files.Usable() && files.DebugStatus == symsrc.OK && files.Retry == nil
}

// full reports whether no other file of this build could add to an answer: a cached answer must not hide a richer file
// that is found later. That is so if it came from a file with debug information that matches the build ID, no file that this
// refers to was missing, and the name is from a symbol table: that of the debug information alone may lack a suffix.
// Variables are in the symbol table only, which is complete in a file with debug information.
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

// owns reports whether an answer from these files may be stored for the module. Whether the files have changed is checked before the
// answer is written.
func (m *module) owns(files *symsrc.Files) bool {
	if m.byFiles() {
		return files == m.files
	}
	return !files.Unverified && !files.ByPath
}

// byFiles reports whether the module's answers are stored under the identity of its files, not under its build ID.
func (m *module) byFiles() bool { return m.text != string(m.of.BuildID) || m.of.BuildID == "" }

// madeBy returns when the files that answered for the module were made.
func (m *module) madeBy(files *symsrc.Files) time.Time {
	if files == m.files {
		return m.made
	}
	return files.Made()
}

// urgency says how soon an answer must be in the cache.
type urgency uint8

const (
	later urgency = iota // local files have it, but may be removed
	soon                 // other filters may want it
)
