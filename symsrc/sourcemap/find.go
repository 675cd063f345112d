package sourcemap

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// Options say where maps are looked for.
type Options struct {
	// Places are files and directories that the user names. Of a directory all maps count whose name is that of a script and `.map`.
	Places []string
	// Wait bounds how long the first frame waits for the search of the places; 0 stands for searchTime.
	Wait time.Duration
	// Kept are indexes of large maps; nil keeps none.
	Kept *diskcache.Kept
	// Problem reports what cannot be read. It may be nil.
	Problem func(message string)
}

// Maps finds the maps of scripts, and keeps those that were asked for. It may be used by several goroutines at once.
type Maps struct {
	opt Options
	mu  sync.Mutex
	// searched is the last search below the places, nil before its end, and searching gets the one that runs, nil for none.
	searched  *search
	searching chan *search
	many      sync.Once
	known     map[string]*entry
	// failed is set if the search for a script has found what cannot be used.
	failed bool
}

// entry is what was found for the name of a script, and when.
type entry struct {
	script *Script // nil if there is no map for it
	at     time.Time
	failed bool // that was said, and would be said again
}

// Bounds of what is read: bytes of a script, files below the places, scripts that are remembered, and bytes of their maps.
const (
	maxScript  = 64 << 20
	maxFiles   = 1 << 18
	maxScripts = 1 << 8
	maxKept    = 1 << 29
	maxComment = 4 << 10
)

// How long the first frame waits for the search below the places, after which time a script without a map is looked for again, and the places
// are searched again: not sooner than searchShare times as long as that takes.
const (
	searchTime  = 2 * time.Second
	retryTime   = time.Second
	searchAgain = 5 * time.Second
	searchShare = 50
)

// New returns the maps of some places.
func New(opt Options) *Maps { return &Maps{opt: opt, known: map[string]*entry{}} }

// Script returns the script that a log has by that URL or path, nil if there is no map for it.
func (m *Maps) Script(ctx context.Context, name string) *Script {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.remembered(ctx, name)
}

// remembered is Script for a caller that has locked the maps.
func (m *Maps) remembered(ctx context.Context, name string) *Script {
	if e := m.known[name]; e != nil && e.current() {
		return e.script
	}
	m.failed = false
	s := m.find(ctx, name)
	full := len(m.known) >= maxScripts
	if size := s.size(); size > 0 && !full { // a log may name a script without a map in each line
		for _, e := range m.known {
			size += e.script.size()
		}
		full = size > maxKept
	}
	if full {
		clear(m.known)
	}
	m.known[name] = &entry{s, time.Now(), m.failed}
	return s
}

// current reports whether the script need not be looked for again.
func (e *entry) current() bool {
	if e.script == nil {
		return e.failed || time.Since(e.at) < retryTime
	}
	return !e.script.files.Watch.Changed()
}

// find looks for the map of a script: beside the script at its path, and then below the places.
func (m *Maps) find(ctx context.Context, name string) *Script {
	if isEngines(name) {
		return nil
	}
	file := pathOf(name)
	if filepath.IsAbs(file) || filepath.IsLocal(file) && filepath.Dir(file) != "." {
		if s := m.beside(file); s != nil {
			return s
		}
	}
	below := m.places(ctx)
	if name == Bundle {
		var all, javascript []string // the second where the first may be compiled from it
		for script, of := range below {
			to := &all
			if !isBundle(script) {
				if to = &javascript; !isBundle(strings.TrimSuffix(script, ".js")) {
					continue
				}
			}
			for _, one := range of {
				*to = append(*to, one.at)
			}
		}
		if len(all) == 0 {
			all = javascript
		}
		slices.Sort(all)
		return m.one(all, "React Native's bundle")
	}
	words := pathWords(pathInURL(name))
	if len(words) == 0 {
		return nil
	}
	base := words[len(words)-1]
	if segment, module, ok := moduleName(name); ok && len(below[base]) == 0 {
		if len(below) == 0 {
			return nil
		}
		return m.remembered(ctx, Bundle).module(segment, module)
	}
	if slices.Contains(words, updates) && len(below[base]) == 0 {
		if len(below) == 0 {
			return nil
		}
		return m.remembered(ctx, Bundle).update()
	}
	s := m.one(nearest(words, below[base]), "a script named "+base)
	inURL := strings.Contains(name, "://")
	if s == nil || s.isSource(words, inURL) {
		return nil
	}
	if (!inURL || filepath.IsAbs(file)) && s.code != nil && s.code.differs(file) { // the name in a URL is none of a file here
		return nil
	}
	// Many programs have scripts of some names, but an app one bundle. A name with a digit has a hash of the text, or a version.
	s.unnamed = s.files.Unverified && len(words) > 1 && agreeing(words, scriptWords(s.path)) == 1 && !strings.ContainsAny(base, "0123456789") && !isBundle(base)
	return s
}

// Bundle is the name of the script of an app of React Native whose frames do not name it: the only bundle below the places.
const Bundle = "bundle"

// moduleName returns which part of a RAM bundle a script is by its name: `12.js` is a module, `seg-3.js` a segment, and `seg-3_12.js` a module
// of one. segment is "" for the bundle itself, and module −1 for a whole segment.
func moduleName(name string) (segment string, module int, ok bool) {
	name, ok = strings.CutSuffix(name, ".js")
	if !ok {
		return "", 0, false
	}
	number := name
	if rest, is := strings.CutPrefix(name, "seg-"); is {
		var in bool
		if segment, number, in = strings.Cut(rest, "_"); !in {
			_, err := strconv.ParseUint(segment, 10, 31)
			return segment, -1, err == nil
		}
	}
	n, err := strconv.ParseUint(number, 10, 31)
	return segment, int(n), err == nil
}

// module returns the script that is a part of a RAM bundle, nil if there is none. Only its name says that it is one.
func (s *Script) module(segment string, number int) *Script {
	if s == nil {
		return nil
	}
	of := &Script{m: s.m, maps: s.maps, path: s.path, files: s.files, unnamed: true, part: true}
	if segment != "" {
		if of.m = s.m.segments[segment]; of.m == nil {
			return nil
		}
	}
	if number < 0 {
		return of
	}
	var ok bool
	if of.from, of.to, ok = of.m.module(number); !ok {
		return nil
	}
	return of
}

// updates is the directory in which Expo keeps the bundles that an app has got after it was installed, by names of its own.
const updates = ".expo-internal"

// update returns the script of such a bundle, nil if there is none. Nothing but the app says which one it is.
func (s *Script) update() *Script {
	if s == nil {
		return nil
	}
	return &Script{m: s.m, maps: s.maps, path: s.path, file: s.file, files: s.files, code: s.code, unnamed: true}
}

// isEngines reports whether a name is that of a script of Node.js, Deno or Bun itself, or of one that a bundler evaluates in a script of its own.
func isEngines(name string) bool {
	for _, begin := range [...]string{"node:", "internal/", "webpack-internal:", "webpack:", "evalmachine.", "extensions::", "electron/js2c/", "ext:", "[ext:", "deno:", "internal:", "bun:"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return slices.Contains(library, name) || slices.Contains(internals, name)
}

// library are the scripts of Node.js before version 16, which its stacks have without a directory; internals are those that are not modules.
var (
	library = []string{"assert.js", "async_hooks.js", "bootstrap_node.js", "buffer.js", "child_process.js", "cluster.js", "crypto.js", "dgram.js", "dns.js",
		"domain.js", "events.js", "fs.js", "http.js", "http2.js", "https.js", "module.js", "net.js", "node.js", "path.js", "perf_hooks.js", "process.js",
		"querystring.js", "readline.js", "repl.js", "stream.js", "string_decoder.js", "timers.js", "tls.js", "tty.js", "url.js", "util.js", "v8.js", "vm.js",
		"worker_threads.js", "zlib.js", "ELECTRON_ASAR.js"}
	internals = []string{"_debugger.js", "_http_agent.js", "_http_client.js", "_http_common.js", "_http_incoming.js", "_http_outgoing.js", "_http_server.js",
		"_stream_duplex.js", "_stream_passthrough.js", "_stream_readable.js", "_stream_transform.js", "_stream_wrap.js", "_stream_writable.js",
		"_tls_common.js", "_tls_legacy.js", "_tls_wrap.js"}
)

// isBundle reports whether the name of a script is that of an app of React Native.
func isBundle(script string) bool {
	return strings.HasSuffix(script, "bundle") || strings.HasSuffix(script, ".hbc")
}

// pathInURL returns the path of a script, without what makes it a URL.
func pathInURL(name string) string {
	name, _, _ = strings.Cut(name, "//&")
	if u, err := url.Parse(name); err == nil && strings.Contains(name, "://") {
		return u.Path
	}
	return pathOf(name)
}

// pathWords returns the directories of a path and its name.
func pathWords(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
}

// packages is the directory of the packages of a program, whose scripts have names such as index.js.
const packages = "node_modules"

// nearest returns the maps among some, of scripts of one name, whose paths agree with that of a script in most of their last directories. In a
// package, those down to the package must agree, and outside of one it is no map of a package, unless the user has named that one.
func nearest(script []string, maps []mapFile) (found []string) {
	most := 0
	below := slices.Index(script, packages)
	for _, of := range maps {
		at := of.at
		n := agreeing(script, scriptWords(at))
		switch {
		case below < 0 && of.packaged, below >= 0 && n < len(script)-lastIndexOf(script, packages)-1 && !isBundle(script[len(script)-1]): // Expo's is asked for in its package
			continue
		case n > most:
			most, found = n, nil
		}
		if n == most {
			found = append(found, at)
		}
	}
	return found
}

// lastIndexOf returns the index of the last of some words that is the one, −1 for none.
func lastIndexOf(words []string, word string) int {
	for i, w := range slices.Backward(words) {
		if w == word {
			return i
		}
	}
	return -1
}

// agreeing returns how many words at the end of two paths are the same.
func agreeing(a, b []string) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// scriptWords returns all directories and the name of the script that the map at a path is of.
func scriptWords(at string) []string {
	if all, err := filepath.Abs(at); err == nil {
		at = all
	}
	return pathWords(strings.TrimSuffix(at, mapEnd))
}

// isSource reports whether a path in a log is rather that of a source of the map than of its script: Node.js and runners of tests write the
// places of sources themselves if they are asked to, and a source may have the name of the script. A name without directories, which is not of
// a URL, is rather that of a source then.
func (s *Script) isSource(words []string, inURL bool) (is bool) {
	script := agreeing(words, scriptWords(s.path))
	if len(words) == 1 && !inURL {
		script = 0
	}
	s.m.each(func(m *Map) {
		for _, source := range m.sources {
			if is || !strings.HasSuffix(source, words[len(words)-1]) {
				continue
			}
			of := pathInURL(s.below(source))
			if at, err := filepath.Abs(of); err == nil {
				of = at
			}
			is = agreeing(words, pathWords(path.Clean(of))) > script
		}
	})
	return is
}

// one returns the script of the only map among some, nil for none, or if they are of several builds.
func (m *Maps) one(of []string, what string) (found *Script) {
	for _, at := range of {
		s := m.open(at, strings.TrimSuffix(at, mapEnd))
		if s == nil {
			continue
		}
		if found == nil {
			found = s
			continue
		}
		if !found.m.same(s.m) {
			m.fail("several maps are of " + what + ", such as " + found.path + " and " + at + ": none of them is used")
			return nil
		}
	}
	return found
}

// same reports whether two maps of scripts of one name are of one build. Without debug IDs, only their contents tell.
func (m *Map) same(other *Map) bool {
	if m.DebugID != "" || other.DebugID != "" {
		return m.DebugID == other.DebugID
	}
	m.pieces.want(0, len(m.mappings))
	other.pieces.want(0, len(other.mappings))
	return len(m.sections)+len(other.sections) == 0 && !m.text.lost.Load() && !other.text.lost.Load() && bytes.Equal(m.mappings, other.mappings) && slices.Equal(m.sources, other.sources)
}

// mapEnd ends the name of a map.
const mapEnd = ".map"

// pathOf returns the path in the URL of a script, without a query. Metro's server also takes one after `//&`.
func pathOf(name string) string {
	name, _, _ = strings.Cut(name, "//&")
	if !strings.Contains(name, "://") {
		name, _, _ = strings.Cut(name, "?")
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return path.Base(name)
	}
	if u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return path.Base(u.Path)
	}
	return filepath.FromSlash(u.Path)
}

// places returns the paths of the maps below the places, by the name of their script. It returns nil as long as these are searched for the
// first time: a tree on a slow disk must not hold the log. A build may write more of them, so that they are searched again, seldom, while
// what was found counts.
func (m *Maps) places(ctx context.Context) map[string][]mapFile {
	if len(m.opt.Places) == 0 {
		return nil
	}
	if m.searched == nil && m.searching == nil {
		m.searching = make(chan *search, 1)
		go m.search(m.searching)
		select {
		case m.searched = <-m.searching:
			m.searching = nil
		case <-ctx.Done():
		case <-time.After(cmp.Or(m.opt.Wait, searchTime)):
			m.problem("search for source maps: it takes long, and frames until its end have no places of sources")
		}
	}
	select {
	case m.searched = <-m.searching:
		m.searching = nil
	default:
	}
	if m.searched == nil {
		return nil
	}
	if m.searching == nil && time.Since(m.searched.at) > max(searchAgain, searchShare*m.searched.took) {
		m.searching = make(chan *search, 1)
		go m.search(m.searching)
	}
	return m.searched.below
}

// search is what was found below the places, when that ended, and how long it took.
type search struct {
	below map[string][]mapFile
	at    time.Time
	took  time.Duration
}

// mapFile is a map below a place. packaged is set if it is of a package of what the place has, and not of the package that the place is.
type mapFile struct {
	at       string
	packaged bool
}

// hasPackages reports whether a directory is that of the packages of a program, or of those of one scope.
func hasPackages(place string) bool {
	if all, err := filepath.Abs(place); err == nil {
		place = all
	}
	last := filepath.Base(place)
	return last == packages || strings.HasPrefix(last, "@") && filepath.Base(filepath.Dir(place)) == packages
}

// search looks for maps below the places.
func (m *Maps) search(to chan<- *search) {
	begin, below := time.Now(), map[string][]mapFile{}
	files := 0
	for _, place := range m.opt.Places {
		all := hasPackages(place)
		err := filepath.WalkDir(place, func(at string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it is said by who looks for other files
			}
			if d.IsDir() && d.Name() == ".git" {
				return fs.SkipDir
			}
			if files++; files > maxFiles {
				return errEnough
			}
			if script, ok := strings.CutSuffix(d.Name(), mapEnd); ok && isScript(script) && d.Type().IsRegular() {
				in, err := filepath.Rel(place, at)
				below[script] = append(below[script], mapFile{at, all || err != nil || slices.Contains(pathWords(in), packages)})
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			m.many.Do(func() { m.problem("search " + place + " for source maps: there are too many files") })
		}
	}
	to <- &search{below, time.Now(), time.Since(begin)}
}

var errEnough = errors.New("enough")

// isScript reports whether a name may be that of generated code.
func isScript(name string) bool {
	return strings.HasSuffix(name, "js") || strings.HasSuffix(name, ".bundle") || strings.HasSuffix(name, ".jsbundle") || strings.HasSuffix(name, ".hbc")
}

// IsMap reports whether a path is that of a source map by its name.
func IsMap(name string) bool {
	script, ok := strings.CutSuffix(filepath.Base(name), mapEnd)
	return ok && isScript(script)
}

func (m *Maps) problem(message string) {
	if m.opt.Problem != nil {
		m.opt.Problem(message)
	}
}

// fail tells of a problem with the map of the script that is looked for.
func (m *Maps) fail(message string) {
	m.failed = true
	m.problem(message)
}

// beside returns a script of this machine whose map its last line names, or lies beside it. A map elsewhere is not read.
func (m *Maps) beside(file string) *Script {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
		return nil
	}
	look, changed := watch(file)
	named := comment(file, info.Size())
	if data, ok := strings.CutPrefix(named, "data:"); ok {
		_, text, ok := strings.Cut(data, "base64,")
		if !ok {
			return nil
		}
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return nil
		}
		of, err := Parse(decoded)
		if err != nil {
			m.fail(file + ": not a source map: " + err.Error())
			return nil
		}
		code, id := openCode(file, m.opt.Kept)
		return m.script(of, file, file, openedCode{code, id}, look, changed)
	}
	at := file + mapEnd
	if name, err := url.PathUnescape(named); named != "" && err == nil && filepath.IsLocal(filepath.FromSlash(name)) {
		at = filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
	}
	if info, err := os.Stat(at); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	s := m.open(at, file)
	if s != nil && named == "" && s.files.Unverified {
		s.unnamed = true
	}
	return s
}

var commentWord = []byte("# sourceMappingURL=")

// comment returns the URL of the map that the last line of a script names, "" for none.
func comment(file string, size int64) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	tail := make([]byte, min(size, maxComment))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return ""
	}
	i := bytes.LastIndex(tail, commentWord)
	if i < 0 && size > maxComment && endsBase64(tail) { // it may be one that has the map itself
		text := make([]byte, size)
		if _, err := io.ReadFull(io.NewSectionReader(f, 0, size), text); err != nil {
			return ""
		}
		if i = lastIndex(text, append(commentWord[:len(commentWord):len(commentWord)], "data:"...)); i < 0 {
			return ""
		}
		tail = text
	}
	if i < 0 {
		return ""
	}
	line, _, _ := bytes.Cut(tail[i+len(commentWord):], []byte("\n"))
	return string(bytes.TrimSpace(line))
}

// endsBase64 reports whether the first line of a text may be the end of one in base64.
func endsBase64(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return !slices.ContainsFunc(bytes.TrimRight(line, " \t\r"), func(b byte) bool { return digits[b] == 64 && b != '=' })
}

// open reads a map of a script. The files are watched from before they are read.
func (m *Maps) open(at, script string) *Script {
	look, changed := watch(at, script)
	code := make(chan openedCode, 1)
	go func() { // a large one takes as long as half of its map
		of, id := openCode(script, m.opt.Kept)
		code <- openedCode{of, id}
	}()
	of, err := openMap(at, m.opt.Kept)
	read := <-code
	if err != nil {
		m.fail(at + ": " + cause(err).Error())
		return nil
	}
	return m.script(of, at, script, read, look, changed)
}

// openedCode is what openCode returns.
type openedCode struct {
	code *code // nil if it is not here
	id   string
}

// cause returns an error without the path that its message would have twice.
func cause(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return failed.Err
	}
	return err
}

// script returns a script with its map. changed is when the last of their files was written.
func (m *Maps) script(of *Map, at, script string, read openedCode, look *symsrc.Watch, changed time.Time) *Script {
	s := &Script{m: of, maps: m, path: at,
		files: &symsrc.Files{Debug: at, DebugStatus: symsrc.OK, ElfStatus: symsrc.OK, Unverified: true, Changed: changed}}
	s.files.Watch = symsrc.NewWatch(func() bool { return look.Look() || s.changed() })
	s.files.Text = s.text
	id := read.id
	if s.code = read.code; s.code == nil {
		return s
	}
	s.file = script
	switch {
	case id != "" && of.DebugID != "" && id != of.DebugID:
		s.files = refused(s.files, at+" has debug ID "+of.DebugID+", and "+script+" has "+id)
	case !s.code.holds(of):
		s.files = refused(s.files, at+" has places that "+script+" does not have")
	case s.code.moved(of):
		s.files = refused(s.files, at+" is of another build: it has places within words of "+script)
	case id != "" && id == of.DebugID:
		s.files.Unverified = false
	}
	return s
}

// watch returns a watch of files, and when the last of them was written. They need not be there now: a bundle is built again while its log
// is read.
func watch(paths ...string) (look *symsrc.Watch, changed time.Time) {
	found := make([]os.FileInfo, len(paths))
	for i, at := range paths {
		if found[i], _ = os.Stat(at); found[i] != nil && found[i].ModTime().After(changed) {
			changed = found[i].ModTime()
		}
	}
	return symsrc.NewWatch(func() bool {
		for i, was := range found {
			now, err := os.Stat(paths[i])
			if err == nil && (was == nil || !os.SameFile(was, now) || was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime())) {
				return true
			}
		}
		return false
	}), changed
}

// byteCode begins a file of Hermes' byte code, whose places are offsets (MAGIC in its include/hermes/BCGen/HBC/BytecodeFileFormat.h).
var byteCode = []byte("\xc6\x1f\xbc\x03\xc1\x03\x19\x1f")

// ramBundle begins a bundle whose modules are loaded one by one (MAGIC_RAM_BUNDLE_NUMBER in Metro's magic-number.js).
var ramBundle = []byte("\xe5\xd1\x0b\xfb")

// lastIndex is bytes.LastIndex, which has no vector search.
func lastIndex(text, word []byte) int {
	last := -1
	for {
		i := bytes.Index(text[last+1:], word)
		if i < 0 {
			return last
		}
		last += i + 1
	}
}

var debugWord = []byte("# debugId=")

// debugID returns the ID that a script states at its end.
func debugID(text []byte) string {
	i := lastIndex(text, debugWord)
	if i < 0 {
		return ""
	}
	line, _, _ := bytes.Cut(text[i+len(debugWord):], []byte("\n"))
	return strings.ToLower(string(bytes.TrimSpace(line)))
}

// Finder returns a finder that finds the maps of scripts, and asks another one for all else. A script is the program of what it finds.
func (m *Maps) Finder(other symsrc.Finder) symsrc.Finder { return finder{other, m} }

type finder struct {
	symsrc.Finder
	maps *Maps
}

// Find finds the files of a module.
func (f finder) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	if m.BuildID != "" || !isScript(m.Name) && !strings.Contains(m.Name, updates) {
		return f.Finder.Find(ctx, m)
	}
	s := f.maps.Script(ctx, m.Name)
	if s == nil {
		return f.Finder.Find(ctx, m)
	}
	files := *s.files
	if s.code == nil {
		files.ElfStatus = symsrc.NotFound
	} else {
		files.Elf = s.file
	}
	switch {
	case files.Note != "": // they are of two builds
		files.Unverified = false
	case s.m.DebugID != "" && !files.Unverified:
		files.Note = "debug ID " + s.m.DebugID
	case s.unnamed && s.file == pathOf(m.Name):
		files.Note = "the script does not name the map"
	case s.unnamed:
		files.Note = "only the name of the script is that of the map"
	}
	return &files
}
