package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// function is one of a disassembled module. Its addresses are the module's own, last is inclusive.
type function struct {
	id, module  int64
	name        string
	first, last uint64
}

// functions reads what `chop disasm` found, by the path of the module; nothing where it never ran.
func (db *database) functions() (map[string][]function, error) {
	all := map[string][]function{}
	for _, table := range []string{"module", "func"} {
		if columns, err := db.columns(table); err != nil || len(columns) == 0 {
			return all, err
		}
	}
	names := map[int64]string{}
	err := db.each("SELECT rowid, name FROM module", func(s *sqlite.Stmt) error {
		names[s.ColumnInt64(0)] = s.ColumnText(1)
		return nil
	})
	if err != nil {
		return all, err
	}
	err = db.each("SELECT rowid, module_id, name, addr_begin, addr_end FROM func", func(s *sqlite.Stmt) error {
		f := function{id: s.ColumnInt64(0), module: s.ColumnInt64(1), first: uint64(s.ColumnInt64(3)), last: uint64(s.ColumnInt64(4))}
		name, ok := names[f.module]
		if s.ColumnLen(2) <= maxName { // a longer one is none: it is repeated at each of its samples
			f.name = s.ColumnText(2)
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

// functionAt returns the function at an address, nil where there is none.
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

// copyDatabase copies a database page for page, since its rows are known by their numbers: as its readers see it, with what
// its last writers left in a log beside it. Nothing that is written to it meanwhile is in the copy.
func copyDatabase(ctx context.Context, from, to string) error {
	db, err := openDatabase(from, false)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{"BEGIN", "SELECT count(*) FROM session"} { // what is read stays as it is until the end
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
func copyPages(ctx context.Context, from *sqlite.Conn, to string) error {
	target, err := sqlite.OpenConn(to, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	b, err := sqlite.NewBackup(target, "main", from, "main")
	for more := err == nil; more; {
		if more, err = b.Step(1 << 10); err == nil {
			err = ctx.Err()
		}
		more = more && err == nil
	}
	if b != nil {
		err = errors.Join(err, b.Close())
	}
	return errors.Join(err, target.Close())
}

// removeDatabase removes a database that is not whole, with what SQLite keeps beside it.
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
	db.SetInterrupt(ctx.Done())
	for _, table := range []string{"module", "func", "block", "inst"} {
		if columns, err := db.columns(table); err != nil || len(columns) == 0 {
			return "", errors.Join(err, fmt.Errorf("%s: no table %s to count for: `chop disasm` has not run", path, table))
		}
	}
	if err := db.refuseTriggers("module_annot", "func_annot", "block_annot", "inst_annot"); err != nil {
		return "", err
	}
	end, err := sqlitex.ImmediateTransaction(db.Conn)
	if err != nil {
		return "", explain(path, err)
	}
	defer end(&err)
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

// places counts the samples of the sessions asked for by module and address there.
func (db *database) places(ctx context.Context, out *output) (hits map[place]int64, samples int64, err error) {
	modules := map[string]int64{}
	err = db.each("SELECT rowid, name FROM module", func(s *sqlite.Stmt) error {
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

// annotate writes the counts. A block's is the sum of its instructions', a function's that of its blocks, a module's that of
// its functions; scores are shares of all samples that were counted, as `chop annotate` computes them.
func (db *database) annotate(hits map[place]int64) (total int64, err error) {
	type row struct{ inst, block, fn, module, count int64 }
	var rows []row
	err = db.each(`SELECT inst.rowid, inst.addr, block.rowid, func.rowid, func.module_id FROM inst
		JOIN block ON block.rowid = inst.block_id JOIN func ON func.rowid = block.func_id ORDER BY inst.rowid`,
		func(s *sqlite.Stmt) error {
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

// fill replaces the rows of an annotation table. That of instructions may have columns for the module, too.
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
	for _, id := range ids {
		args := []any{id, counts[id], float64(counts[id]) / float64(total)}
		if withModule {
			args = append(args, modules[id])
		}
		if err := explain(db.path, sqlitex.Execute(db.Conn, insert, &sqlitex.ExecOptions{Args: args})); err != nil {
			return err
		}
	}
	return nil
}
