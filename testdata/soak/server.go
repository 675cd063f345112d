package main

import (
	"debug/elf"
	"encoding/hex"
	"hash/fnv"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// server is a debuginfod server that has some of the sample programs, and is of little use for all else.
type server struct {
	*httptest.Server
	files map[string]string // by build ID
	ids   []string
}

func newServer() (*server, error) {
	s := &server{files: map[string]string{}}
	err := filepath.WalkDir("testdata/logs/bin", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if id := buildID(path); id != "" {
			s.files[id] = path
			s.ids = append(s.ids, id)
		}
		return nil
	})
	s.Server = httptest.NewServer(s)
	return s, err
}

// buildID returns the build ID of an ELF file, "" where it has none.
func buildID(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	b, err := s.Data()
	if err != nil || len(b) <= 16 {
		return ""
	}
	return hex.EncodeToString(b[16:])
}

// ServeHTTP answers a request for a build ID: with its file, or in one of the ways in which servers fail.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := filepath.Base(filepath.Dir(r.URL.Path))
	if path, ok := s.files[id]; ok {
		http.ServeFile(w, r, path)
		return
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	switch n := h.Sum32() % 1000; {
	case n < 900:
		http.NotFound(w, r)
	case n < 920:
		w.WriteHeader(http.StatusInternalServerError)
	case n < 940: // cut off
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write([]byte("\x7fELF\x02\x01\x01"))
	case n < 960: // a long file of another build
		_, _ = w.Write([]byte("\x7fELF" + strings.Repeat("soak", 1<<18)))
	case n < 970:
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	case n < 985: // another one's file
		for _, path := range s.files {
			if b, err := os.ReadFile(path); err == nil {
				_, _ = w.Write(b)
			}
			return
		}
	case n < 987: // slow
		select {
		case <-r.Context().Done():
		case <-time.After(3 * time.Second):
		}
	default:
		_, _ = w.Write([]byte("<html>please log in</html>"))
	}
}
