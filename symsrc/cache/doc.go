// Package cache keeps symbol answers on disk, for all filters of a user.
//
// Source wraps another source. Queries that local files answer do not go to the cache: if the files match the build ID and have
// all debug information, they answer within a microsecond. For files from a server, compressed files, files of external programs
// and missing files, the cache is asked first (key.go), for at most 20 ms, so that cached answers need neither the files of a module
// nor a server. Otherwise the wrapped source answers. If its answer is incomplete and the cache has not replied yet, Source waits a
// little longer. Queries that are known in advance are sent together (ahead.go): first for what the machine code shows at their
// addresses, then for the answers.
//
// Answers are stored in the background: a filter collects them, encodes them as pages in a separate goroutine (codec.go), and writes
// these to spool files in the cache's directory (spool.go), of about 1 MiB each. If the disk is full, it drops them. So no filter
// waits for the cache or starts its process to store something, and a short run costs one small file. Neighboring addresses of a
// module are stored and sent together, as a page (entries.go): they have nearly the same names, and are often looked up together.
// From a list of the modules that have answers (listing.go) the next filter learns whether there is anything to ask for. If there is
// not, it does not start the process either.
//
// The output of a filter is the same with a full cache, an empty one, none, and one whose process dies. So an answer is stored only if
// no other file of the same build could add to it: it came from a file with debug information that matches the build ID, and no file
// that this refers to was missing (key.go). The answers of a file without debug information are not stored, since a debug file may
// appear later. Answers of a file without a build ID are stored under its path, inode, size and times of change. If the files change
// before the answers are written, the answers are dropped (spool.go). The key contains everything in a query that affects its answer,
// including the symbol that an address counts from, and identifies the build of this program, so that answers of older versions are
// not used (key.go). A checksum over key and value detects damage (codec.go). Failed searches are never stored. The Files of an answer
// from the cache are those that it was found in, with their statuses at that time. They have no Watch, since they do not describe the
// files on disk now.
//
// Badger must not run in the process of the filter: a full disk causes a SIGBUS, a damaged table a panic in one of its goroutines, and
// only one process at a time may open a database. So the cache has a process of its own (serve.go). It is started by the first filter
// with a query that the cache may answer, and by a filter that ends when the spool is large (start.go). The process moves the spool
// into the database (store.go), answers over a socket in the directory (wire.go), to the same user only, and ends after 30 seconds
// without a client. A file marks it as running. If the mark exists without a process, that process died, and the next one starts with
// an empty database (start.go). If two have died within a minute, none is started.
//
// There is a cache process on Linux and macOS. On other systems every query goes to the wrapped source.
package cache
