package importer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// sqliteMagic begins every database: SQLite's file format §1.3.
var sqliteMagic = []byte("SQLite format 3\x00")

// database is a ChopStiX database that is open.
type database struct {
	*sqlite.Conn
	path string
}

// maxValue is the size of the largest value or row that is read, in bytes. The longest there is is a command line.
const maxValue = 16 << 20

// openDatabase opens a database, for reading unless write is set, and checks that it is one of ChopStiX.
func openDatabase(path string, write bool) (*database, error) {
	wal, err := checkDatabase(path)
	if err != nil {
		return nil, err
	}
	name, flags := path, []sqlite.OpenFlags{sqlite.OpenReadWrite}
	if !write {
		flags[0] = sqlite.OpenReadOnly
		if _, err := os.Stat(path + "-wal"); wal && err != nil {
			// Without a log there is nothing that could change, and no file to be made for a lock on it.
			abs, err := filepath.Abs(path)
			if err != nil {
				return nil, err
			}
			name, flags = (&url.URL{Scheme: "file", Path: abs, RawQuery: "immutable=1"}).String(), append(flags, sqlite.OpenURI)
		}
	}
	conn, err := sqlite.OpenConn(name, flags...)
	if err != nil {
		return nil, explain(path, err)
	}
	conn.SetBusyTimeout(0)
	conn.Limit(sqlite.LimitLength, maxValue)
	db := &database{conn, path}
	// What a schema computes may call no function that could do harm: https://www.sqlite.org/security.html.
	err = explain(path, sqlitex.ExecuteTransient(conn, "PRAGMA trusted_schema = OFF", nil))
	if err == nil {
		err = db.checkSchema()
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return db, nil
}

// checkDatabase looks at the header: whether it is a database, whether all of it is there, and whether it has a log of its
// own. SQLite's file format §1.3: 2 bytes page size at 16, of which 1 means 65536; versions at 18 and 19, of which 2 means
// a write-ahead log; pages at 28, which hold if the numbers at 24 and 92 agree.
func checkDatabase(path string) (wal bool, err error) {
	f, err := openRegular(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	var h [100]byte
	n, err := io.ReadFull(f, h[:])
	switch {
	case !strings.HasPrefix(string(h[:n]), string(sqliteMagic[:min(n, len(sqliteMagic))])), n == 0:
		return false, &DamageError{path, 0, "not an SQLite database"}
	case err != nil:
		return false, &DamageError{path, int64(n), "the header of the database is cut off"}
	}
	page := int64(binary.BigEndian.Uint16(h[16:]))
	if page == 1 {
		page = 1 << 16
	}
	pages := int64(binary.BigEndian.Uint32(h[28:]))
	if binary.BigEndian.Uint32(h[24:]) == binary.BigEndian.Uint32(h[92:]) && info.Size() < pages*page {
		return false, &DamageError{path, info.Size(), fmt.Sprintf("the database is cut off: %d pages of %d bytes belong to it", pages, page)}
	}
	return h[18] == 2 || h[19] == 2, nil
}

// explain says what an error of SQLite means for the user that named the file.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return fmt.Errorf("%s: locked: another program is writing to it (%w)", path, err)
	case sqlite.ResultNotADB:
		return &DamageError{path, 0, "not an SQLite database"}
	case sqlite.ResultCorrupt:
		return &DamageError{path, 0, "the database is damaged: " + err.Error()}
	case sqlite.ResultTooBig:
		return &DamageError{path, 0, fmt.Sprintf("a value or a row is longer than %d MB", maxValue>>20)}
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen:
		return fmt.Errorf("%s: cannot be opened, or its last writer was stopped and left a journal: %w", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// checkSchema fails for a database of another program.
func (db *database) checkSchema() error {
	for table, want := range map[string][]string{
		"session": {"pid", "cmd"},
		"map":     {"pid", "addr_begin", "addr_end", "perm", "path"},
		"sample":  {"ip", "pid", "tid", "time"},
	} {
		have, err := db.columns(table)
		if err != nil {
			return err
		}
		for _, column := range want {
			if !slices.Contains(have, column) {
				return fmt.Errorf("%s: not a ChopStiX database: no table %s with a column %s", db.path, table, column)
			}
		}
	}
	return nil
}

// columns are those of a table, none where there is no such table. What has no pages of its own is none, a view or a table of
// an extension: it may compute for ever.
func (db *database) columns(table string) (names []string, err error) {
	err = db.each("SELECT t.name FROM sqlite_schema AS s JOIN pragma_table_info(s.name) AS t WHERE s.type = 'table' AND s.rootpage > 0 AND s.name = ?", func(s *sqlite.Stmt) error {
		names = append(names, s.ColumnText(0))
		return nil
	}, table)
	return names, err
}

// refuseTriggers fails where writing to one of the tables would run statements of the database. ChopStiX makes none.
func (db *database) refuseTriggers(tables ...string) error {
	return db.each("SELECT name, lower(tbl_name) FROM sqlite_schema WHERE type = 'trigger'", func(s *sqlite.Stmt) error {
		if slices.Contains(tables, s.ColumnText(1)) {
			return fmt.Errorf("%s: table %s has a trigger, %s, which ChopStiX does not make: nothing was counted", db.path, s.ColumnText(1), s.ColumnText(0))
		}
		return nil
	})
}

// each runs a query and visits its rows.
func (db *database) each(query string, visit func(*sqlite.Stmt) error, args ...any) error {
	var stopped error
	o := &sqlitex.ExecOptions{Args: args}
	if visit != nil {
		o.ResultFunc = func(s *sqlite.Stmt) error {
			stopped = visit(s)
			return stopped
		}
	}
	err := sqlitex.ExecuteTransient(db.Conn, query, o)
	if stopped != nil {
		return stopped
	}
	return explain(db.path, err)
}

// quoted is an SQL identifier.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
