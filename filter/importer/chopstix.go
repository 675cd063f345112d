package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// chopstix reads a ChopStiX database: sessions with the maps that their processes had at the start, and samples.
type chopstix struct{ path string }

// newChopStiX opens a database, or a directory with one.
func newChopStiX(path string) (reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return &chopstix{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if kind, err := kindOfFile(name); err == nil && kind == "chopstix" {
			found = append(found, name)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("%s: no ChopStiX database in it", path)
	case slices.Contains(found, filepath.Join(path, "chop.db")): // what chop calls it
		return &chopstix{filepath.Join(path, "chop.db")}, nil
	case len(found) > 1:
		return nil, fmt.Errorf("%s: several databases in it: name one of %s", path, strings.Join(found, ", "))
	}
	return &chopstix{found[0]}, nil
}

// sessions are the runs of programs with the same process ID. The database does not say which of them a sample belongs to.
type sessions struct {
	pid     int64
	numbers []int   // counted from 1
	rows    []int64 // in the table
	// spaces are their mappings, one for each session that has any.
	spaces []*space
}

// sampled is an address with the number of its samples and the sums of the events.
type sampled struct {
	ip     uint64
	values []int64
}

// read writes the samples of each session, and counts them in the database if Options.WriteCounts is set.
func (c *chopstix) read(ctx context.Context, out *output) error {
	if out.opt.WriteCounts {
		if err := c.writeCounts(ctx, out); err != nil {
			return err
		}
	}
	db, err := openDatabase(c.path, false)
	if err != nil {
		return err
	}
	err = c.sessions(ctx, out, db)
	return errors.Join(err, db.Close())
}

func (c *chopstix) sessions(ctx context.Context, out *output, db *database) error {
	db.SetInterrupt(ctx)
	events, err := db.events()
	if err != nil {
		return err
	}
	all, err := db.sessions(out)
	if err != nil {
		return err
	}
	kinds := []ValueKind{{"samples", "count"}}
	for _, e := range events {
		kinds = append(kinds, eventKind(e))
	}
	profile := out.wants(kinds...)
	static, err := db.functions()
	if err != nil {
		return err
	}
	t := newTally(db, out, events)
	if all, err = t.read(all); err != nil {
		return err
	}
	for i := range all {
		list := &sampleList{out: out, db: db, sessions: &all[i], tally: t, kinds: kinds, static: static, profile: profile}
		if err := list.write(ctx); err != nil {
			return err
		}
	}
	return nil
}

// eventKind returns the kind of an event's values: perf counts clocks in nanoseconds.
func eventKind(event string) ValueKind {
	if strings.HasSuffix(event, "-clock") {
		return ValueKind{event, "nanoseconds"}
	}
	return ValueKind{event, "count"}
}

// events returns the columns of the sample table except the fixed ones.
func (db *database) events() ([]string, error) {
	names, err := db.columns("sample")
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"ip", "pid", "tid", "time"}, name)
	}), err
}

// maxSessions bounds the sessions that are read.
const maxSessions = 1 << 16

// sessions returns the wanted sessions by process ID, in the order of the first session of each.
func (db *database) sessions(out *output) (all []sessions, err error) {
	number, place := 0, map[int64]int{}
	err = db.each("SELECT pid, rowid FROM session ORDER BY rowid LIMIT ?", func(s *sqlite3.Stmt) error {
		if number++; number > maxSessions {
			out.note("%s: only its first %d sessions are read", db.path, maxSessions)
			return nil
		}
		pid := s.ColumnInt64(0)
		i, ok := place[pid]
		if !ok {
			i = len(all)
			place[pid] = i
			all = append(all, sessions{pid: pid})
		}
		all[i].numbers, all[i].rows = append(all[i].numbers, number), append(all[i].rows, s.ColumnInt64(1))
		return nil
	}, maxSessions+1)
	if err != nil {
		return nil, err
	}
	o := &out.opt
	all = slices.DeleteFunc(all, func(s sessions) bool {
		return o.Session != 0 && !slices.Contains(s.numbers, o.Session) || o.PID != 0 && s.pid != o.PID
	})
	if len(all) == 0 && o.chooses() {
		return nil, fmt.Errorf("%s: no such session: it has %d", db.path, number)
	}
	for i := range all {
		if len(all[i].numbers) > 1 {
			out.note("%s: %s have the process ID %d: the database does not distinguish their samples, which count once", db.path, all[i].title(), all[i].pid)
		}
	}
	return all, nil
}

// title returns `session 1`, or `sessions 1, 2`.
func (s *sessions) title() string {
	switch len(s.numbers) {
	case 0:
		return "no session"
	case 1:
		return fmt.Sprintf("session %d", s.numbers[0])
	}
	var named []string
	for _, n := range s.numbers[:min(len(s.numbers), maxTitle)] {
		named = append(named, strconv.Itoa(n))
	}
	text := "sessions " + strings.Join(named, ", ")
	if more := len(s.numbers) - maxTitle; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// chooses reports whether only some sessions are wanted.
func (o *Options) chooses() bool { return o.Session != 0 || o.PID != 0 }

// maxTitle bounds the sessions of a process ID that are named.
const maxTitle = 8

// readSpaces reads the maps of sessions. Addresses are stored as signed numbers; offsets in files are not stored. The maps of a session
// are in the order of addresses: if several sessions have one process ID, a lower address begins the next one.
func (db *database) readSpaces(s *sessions, out *output) error {
	lists := []mappingList{{out: out}}
	last := uint64(0)
	err := db.each("SELECT addr_begin, addr_end, perm, path FROM map WHERE pid = ? ORDER BY rowid", func(row *sqlite3.Stmt) error {
		m := mapping{start: uint64(row.ColumnInt64(0)), end: uint64(row.ColumnInt64(1)), perm: row.ColumnText(2), path: row.ColumnText(3)}
		switch {
		case m.end <= m.start || len(m.perm) < 3:
			return nil
		case len(m.perm) > 8 || len(m.path) > maxPathLength:
			out.note("%s: invalid maps of process %d are left out", db.path, s.pid)
			return nil
		case m.start < last && len(lists) <= len(s.numbers) && len(s.numbers) > 1:
			lists = append(lists, mappingList{out: out})
		}
		last = m.start
		m.path = cmp.Or(m.path, "[anon]")
		lists[len(lists)-1].add(m)
		return nil
	}, s.pid)
	if len(lists) > max(len(s.numbers), 1) {
		out.note("%s: the maps of process %d are not in order, so it is not known which of its sessions they belong to", db.path, s.pid)
		lists = nil
	}
	for i := range lists {
		s.spaces = append(s.spaces, newSpace(lists[i].all, noOffsets))
	}
	return err
}

// sampleList writes the samples of the sessions of one process ID.
type sampleList struct {
	out *output
	db  *database
	*sessions
	tally   *tally
	kinds   []ValueKind
	static  map[string][]function
	profile *Profile
}

func (l *sampleList) write(ctx context.Context) error {
	total := make([]int64, len(l.kinds))
	err := l.tally.each(l.pid, false, func(a *sampled) error {
		for k, v := range a.values {
			l.out.sum(&total[k], v)
		}
		return nil
	})
	if err == nil {
		err = l.db.readSpaces(l.sessions, l.out)
	}
	if err != nil {
		return err
	}
	l.out.printf("%s: pid %d, %d samples: ", l.title(), l.pid, total[0])
	for i, row := range l.rows[:min(len(l.rows), maxTitle)] {
		err := l.db.each("SELECT cmd FROM session WHERE rowid = ?", func(s *sqlite3.Stmt) error {
			if i > 0 {
				l.out.printf("; ")
			}
			l.out.printf("%s", plain(s.ColumnText(0)))
			return nil
		}, row)
		if err != nil {
			return err
		}
	}
	l.out.printf("\n")
	for _, k := range l.kinds {
		l.out.printf("%12s       %%  ", columnName(k))
	}
	l.out.printf("address\n")
	n := 0
	err = l.tally.each(l.pid, true, func(a *sampled) error {
		l.row(ctx, a, total)
		l.out.read(1)
		if n++; n%(1<<10) == 0 {
			return l.out.failed(ctx)
		}
		return nil
	})
	l.out.printf("\n")
	l.spaces = nil
	return err
}

// row writes an address: its values and its place. The address of a sample is that of an instruction.
func (l *sampleList) row(ctx context.Context, a *sampled, total []int64) {
	for k, v := range a.values {
		l.out.printf("%12d %6.2f%%  ", v, percent(v, total[k]))
	}
	s, m := agreed(l.spaces, a.ip)
	module, off, ok := unknownModule, a.ip, false
	if m != nil {
		module = m.path
		off, ok = l.out.inModule(ctx, s, m, a.ip)
	}
	var name string
	switch {
	case !ok && m != nil:
		l.out.printf("%s + ? (%#x)\n", plain(module), a.ip)
	case module[0] != '/':
		l.out.printf("%s + %#x\n", plain(module), off)
	default:
		f := functionAt(l.static[module], off)
		if f != nil {
			name = f.name
			l.out.printf("#0 %#x  (%s+%#x) [chop: %s+%#x]\n", a.ip, plain(module), off, plain(demangle.Demangle(name)), off-f.first)
		} else {
			l.out.printf("#0 %#x  (%s+%#x)\n", a.ip, plain(module), off)
		}
	}
	if l.profile == nil {
		return
	}
	call := l.out.callAt(ctx, module, m, a.ip, off, ok)
	if call.assumed && len(call.Frames) > 0 {
		l.out.proof.refuse(&call, resolve.NotVerified(l.out.opt.Trust, call.Module.Name)) // samples are no stacks
	}
	if len(call.Frames) == 0 && name != "" {
		call.Frames = []symsrc.Frame{{Func: demangle.Demangle(name), Linkage: name}}
	}
	l.profile.Add([]Call{call}, a.values...)
}

// tally sums the samples of a database by process and address. The sums are in a table of SQLite's temporary database,
// which is in memory as long as it fits into a cache, and otherwise in an unnamed file.
type tally struct {
	db      *database
	out     *output
	width   int    // values of an address: the number of samples, and the events
	samples string // the query that reads them
	insert  string
	fetch   string

	// Sums that are not in the table yet: the values of addresses[i] are values[width*i:][:width].
	places    map[processAddress]int
	addresses []processAddress
	values    []int64
	limit     int
}

type processAddress struct{ pid, ip int64 }

// maxTallyBytes is the approximate memory that is used before sums are added to the table.
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

// read sums the samples of sessions, and adds the processes that have samples but no session.
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
	_ = t.db.each("SELECT max(rowid) FROM sample", func(s *sqlite3.Stmt) error { // only for the progress
		t.out.expect(s.ColumnInt64(0))
		return nil
	})
	done, rows, row := t.out.done, int64(0), make([]int64, t.width)
	err := t.db.each(t.samples, func(s *sqlite3.Stmt) error {
		if rows++; rows%(1<<14) == 0 {
			t.out.reach(done + rows)
		}
		at := processAddress{s.ColumnInt64(0), s.ColumnInt64(1)}
		if chosen && !wanted[at.pid] {
			return nil
		}
		row[0] = 1
		for i := 1; i < t.width; i++ {
			row[i] = s.ColumnInt64(i + 1) // 0 if a sample is older than the event's column
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
	_ = t.db.each("SELECT count(*) FROM temp.tally", func(s *sqlite3.Stmt) error {
		t.out.expect(s.ColumnInt64(0))
		return nil
	})
	return all, err
}

// others adds the processes with samples that have no session.
func (t *tally) others(all []sessions, known map[int64]bool) ([]sessions, error) {
	samples, processes := int64(0), 0
	err := t.db.each("SELECT pid, sum(n) FROM temp.tally GROUP BY pid", func(s *sqlite3.Stmt) error {
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

// flush adds the sums to the table.
func (t *tally) flush() error {
	insert, _, err := t.db.Prepare(t.insert)
	for i := 0; err == nil && i < len(t.addresses); i++ {
		err = errors.Join(insert.BindInt64(1, t.addresses[i].pid), insert.BindInt64(2, t.addresses[i].ip))
		for k, v := range t.values[i*t.width:][:t.width] {
			err = errors.Join(err, insert.BindInt64(k+3, v))
		}
		if err == nil {
			err = insert.Exec()
		}
	}
	err = errors.Join(err, insert.Close())
	clear(t.places)
	t.addresses, t.values = t.addresses[:0], t.values[:0]
	return explain(t.db.path, err)
}

// each visits the sums of a process, those with the most samples first if sorted is set.
func (t *tally) each(pid int64, sorted bool, visit func(*sampled) error) error {
	a := &sampled{values: make([]int64, t.width)}
	query := t.fetch
	if sorted {
		query += " ORDER BY n DESC, ip < 0, ip"
	}
	return t.db.each(query, func(s *sqlite3.Stmt) error {
		a.ip = uint64(s.ColumnInt64(0))
		for i := range a.values {
			if a.values[i] = s.ColumnInt64(i + 1); s.ColumnType(i+1) == sqlite3.FLOAT { // what sums of integers become
				t.out.note(beyondNote)
			}
		}
		return visit(a)
	}, pid)
}
