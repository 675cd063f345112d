package debuginfod

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// A store has files at paths of their build IDs, too, but not at those of a debuginfod server. Which layout it has shows the first path at
// which it has a file; until then each is tried. The file is verified as that of any server is.
//
//	/buildid/ID/debuginfo                         debuginfod, which is tried first
//	/_.debug/elf-buildid-sym-ID/_.debug           SSQP, as Microsoft's public server (SSQP_Key_Conventions.md in dotnet/symstore)
//	/_.dwarf/mach-uuid-sym-ID/_.dwarf             the same for the file in a dSYM; only an ID as long as a UUID is tried there
//	/.build-id/xx/yyyy.debug                      a tree of files, as /usr/lib/debug, in any server of files
//	/xx/yyyy/debuginfo                            the unified layout of Sentry's symbolicator
//
// What stores have by the name of the module is asked for if there is no debug information:
//
//	/NAME/elf-buildid-ID/NAME                     SSQP: the program itself, and /NAME/mach-uuid-ID/NAME that of Mach-O
//	/NAME/DEBUGID/NAME.sym, or .sym.gz            stores of Breakpad, and Tecken
//	/NA/NAME/DEBUGID/NAME.sym                     the same in a store of two tiers, which has index2.txt (symstore's documentation)
//	/xx/yyyy/breakpad                             the unified layout
var layouts = [...]func(id string) []string{
	func(id string) []string {
		paths := []string{"/_.debug/elf-buildid-sym-" + padded(id) + "/_.debug"}
		if len(id) == uuidDigits {
			paths = append(paths, "/_.dwarf/mach-uuid-sym-"+id+"/_.dwarf")
		}
		return paths
	},
	func(id string) []string { return []string{"/.build-id/" + id[:2] + "/" + id[2:] + ".debug"} },
	func(id string) []string { return []string{"/" + id[:2] + "/" + id[2:] + "/debuginfo"} },
}

// programLayouts are where stores of layouts have the program itself; nil where that needs its name.
var programLayouts = [len(layouts)]func(id string) []string{
	nil,
	func(id string) []string { return []string{"/.build-id/" + id[:2] + "/" + id[2:]} },
	func(id string) []string { return []string{"/" + id[:2] + "/" + id[2:] + "/executable"} },
}

// layout returns where a store of one of layouts has the file, nil if it has no such files.
func (k key) layout(i int) []string {
	of := layouts[i]
	if k.kind == Executable {
		of = programLayouts[i]
	}
	if id := k.id.String(); of != nil && (k.kind == Debuginfo || k.kind == Executable) && len(id) > 2 {
		return of(id)
	}
	return nil
}

// symLayouts are those of symbol files: where the file of a name and a debug ID is, or of a build ID.
var symLayouts = [...]func(name, file, debugID, id string) []string{
	func(name, file, debugID, _ string) []string {
		path := "/" + name + "/" + debugID + "/" + file
		return []string{path, path + ".gz"}
	},
	func(name, file, debugID, _ string) []string {
		return []string{"/" + name[:min(len(name), 2)] + "/" + name + "/" + debugID + "/" + file}
	},
	func(_, _, _, id string) []string { return []string{"/" + id[:2] + "/" + id[2:] + "/breakpad"} },
}

// ssqp is the index of SSQP in layouts.
const ssqp = 0

// padded returns a build ID as SSQP has it: with zeros up to 20 bytes.
func padded(id string) string {
	const digits = 40
	return id + strings.Repeat("0", max(0, digits-len(id)))
}

// programPaths is paths for a program by its name. SSQP has names in lower case; not all that fill such stores do that.
func (s *server) programPaths(k key) (all []string) {
	if used := s.store.used.Load(); !s.store.any || used != unknownLayout && used != firstLayout+ssqp {
		return nil
	}
	name, id := strings.TrimPrefix(string(k.kind), programKind), k.id.String()
	for _, name := range slices.Compact([]string{strings.ToLower(name), name}) {
		name = url.PathEscape(name)
		all = append(all, "/"+name+"/elf-buildid-"+padded(id)+"/"+name)
		if len(id) == uuidDigits {
			all = append(all, "/"+name+"/mach-uuid-"+id+"/"+name)
		}
	}
	return all
}

// uuidDigits is the length of a UUID without hyphens.
const uuidDigits = 32

// store is what is known of the layout of a server.
type store struct {
	any  bool // it may have any layout
	s3   bool // it is a bucket of S3
	used atomic.Int32
	sym  atomic.Int32 // the same for symbol files, which has no debuginfodLayout
}

// The values of store.used below that of the first of layouts.
const (
	unknownLayout = iota
	debuginfodLayout
	firstLayout
)

// paths returns where a server may have a file, in the order in which they are tried.
func (s *server) paths(k key) (all []string) {
	if k.kind.isSymbols() {
		return s.symPaths(k)
	}
	if k.kind.isProgram() {
		return s.programPaths(k)
	}
	if used := s.store.used.Load(); used >= firstLayout {
		return k.layout(int(used - firstLayout))
	} else if all = append(all, k.urlPath()); used == unknownLayout && s.store.any {
		for i := range layouts {
			all = append(all, k.layout(i)...)
		}
	}
	return all
}

// symPaths is paths for the symbol file of a module. A store that has files of another layout than the unified one is not asked.
func (s *server) symPaths(k key) (all []string) {
	used, known := s.store.used.Load(), s.store.sym.Load()
	if !s.store.any || len(k.id) < 2 || used != unknownLayout && used != firstLayout+int32(len(layouts))-1 && known == unknownLayout {
		return nil
	}
	for i := range symLayouts {
		if known == unknownLayout || known == firstLayout+int32(i) {
			all = append(all, k.symPaths(i)...)
		}
	}
	return all
}

// symPaths returns where a store of one of symLayouts has the symbol file of a module. The debug ID is that of an ELF file, and for an ID
// that may be the UUID of a Mach-O file also that of one, whose bytes are not swapped.
func (k key) symPaths(layout int) (all []string) {
	file := k.kind.symbolFile()
	debugIDs := []string{k.id.DebugID()}
	if len(k.id) == uuidDigits/2 {
		debugIDs = append(debugIDs, strings.ToUpper(k.id.String())+"0")
	}
	for _, debugID := range debugIDs {
		for _, path := range symLayouts[layout](url.PathEscape(strings.TrimSuffix(file, symExt)), url.PathEscape(file), debugID, k.id.String()) {
			if !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}

// has notes the path at which a server has a file.
func (s *server) has(k key, path string) {
	if !s.store.any {
		return
	}
	if k.kind.isSymbols() {
		for i := range symLayouts {
			if slices.Contains(k.symPaths(i), path) {
				s.store.sym.Store(firstLayout + int32(i))
				return
			}
		}
		return
	}
	used := int32(debuginfodLayout)
	if k.kind.isProgram() {
		used = firstLayout + ssqp
	}
	for i := range layouts {
		if slices.Contains(k.layout(i), path) {
			used = int32(firstLayout + i)
		}
	}
	s.store.used.Store(used)
}

// refused reports whether a store says so that it has no file: those of Amazon do not tell that from one that may not be read.
func (s *server) refused(resp *http.Response) bool {
	return s.store.any && resp.StatusCode == http.StatusForbidden
}

// hasStores reports whether a server may have another layout, and onlyStores whether all may.
func (c *Client) hasStores() bool {
	return slices.ContainsFunc(c.servers, func(s *server) bool { return s.store.any })
}

func (c *Client) onlyStores() bool {
	return !slices.ContainsFunc(c.servers, func(s *server) bool { return !s.store.any })
}

// IsStore reports whether a place of symbols is the URL of a store.
func IsStore(place string) bool {
	for _, scheme := range [...]string{"http://", "https://", s3Scheme, gsScheme} {
		if strings.HasPrefix(place, scheme) {
			return true
		}
	}
	return false
}

// The schemes of buckets, in which URLs name a bucket and the beginning of the names in it.
const s3Scheme, gsScheme = "s3://", "gs://"

// bucketURL returns the address at which anyone may read a bucket of S3 or of Google Cloud Storage, and any other URL as it is. endpoint is a
// server that speaks as S3 does, "" for Amazon's. A name with a dot in it fits no certificate as the name of a host.
func bucketURL(text, endpoint, region string) string {
	if rest, ok := strings.CutPrefix(text, gsScheme); ok {
		return "https://storage.googleapis.com/" + rest
	}
	rest, ok := strings.CutPrefix(text, s3Scheme)
	bucket, prefix, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" {
		return text
	}
	host := "s3.amazonaws.com"
	if region != "" {
		host = "s3." + region + ".amazonaws.com"
	}
	switch {
	case endpoint != "":
		return strings.TrimRight(endpoint, "/") + "/" + rest
	case strings.Contains(bucket, "."):
		return "https://" + host + "/" + rest
	}
	return "https://" + bucket + "." + host + "/" + prefix
}

// StoresIn returns the URLs in a path of symbols as Windows has it, `srv*DIR*https://host/path;…` ($_NT_SYMBOL_PATH).
func StoresIn(path string) (urls []string) {
	for _, element := range strings.Split(path, ";") {
		for _, part := range strings.Split(element, "*") {
			if IsStore(part) {
				urls = append(urls, part)
			}
		}
	}
	return urls
}
