// Package cache keeps symbol answers on disk, for all filters of a user.
//
// Source wraps another source. Queries that local files answer do not go to the cache: if the files match the build ID and have
// all debug information, they answer within a microsecond. For files from a server, compressed files, files of external programs
// and missing files, the cache is asked first (key.go), for at most 20 ms, so that known answers need neither the files of a module
// nor a server. Otherwise the wrapped source answers. If that does not know everything and the cache has not replied yet, Source
// waits a little longer. Queries of the lines at hand are sent together (ahead.go): first for what the machine code shows at their
// addresses, then for the answers.
//
// Answers are kept in the background: a filter collects them, makes pages of them in a separate goroutine (codec.go), and leaves
// these in files of the cache's directory (spool.go), of about 1 MiB each. If the disk is full, it drops them. So no filter
// waits for the cache or starts its process to keep something, and a short run costs one small file. Neighboring addresses of a
// module are kept and sent together, as a page (entries.go): they have nearly the same names, and are often asked for together. A
// list of the modules that have answers (listing.go) tells the next filter whether there is anything to ask
// for. If there is not, no process is started either.
//
// The output of a filter is the same with a full cache, an empty one, none, and one that dies. So an answer is kept only if no
// other file of the same build could add to it: it came from a file with debug information that matches the build
// ID, and no file that this refers to was missing (key.go). The answers of a file without debug information are not kept,
// since a debug file may appear later. Answers of a file without a build ID are kept by its path, inode, size and times
// of change. If the files have changed before the answers are left, these are dropped (spool.go). The key has everything in a
// query that affects its answer, also the symbol that an address counts from, and identifies the build of this program, so that
// answers of older versions are not used (key.go). A checksum over key and value detects damage (codec.go). Failed searches are
// never kept. The Files of an answer from the cache are those that it was found in, with their statuses at that time. They have no
// Watch, since they say nothing about the files on disk now.
//
// Badger must not run in the process of the filter: a full disk is a SIGBUS, a damaged table a panic in one of its goroutines, and
// only one process at a time may open a database. So the cache has a process of its own (serve.go). The first filter that has a
// query which the cache may answer starts it, and so does a filter that ends when much was left (start.go). The process takes what
// was left into the database (store.go), answers over a socket in the directory (wire.go), to the same user only, and ends when it
// has had no client for 30 seconds. A file marks it as running. If the mark is there without a process, that process died, and the
// next one begins with an empty database (start.go). If two have died within a minute, none is started.
//
// There is a cache process on Linux and macOS. On other systems every query goes to the wrapped source.
package cache
