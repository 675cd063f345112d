// Package cache keeps symbol answers on disk, for all filters of a user.
//
// Source stands before another source. What files of this machine answer, found, compared with the build ID and with all debug
// information, it is not asked for: they are asked, which takes a microsecond. What is behind a server, packed, of an external
// program or gone is asked of the cache first (key.go), and for 20 ms at most, so that neither the files of a module nor a
// server need be looked at for what is known; else the source behind answers. Where that source does not know all and the cache
// has not replied yet, it is waited for a little longer. What the lines at hand ask is asked at once (ahead.go): what the machine
// code shows at their addresses, and then the answers.
//
// What was found is kept in the background: a filter notes it, makes pages of it in a goroutine of its own (codec.go), and leaves
// these in files of the cache's directory (spool.go), about 1 MiB in each; it drops what the disk does not take. So no filter
// waits for the cache or starts its process to keep something, and a short run costs one small file. What lies together in a
// module is kept, sent and known together, as a page (entries.go): it is nearly the same names, and who asks for one address asks
// for its neighbors. A list of the modules that were left (listing.go) tells the next filter whether there is anything to ask
// for: where there is not, no process is started either.
//
// The output of a filter is the same with a full cache, an empty one, none, and one that dies. So only answers are kept that no
// other file of the same build could add to: those that came from a file with debug information that was compared with the build
// ID, where nothing was missing that it refers to (key.go). What a file without debug information says is found again each
// time, since a debug file may be there by then. Answers of a file without a build ID are kept by its path, inode, size and times
// of change. What is from files that have changed before it is left is not kept (spool.go). The key has all of a question that
// decides its answer, also the symbol that an address counts from, and tells one build of this program from another, so no old
// reader's answer is given (key.go); a checksum over key and value tells damage (codec.go). What is not found is never kept, and
// answers from the cache have no Files: they say nothing of what lies on the disk now.
//
// Badger must not run where the log runs: a full disk is a SIGBUS, a damaged table a panic in one of its goroutines, and one
// process at a time may open a database. So serve.go is a process that is started by the first filter that has a question which
// the cache may answer, or that ends when much was left (start.go). It takes what was left into the database (store.go), is asked
// over a socket in the directory (wire.go), by the same user only, and goes when no filter has been there for 30 seconds. A file
// marks it as running; found without a process, it tells that one died, and the next one begins with an empty database
// (start.go), unless two have died within a minute: then none is started.
//
// There is a cache process on Linux and macOS. On other systems every question goes to the source behind.
package cache
