package debuginfod

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"qss-filter/symsrc"
)

const testID = symsrc.BuildID("\x01\x23\x45\x67\x89\xab\xcd\xef")

// makeELF returns an ELF file with a build ID and a section of that name and size.
func makeELF(id symsrc.BuildID, section string, size int) []byte {
	var note, names, file bytes.Buffer
	put := func(to *bytes.Buffer, v any) {
		if err := binary.Write(to, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	put(&note, []uint32{4, uint32(len(id)), 3})
	note.WriteString("GNU\x00" + string(id) + strings.Repeat("\x00", -len(id)&3))
	names.WriteString("\x00.note\x00" + section + "\x00.shstrtab\x00")
	data := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
	at := [3]uint64{64, 64 + uint64(note.Len()), 64 + uint64(note.Len()+size)}
	h := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Shoff: at[2] + uint64(names.Len()),
		Ehsize: 64, Shentsize: 64, Shnum: 4, Shstrndx: 3,
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	put(&file, h)
	for _, part := range [][]byte{note.Bytes(), data, names.Bytes()} {
		file.Write(part)
	}
	put(&file, []elf.Section64{{},
		{Name: 1, Type: uint32(elf.SHT_NOTE), Off: at[0], Size: uint64(note.Len()), Addralign: 4},
		{Name: 7, Type: uint32(elf.SHT_PROGBITS), Off: at[1], Size: uint64(size)},
		{Name: uint32(8 + len(section)), Type: uint32(elf.SHT_STRTAB), Off: at[2], Size: uint64(names.Len())},
	})
	return file.Bytes()
}

// debugELF is a good answer.
func debugELF(id symsrc.BuildID) []byte { return makeELF(id, ".debug_info", 300<<10) }

// clock is a time that passes only when told to.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// world is a client with what it says, and the requests that its servers got.
type world struct {
	*Client
	clock *clock
	cache string

	mu       sync.Mutex
	warnings []string
}

func (w *world) warned() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.warnings, "\n")
}

// newWorld makes a client with a clock of its own, which waits for as long as it takes.
func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	w := &world{clock: new(clock)}
	w.clock.ns.Store(time.Now().UnixNano())
	if o.CacheDir == "" {
		o.CacheDir = filepath.Join(t.TempDir(), "cache")
	}
	w.cache = o.CacheDir
	if o.Wait == 0 {
		o.Wait = time.Hour
	}
	if o.Environ == nil {
		o.Environ = func(string) string { return "" }
	}
	o.Warn = func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.warnings = append(w.warnings, err.Error())
	}
	var err error
	if w.Client, err = New(o); err != nil {
		t.Fatal(err)
	}
	w.now = w.clock.now
	t.Cleanup(w.Close)
	return w
}

// testServer is a server that counts what it is asked for.
type testServer struct {
	*httptest.Server
	asked atomic.Int64
}

func serve(t *testing.T, answer http.HandlerFunc) *testServer {
	t.Helper()
	s := new(testServer)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		answer(w, r)
	}))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s
}

// good answers with the file that is asked for.
func good(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	id, _ := symsrc.ParseBuildID(parts[len(parts)-2])
	w.Write(debugELF(id))
}

// hang does not answer until the client goes away.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// cut ends the connection at once.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// leftovers lists what is in the cache besides control files, names of build IDs left out.
func leftovers(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(p)
		if st.Size() == 0 {
			name += "(empty)"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}
