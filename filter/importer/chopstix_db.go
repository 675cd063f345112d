package importer

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// sqliteMagic is the beginning of every database: SQLite's file format §1.3.
var sqliteMagic = []byte("SQLite format 3\x00")

// database is an open ChopStiX database.
type database struct {
	*sqlite3.Conn
	path string
}

// maxValue bounds a value or row, in bytes. The longest are command lines.
const maxValue = 16 << 20

// openDatabase opens a database, for reading unless write is set, and checks that it is one of ChopStiX.
func openDatabase(path string, write bool) (*database, error) {
	wal, err := checkDatabase(path)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path) // no name that SQLite would take for a URI
	if err != nil {
		return nil, err
	}
	name, flags := abs, sqlite3.OPEN_READWRITE
	if !write {
		flags = sqlite3.OPEN_READONLY
		if _, err := os.Stat(path + "-wal"); wal && err != nil {
			// Without a log nothing can change, and no lock file is needed.
			name, flags = (&url.URL{Scheme: "file", Path: abs, RawQuery: "immutable=1"}).String(), flags|sqlite3.OPEN_URI
		}
	}
	conn, err := sqlite3.OpenFlags(name, flags)
	if err != nil {
		return nil, explain(path, err)
	}
	conn.Limit(sqlite3.LIMIT_LENGTH, maxValue)
	db := &database{conn, path}
	// Expressions of the schema must not call harmful functions: https://www.sqlite.org/security.html.
	_, err = conn.Config(sqlite3.DBCONFIG_TRUSTED_SCHEMA, false)
	err = explain(path, err)
	if err == nil {
		err = db.checkSchema()
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return db, nil
}

// checkDatabase checks the header: whether the file is a database, whether it is complete, and whether it has a write-ahead log.
// SQLite's file format §1.3: 2 bytes page size at 16, where 1 means 65536; versions at 18 and 19, where 2 means
// a write-ahead log; the number of pages at 28, valid if the numbers at 24 and 92 agree.
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

// explain returns an error of SQLite in the user's terms.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	var code sqlite3.ErrorCode
	errors.As(err, &code)
	switch code {
	case sqlite3.BUSY, sqlite3.LOCKED:
		return fmt.Errorf("%s: locked: another program is writing to it (%w)", path, err)
	case sqlite3.NOTADB:
		return &DamageError{path, 0, "not an SQLite database"}
	case sqlite3.CORRUPT:
		return &DamageError{path, 0, "the database is damaged: " + err.Error()}
	case sqlite3.TOOBIG:
		return &DamageError{path, 0, fmt.Sprintf("a value or a row is longer than %d MB", maxValue>>20)}
	case sqlite3.READONLY, sqlite3.CANTOPEN:
		return fmt.Errorf("%s: cannot be opened, or its last writer was stopped and left a journal: %w", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// checkSchema returns an error for a database of another program.
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

// columns returns the columns of a table, none if there is no such table. A view or a table of an extension, which has no
// pages of its own, does not count: it may compute forever.
func (db *database) columns(table string) (names []string, err error) {
	query := "SELECT t.name FROM sqlite_schema AS s JOIN pragma_table_info(s.name) AS t WHERE s.type = 'table' AND s.rootpage > 0 AND s.name = "
	err = db.each(query+sqlite3.Quote(table), func(s *sqlite3.Stmt) error {
		names = append(names, s.ColumnText(0))
		return nil
	})
	return names, err
}

// refuseTriggers returns an error if writing to one of the tables would run a trigger. ChopStiX makes none.
func (db *database) refuseTriggers(tables ...string) error {
	return db.each("SELECT name, lower(tbl_name) FROM sqlite_schema WHERE type = 'trigger'", func(s *sqlite3.Stmt) error {
		if slices.Contains(tables, s.ColumnText(1)) {
			return fmt.Errorf("%s: table %s has a trigger, %s, which ChopStiX does not make: nothing was counted", db.path, s.ColumnText(1), s.ColumnText(0))
		}
		return nil
	})
}

// each runs a query and visits its rows.
func (db *database) each(query string, visit func(*sqlite3.Stmt) error, args ...int64) error {
	s, _, err := db.Prepare(query)
	if err != nil {
		return explain(db.path, err)
	}
	defer s.Close()
	for i, arg := range args {
		if err := s.BindInt64(i+1, arg); err != nil {
			return explain(db.path, err)
		}
	}
	for s.Step() {
		if visit == nil {
			continue
		}
		if err := visit(s); err != nil {
			return err
		}
	}
	return explain(db.path, s.Err())
}

// quoted quotes an SQL identifier.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// function is a function of a disassembled module. Its addresses are in the module's own address space; last is inclusive.
type function struct {
	id, module  int64
	name        string
	first, last uint64
}

// functions returns the functions that `chop disasm` found, by the path of the module; none if it was not run.
func (db *database) functions() (map[string][]function, error) {
	all := map[string][]function{}
	for _, table := range []string{"module", "func"} {
		if columns, err := db.columns(table); err != nil || len(columns) == 0 {
			return all, err
		}
	}
	names := map[int64]string{}
	err := db.each("SELECT rowid, name FROM module", func(s *sqlite3.Stmt) error {
		names[s.ColumnInt64(0)] = s.ColumnText(1)
		return nil
	})
	if err != nil {
		return all, err
	}
	err = db.each("SELECT rowid, module_id, name, addr_begin, addr_end FROM func", func(s *sqlite3.Stmt) error {
		f := function{id: s.ColumnInt64(0), module: s.ColumnInt64(1), first: uint64(s.ColumnInt64(3)), last: uint64(s.ColumnInt64(4))}
		name, ok := names[f.module]
		if name := s.ColumnRawText(2); len(name) <= maxName { // a longer one would be repeated at each of its samples
			f.name = string(name)
		}
		if ok && f.name != "" {
			all[name] = append(all[name], f)
		}
		return nil
	})
	for _, list := range all {
		slices.SortFunc(list, func(a, b function) int { return cmp.Compare(a.first, b.first) })
	}
	return all, err
}

// functionAt returns the function at an address, or nil.
func functionAt(list []function, addr uint64) *function {
	i := sort.Search(len(list), func(i int) bool { return list[i].first > addr }) - 1
	if i < 0 || addr > list[i].last {
		return nil
	}
	return &list[i]
}

// place is an address of a module.
type place struct {
	module int64
	addr   uint64
}

// writeCounts counts the samples of each instruction in the database or in a copy of it.
func (c *chopstix) writeCounts(ctx context.Context, out *output) error {
	target := c.path
	if !out.opt.InPlace {
		target = strings.TrimSuffix(c.path, filepath.Ext(c.path)) + ".counts" + filepath.Ext(c.path)
		if err := copyDatabase(ctx, c.path, target); err != nil {
			return err
		}
	}
	said, err := countInto(ctx, out, target)
	if err != nil {
		if target != c.path {
			removeDatabase(target)
		}
		return err
	}
	out.printf("%s: %s\n", plain(target), said)
	return nil
}

// copyDatabase copies a database page by page, since rows are referred to by their numbers. It copies what its readers see, with the
// content of its log. Writes during the copy are not included.
func copyDatabase(ctx context.Context, from, to string) error {
	db, err := openDatabase(from, false)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{"BEGIN", "SELECT count(*) FROM session"} { // a read transaction: a stable snapshot
		if err := db.each(statement, nil); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("copy for the counts: %w", err)
	}
	if err = f.Close(); err == nil {
		err = copyPages(ctx, db.Conn, to)
	}
	if err != nil {
		removeDatabase(to)
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// copyPages copies the pages of a database into an empty one.
func copyPages(ctx context.Context, from *sqlite3.Conn, to string) error {
	abs, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	b, err := from.BackupInit("main", abs)
	if err != nil {
		return err
	}
	for done := false; !done && err == nil; {
		if done, err = b.Step(1 << 10); err == nil {
			err = ctx.Err()
		}
	}
	return errors.Join(err, b.Close())
}

// removeDatabase removes an incomplete database, with the auxiliary files of SQLite.
func removeDatabase(path string) {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		os.Remove(path + suffix)
	}
}

// countInto fills the annotation tables in one transaction.
func countInto(ctx context.Context, out *output, path string) (said string, err error) {
	db, err := openDatabase(path, true)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetInterrupt(ctx)
	for _, table := range []string{"module", "func", "block", "inst"} {
		if columns, err := db.columns(table); err != nil || len(columns) == 0 {
			return "", errors.Join(err, fmt.Errorf("%s: no table %s to count for: `chop disasm` has not run", path, table))
		}
	}
	if err := db.refuseTriggers("module_annot", "func_annot", "block_annot", "inst_annot"); err != nil {
		return "", err
	}
	counting, err := db.BeginImmediate()
	if err != nil {
		return "", explain(path, err)
	}
	defer counting.End(&err)
	hits, samples, err := db.places(ctx, out)
	if err != nil {
		return "", err
	}
	counted, err := db.annotate(hits)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d of %d samples lie in instructions that were disassembled", counted, samples), nil
}

// places counts the samples of the wanted sessions by module and address in it.
func (db *database) places(ctx context.Context, out *output) (hits map[place]int64, samples int64, err error) {
	modules := map[string]int64{}
	err = db.each("SELECT rowid, name FROM module", func(s *sqlite3.Stmt) error {
		modules[s.ColumnText(1)] = s.ColumnInt64(0)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	all, err := db.sessions(out)
	if err != nil {
		return nil, 0, err
	}
	hits = map[place]int64{}
	t := newTally(db, out, nil)
	if all, err = t.read(all); err != nil {
		return nil, 0, err
	}
	for i := range all {
		s := &all[i]
		if err := db.readSpaces(s, out); err != nil {
			return nil, 0, err
		}
		err := t.each(s.pid, false, func(a *sampled) error {
			out.read(1)
			samples += a.values[0]
			space, m := agreed(s.spaces, a.ip)
			if m == nil {
				return nil
			}
			addr, ok := out.inModule(ctx, space, m, a.ip)
			if module := modules[m.path]; ok && module != 0 {
				hits[place{module, addr}] += a.values[0]
			}
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
		s.spaces = nil
	}
	return hits, samples, nil
}

// annotate writes the counts. The count of a block is the sum of its instructions, that of a function the sum of its blocks, that of a
// module the sum of its functions. Scores are shares of all counted samples, as `chop annotate` computes them.
func (db *database) annotate(hits map[place]int64) (total int64, err error) {
	type row struct{ inst, block, fn, module, count int64 }
	var rows []row
	err = db.each(`SELECT inst.rowid, inst.addr, block.rowid, func.rowid, func.module_id FROM inst
		JOIN block ON block.rowid = inst.block_id JOIN func ON func.rowid = block.func_id ORDER BY inst.rowid`,
		func(s *sqlite3.Stmt) error {
			r := row{s.ColumnInt64(0), s.ColumnInt64(2), s.ColumnInt64(3), s.ColumnInt64(4), 0}
			at := place{r.module, uint64(s.ColumnInt64(1))}
			if r.count = hits[at]; r.count > 0 {
				rows = append(rows, r)
				total += r.count
				delete(hits, at) // an instruction that two blocks have is counted once
			}
			return nil
		})
	if err != nil {
		return 0, err
	}
	tables := [...]struct {
		name, key string
		id        func(*row) int64
	}{
		{"inst", "inst_id", func(r *row) int64 { return r.inst }},
		{"block", "block_id", func(r *row) int64 { return r.block }},
		{"func", "func_id", func(r *row) int64 { return r.fn }},
		{"module", "module_id", func(r *row) int64 { return r.module }},
	}
	for _, t := range tables {
		counts, modules := map[int64]int64{}, map[int64]int64{}
		for i := range rows {
			counts[t.id(&rows[i])] += rows[i].count
			modules[t.id(&rows[i])] = rows[i].module
		}
		if err := db.fill(t.name+"_annot", t.key, counts, modules, total); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// fill replaces the rows of an annotation table. The table of instructions may have columns for the module, too.
func (db *database) fill(table, key string, counts, modules map[int64]int64, total int64) error {
	create := fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s BIGINT NOT NULL, count BIGINT, score REAL)", table, key)
	for _, statement := range []string{create, "DELETE FROM " + table} {
		if err := db.each(statement, nil); err != nil {
			return err
		}
	}
	columns, err := db.columns(table)
	if err != nil {
		return err
	}
	insert := fmt.Sprintf("INSERT INTO %s (%s, count, score) VALUES (?1, ?2, ?3)", table, key)
	withModule := key != "module_id" && slices.Contains(columns, "module_id") && slices.Contains(columns, "module_name")
	if withModule {
		insert = fmt.Sprintf(`INSERT INTO %s (%s, count, score, module_id, module_name)
			VALUES (?1, ?2, ?3, ?4, (SELECT name FROM module WHERE rowid = ?4))`, table, key)
	}
	ids := make([]int64, 0, len(counts))
	for id := range counts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	row, _, err := db.Prepare(insert)
	if err != nil {
		return explain(db.path, err)
	}
	defer row.Close()
	for _, id := range ids {
		err := errors.Join(row.BindInt64(1, id), row.BindInt64(2, counts[id]), row.BindFloat(3, float64(counts[id])/float64(total)))
		if withModule {
			err = errors.Join(err, row.BindInt64(4, modules[id]))
		}
		if err == nil {
			err = row.Exec()
		}
		if err != nil {
			return explain(db.path, err)
		}
	}
	return nil
}
