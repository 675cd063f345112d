//go:build linux || darwin

package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"qss-filter/symsrc/diskcache"
)

// adminTime bounds the wait for a reply to `cache stats` and `cache clear`.
const adminTime = 30 * time.Second

// serveCommand is `cache serve`.
func serveCommand(ctx context.Context, dir string, o *Options) error {
	code := serve(ctx, dir, o.max(), o.Brief)
	if code != exitServed {
		return &ServeError{dir, int(code), code.reason()}
	}
	return nil
}

// order sends a message to the cache process and returns the reply.
func order(l *link, kind byte) ([]byte, error) {
	if err := l.conn.SetDeadline(time.Now().Add(adminTime)); err != nil {
		return nil, fmt.Errorf("ask the cache: %w", err)
	}
	if err := l.send(kind, 1, nil, adminTime); err != nil {
		return nil, err
	}
	m, err := l.receive()
	if err != nil {
		return nil, fmt.Errorf("ask the cache: %w", err)
	}
	return m.body, nil
}

// printStats prints the figures of the cache process. It starts one if there are answers.
func printStats(o *Options, dir string, w io.Writer) error {
	if !hasAnswers(dir) {
		if o.JSON {
			return writeJSON(w, statsJSON{Directory: dir, Beside: besideSize(dir)})
		}
		_, err := fmt.Fprintf(w, "directory  %s\nanswers    0\n", dir)
		return err
	}
	b, note, err := askStats(o, dir)
	if err != nil {
		return err
	}
	if note != "" && !o.JSON {
		fmt.Fprintln(w, "note      ", note)
	}
	var s stats
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("read the cache's figures: %w", err)
	}
	if o.JSON {
		return writeJSON(w, statsJSON{Directory: dir, Version: protocol, Answers: s.Entries, Bytes: s.Bytes, Max: s.Max, Asked: s.Asked, Found: s.Found,
			PID: s.PID, Started: s.Started, Clients: s.Clients - 1, Beside: besideSize(dir), Note: note})
	}
	if err := s.write(w, dir, time.Now()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "beside     %s of indexes and unpacked files\n", sizeText(besideSize(dir)))
	return err
}

// askStats asks the cache process for its figures. A process that ends with its last filter may do so just when it is asked: then another
// one is started.
func askStats(o *Options, dir string) (figures []byte, note string, err error) {
	for range 3 {
		var l *link
		if l, note, err = reach(o, dir); err != nil {
			return nil, "", fmt.Errorf("%s: %w", dir, err)
		}
		figures, err = order(l, statsMsg)
		l.conn.Close()
		if !errors.Is(err, io.EOF) {
			break
		}
	}
	return figures, note, err
}

// beside has the names of the subdirectories of other packages: indexes of symbol trees, members of archives, unpacked packages and
// images, and indexes of objects. Earlier versions kept unpacked copies of files in others.
var beside = [...]string{"trees", "members", "bundles", "index", "unpacked", "twins", "maps"}

// besideSize returns the total size of the files in them, in bytes. It ignores files that cannot be read.
func besideSize(dir string) (size int64) {
	for _, name := range beside {
		_ = filepath.WalkDir(filepath.Join(dir, name), func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
			return nil
		})
	}
	return size
}

// forget empties the cache and these subdirectories. The cache process does it if there is one; otherwise the files are removed.
func forget(o *Options, dir string, w io.Writer) error {
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := diskcache.MakeRoot(dir); err != nil {
		return err
	}
	for _, name := range beside { // a process that has them mapped keeps them
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("empty the cache: %w", err)
		}
	}
	for _, name := range []string{spoolDir, listingName, ServersName, MissedName} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("empty the cache: %w", err)
		}
	}
	if l, _, err := greet(o, dir); err == nil {
		defer l.conn.Close()
		reply, err := order(l, clearMsg)
		if err == nil && len(reply) > 0 {
			err = errors.New(string(reply))
		}
		return err
	}
	if pid := holder(dir); pid != 0 {
		return fmt.Errorf("process %d has %s open and does not answer: end it with kill %d", pid, dir, pid)
	}
	for _, name := range []string{databaseDir, sessionName, deathsName, socketName, versionName} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("empty the cache: %w", err)
		}
	}
	return nil
}
