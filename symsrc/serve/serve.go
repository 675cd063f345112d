// Package serve answers what debuginfod servers answer (debuginfod(8), WEBAPI) from the files that a Finder finds, so that gdb, perf, elfutils,
// llvm-symbolizer and other filters find what this one finds: in trees, archives, packages, stores and other servers.
//
//	/buildid/ID/debuginfo       a file with debug information
//	/buildid/ID/executable      the program or library itself
//	/buildid/ID/source/PATH     a source file below the directories that are served
//	/metrics                    figures in the text format of Prometheus
//	/healthz                    whether it runs
package serve

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qss-filter/symsrc"
)

// Options are the files that are served.
type Options struct {
	// Finder finds the files of modules.
	Finder symsrc.Finder
	// Local finds those of them that no other server has; nil stands for Finder.
	Local symsrc.Finder
	// Program returns the program of a build that another server has, "" for none, and whether one that may have it could not be asked. It may
	// be nil.
	Program func(ctx context.Context, id symsrc.BuildID) (path string, unasked bool)
	// Dirs are directories below which source files are served.
	Dirs []string
	// Source returns a source file of a build that another server has, "" for none. It may be nil.
	Source func(ctx context.Context, id symsrc.BuildID, path string) string
	// Via names this server among those that ask each other.
	Via string
	// Log is called with what fails. It may be nil.
	Log func(format string, args ...any)
}

// NewVia returns a name for Options.Via.
func NewVia() string { return "qss-filter-" + strings.ToLower(rand.Text()[:12]) }

// Server answers requests. Any number of them may come at once.
type Server struct {
	Options
	began time.Time

	loop  sync.Once
	mu    sync.Mutex
	count map[outcome]int64
	sent  atomic.Int64 // bytes of files, unpacked
}

// outcome is what requests are counted by.
type outcome struct {
	kind string
	code int
}

// New returns a server of those files.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return &Server{Options: o, began: time.Now(), count: map[outcome]int64{}}
}

// Limits of connections.
const (
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	endTime    = 5 * time.Second // for requests that run when the server ends
)

// Run serves on a listener until ctx ends. Requests that run then have a few seconds.
func (s *Server) Run(ctx context.Context, on net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(on) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-ended
	return err
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/healthz":
		fmt.Fprintln(w, "ok")
	case "/metrics":
		s.metrics(w)
	default:
		kind, code := s.file(w, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count[outcome{kind, code}]++
	}
}

// metrics writes the figures.
func (s *Server) metrics(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]outcome, 0, len(s.count))
	for o := range s.count {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b outcome) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.code, b.code)) })
	fmt.Fprint(w, "# HELP qss_filter_serve_requests_total Requests for files, by their kind and the status of the answer.\n# TYPE qss_filter_serve_requests_total counter\n")
	for _, o := range all {
		fmt.Fprintf(w, "qss_filter_serve_requests_total{kind=%q,code=\"%d\"} %d\n", o.kind, o.code, s.count[o])
	}
	fmt.Fprintf(w, "# HELP qss_filter_serve_bytes_total Bytes of files that were sent, unpacked.\n# TYPE qss_filter_serve_bytes_total counter\nqss_filter_serve_bytes_total %d\n", s.sent.Load())
	fmt.Fprintf(w, "# HELP qss_filter_serve_uptime_seconds Time since the start.\n# TYPE qss_filter_serve_uptime_seconds gauge\nqss_filter_serve_uptime_seconds %d\n",
		int(time.Since(s.began).Seconds()))
}

// file answers a request for a file, and returns what it was for and the status.
func (s *Server) file(w http.ResponseWriter, r *http.Request) (kind string, code int) {
	fail := func(code int, text string) (string, int) {
		http.Error(w, text, code)
		return cmp.Or(kind, "other"), code
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/buildid/")
	digits, what, more := strings.Cut(rest, "/")
	id, isID := symsrc.ParseBuildID(digits)
	kind, source, _ := strings.Cut(what, "/")
	if !ok || !more || !isID || kind != "source" && source != "" || !slices.Contains([]string{"debuginfo", "executable", "source"}, kind) {
		kind = ""
		return fail(http.StatusNotFound, "want /buildid/ID/debuginfo, /buildid/ID/executable or /buildid/ID/source/PATH")
	}
	if s.Via != "" && strings.Contains(strings.Join(r.Header.Values("Via"), ","), s.Via) {
		s.loop.Do(func() { s.Log("the server asks itself: take its URL out of DEBUGINFOD_URLS") })
		return fail(http.StatusNotFound, "the server asks itself")
	}
	finder := s.Finder
	if kind == "executable" && s.Local != nil { // others need not be asked for debug information
		finder = s.Local
	}
	files := finder.Find(r.Context(), symsrc.Module{BuildID: id})
	if r.Context().Err() != nil {
		return kind, 499 // as others count those that went away
	}
	if kind == "source" {
		f := s.source(r.Context(), id, files, source)
		if f == nil {
			return fail(http.StatusNotFound, "no such source file")
		}
		defer f.Close()
		return kind, s.send(w, r, f, symsrc.Range{}, source)
	}
	name, part := chosen(files, kind)
	unasked := files != nil && (files.Came != nil || files.Unasked)
	if name == "" && kind == "executable" && s.Program != nil {
		name, unasked = s.Program(r.Context(), id)
	}
	if name == "" {
		if unasked { // a download goes on, or begins when that server answers again
			w.Header().Set("Retry-After", "5")
			return fail(http.StatusServiceUnavailable, "another server is still asked")
		}
		return fail(http.StatusNotFound, "no file has this build ID")
	}
	f, err := os.Open(name)
	if err != nil {
		s.Log("%v", err)
		return fail(http.StatusNotFound, "the file cannot be opened")
	}
	defer f.Close()
	return kind, s.send(w, r, f, part, part.Of(name))
}

// chosen returns the file of a kind, "" for none.
func chosen(files *symsrc.Files, kind string) (path string, part symsrc.Range) {
	switch {
	case files == nil:
	case kind == "executable" && files.ElfStatus == symsrc.OK:
		return files.Elf, files.ElfRange
	case kind == "debuginfo" && files.DebugStatus == symsrc.OK && files.Debug != "":
		return files.Debug, files.DebugRange
	case kind == "debuginfo" && files.DebugStatus == symsrc.OK && files.ElfStatus == symsrc.OK: // it has its own
		return files.Elf, files.ElfRange
	}
	return "", symsrc.Range{}
}

// send sends a file, or a part of one.
func (s *Server) send(w http.ResponseWriter, r *http.Request, f *os.File, part symsrc.Range, name string) (code int) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.Error(w, "not a regular file", http.StatusNotFound)
		return http.StatusNotFound
	}
	content := io.NewSectionReader(f, 0, info.Size())
	if !part.Whole() {
		content = io.NewSectionReader(f, part.Offset, part.Size)
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Debuginfod-Size", strconv.FormatInt(content.Size(), 10))
	h.Set("X-Debuginfod-File", path.Base(filepath.ToSlash(name)))
	if most, err := strconv.ParseInt(r.Header.Get("X-Debuginfod-Maxsize"), 10, 64); err == nil && most > 0 && content.Size() > most {
		http.Error(w, "larger than X-DEBUGINFOD-MAXSIZE", http.StatusNotAcceptable)
		return http.StatusNotAcceptable
	}
	counted := &counting{ResponseWriter: w, code: http.StatusOK}
	defer func() { s.sent.Add(counted.n) }()
	if r.Method == http.MethodGet && r.Header.Get("Range") == "" && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
		n, err := io.Copy(z, content)
		counted.n = n
		if err = cmp.Or(err, z.Close()); err != nil {
			panic(http.ErrAbortHandler) // so that the client does not take a part for the whole
		}
		return http.StatusOK
	}
	http.ServeContent(counted, r, "", info.ModTime(), content)
	return counted.code
}

// acceptsGzip reports whether the client unpacks answers.
func acceptsGzip(r *http.Request) bool {
	for _, one := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(one), ";")
		if strings.TrimSpace(name) == "gzip" && strings.ReplaceAll(parameters, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// counting counts what is sent.
type counting struct {
	http.ResponseWriter
	code int
	n    int64
}

func (c *counting) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += int64(n)
	return n, err
}

// sourceExtensions are those of source files. No other file is served by a path that a client names.
var sourceExtensions = strings.Fields(`.c .h .cc .hh .cpp .hpp .cxx .hxx .c++ .h++ .inc .inl .ipp .tcc .s .S .asm .m .mm .rs .go .swift .zig .kt .java .d .ads .adb .f .f90 .F
	.F90 .for .pas .pl .y .l .yy .ll .def .tbl .td`)

// source opens a source file of a build: below the directories that are served, as if each were the root of the machine that built it, or at its
// own path if that is in one of them. Otherwise another server may have it. It is nil if there is none.
func (s *Server) source(ctx context.Context, id symsrc.BuildID, files *symsrc.Files, name string) *os.File {
	if files == nil || !files.Usable() || !slices.Contains(sourceExtensions, path.Ext(name)) || strings.ContainsRune(name, 0) {
		return nil
	}
	clean := path.Clean("/" + name)
	for _, dir := range s.Dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		names := []string{clean[1:]}
		if abs, err := filepath.Abs(dir); err == nil {
			if below, ok := strings.CutPrefix(clean, strings.TrimSuffix(filepath.ToSlash(abs), "/")+"/"); ok {
				names = append(names, below)
			}
		}
		for _, name := range names {
			if f, err := root.Open(filepath.FromSlash(name)); err == nil {
				root.Close()
				return f
			}
		}
		root.Close()
	}
	if s.Source == nil {
		return nil
	}
	at := s.Source(ctx, id, clean)
	if at == "" {
		return nil
	}
	f, err := os.Open(at)
	if err != nil {
		return nil
	}
	return f
}
