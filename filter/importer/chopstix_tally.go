package importer

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
)

// tally sums up the samples of a database by process and address. The sums are in a table of SQLite's own temporary database,
// which is in memory as far as it fits into a cache, and in a file that has no name beyond that.
type tally struct {
	db      *database
	out     *output
	width   int    // values of an address: how many samples, and the events
	samples string // what reads them
	insert  string
	fetch   string

	// What is not in the table yet: the values of addresses[i] are values[width*i:][:width].
	places    map[processAddress]int
	addresses []processAddress
	values    []int64
	limit     int
}

type processAddress struct{ pid, ip int64 }

// maxTallyBytes is about how much memory is used before sums go into the table.
const maxTallyBytes = 32 << 20

func newTally(db *database, out *output, events []string) *tally {
	t := &tally{db: db, out: out, width: len(events) + 1, places: map[processAddress]int{}}
	t.limit = maxTallyBytes / (64 + 8*t.width)
	var read, columns, marks, sums strings.Builder
	for i, e := range events {
		fmt.Fprintf(&read, ", %s", quoted(e))
		fmt.Fprintf(&columns, ", e%d", i)
		fmt.Fprintf(&marks, ", ?%d", i+4)
		fmt.Fprintf(&sums, ", e%d = e%d + excluded.e%d", i, i, i)
	}
	t.samples = "SELECT pid, ip" + read.String() + " FROM sample"
	t.insert = "INSERT INTO temp.tally (pid, ip, n" + columns.String() + ") VALUES (?1, ?2, ?3" + marks.String() +
		") ON CONFLICT (pid, ip) DO UPDATE SET n = n + excluded.n" + sums.String()
	t.fetch = "SELECT ip, n" + columns.String() + " FROM temp.tally WHERE pid = ?"
	return t
}

// read sums up the samples of sessions, and adds to these the processes that have samples and no session.
func (t *tally) read(all []sessions) ([]sessions, error) {
	columns := strings.Repeat(", e%d", t.width-1)
	numbers := make([]any, t.width-1)
	for i := range numbers {
		numbers[i] = i
	}
	create := fmt.Sprintf("CREATE TEMP TABLE tally (pid, ip, n"+columns+", PRIMARY KEY (pid, ip)) WITHOUT ROWID", numbers...)
	for _, statement := range []string{create, "SAVEPOINT tally"} {
		if err := t.db.each(statement, nil); err != nil {
			return nil, err
		}
	}
	wanted := map[int64]bool{}
	for i := range all {
		wanted[all[i].pid] = true
	}
	chosen := t.out.opt.chooses()
	_ = t.db.each("SELECT max(rowid) FROM sample", func(s *sqlite.Stmt) error { // only to show how far it is
		t.out.expect(s.ColumnInt64(0))
		return nil
	})
	done, rows, row := t.out.done, int64(0), make([]int64, t.width)
	err := t.db.each(t.samples, func(s *sqlite.Stmt) error {
		if rows++; rows%(1<<14) == 0 {
			t.out.reach(done + rows)
		}
		at := processAddress{s.ColumnInt64(0), s.ColumnInt64(1)}
		if chosen && !wanted[at.pid] {
			return nil
		}
		row[0] = 1
		for i := 1; i < t.width; i++ {
			row[i] = s.ColumnInt64(i + 1) // 0 where a sample is older than the event's column
		}
		return t.add(at, row)
	})
	if err == nil {
		err = t.flush()
	}
	if err == nil && !chosen {
		all, err = t.others(all, wanted)
	}
	if err == nil {
		err = t.db.each("RELEASE tally", nil)
	}
	_ = t.db.each("SELECT count(*) FROM temp.tally", func(s *sqlite.Stmt) error {
		t.out.expect(s.ColumnInt64(0))
		return nil
	})
	return all, err
}

// others adds the processes with samples that have no session.
func (t *tally) others(all []sessions, known map[int64]bool) ([]sessions, error) {
	samples, processes := int64(0), 0
	err := t.db.each("SELECT pid, sum(n) FROM temp.tally GROUP BY pid", func(s *sqlite.Stmt) error {
		pid := s.ColumnInt64(0)
		if known[pid] {
			return nil
		}
		samples += s.ColumnInt64(1)
		if processes++; processes <= maxSessions {
			all = append(all, sessions{pid: pid})
		}
		return nil
	})
	if processes > 0 {
		t.out.note("%s: %d samples are of processes without one of the sessions that were read, %d of them", t.db.path, samples, processes)
	}
	if processes > maxSessions {
		t.out.note("%s: only the samples of %d of them are shown", t.db.path, maxSessions)
	}
	return all, err
}

// add adds the values of a sample.
func (t *tally) add(at processAddress, values []int64) error {
	i, ok := t.places[at]
	if !ok {
		if len(t.addresses) >= t.limit {
			if err := t.flush(); err != nil {
				return err
			}
		}
		i = len(t.addresses)
		t.places[at] = i
		t.addresses = append(t.addresses, at)
		t.values = append(t.values, values...)
		return nil
	}
	for k, v := range values {
		t.out.sum(&t.values[i*t.width+k], v)
	}
	return nil
}

// flush adds what was summed up to the table.
func (t *tally) flush() error {
	insert, err := t.db.Prepare(t.insert)
	for i := 0; err == nil && i < len(t.addresses); i++ {
		insert.BindInt64(1, t.addresses[i].pid)
		insert.BindInt64(2, t.addresses[i].ip)
		for k, v := range t.values[i*t.width:][:t.width] {
			insert.BindInt64(k+3, v)
		}
		if _, err = insert.Step(); err == nil {
			err = insert.Reset()
		}
	}
	clear(t.places)
	t.addresses, t.values = t.addresses[:0], t.values[:0]
	return explain(t.db.path, err)
}

// each visits the sums of a process; those with the most samples first where that is asked for.
func (t *tally) each(pid int64, sorted bool, visit func(*sampled) error) error {
	a := &sampled{values: make([]int64, t.width)}
	query := t.fetch
	if sorted {
		query += " ORDER BY n DESC, ip < 0, ip"
	}
	return t.db.each(query, func(s *sqlite.Stmt) error {
		a.ip = uint64(s.ColumnInt64(0))
		for i := range a.values {
			if a.values[i] = s.ColumnInt64(i + 1); s.ColumnType(i+1) == sqlite.TypeFloat { // what sums of integers become
				t.out.note(beyondNote)
			}
		}
		return visit(a)
	}, pid)
}
