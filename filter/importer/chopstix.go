package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"qss-filter/symsrc"
)

// chopstix reads a ChopStiX database: sessions with the maps that their processes had at the start, and samples.
type chopstix struct{ path string }

// newChopStiX takes a database, or a directory with one.
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

// session is a run of a program.
type session struct {
	number int
	pid    int64
	cmd    string
	space  *space
}

// sampled is an address with its samples: how many, and the sums of the events.
type sampled struct {
	ip     uint64
	values []int64
}

// read writes the samples of each session, and counts them in the database if that is asked for.
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
	db.SetInterrupt(ctx.Done())
	events, err := db.events()
	if err != nil {
		return err
	}
	sessions, err := db.sessions(&out.opt)
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
	for i := range sessions {
		s := &sessions[i]
		list := &sampleList{out: out, session: s, kinds: kinds, static: static, profile: profile}
		samples, err := db.samples(s.pid, events)
		list.write(ctx, samples)
		if err != nil {
			return err
		}
	}
	return nil
}

// eventKind is the kind of an event's values: perf counts clocks in nanoseconds.
func eventKind(event string) ValueKind {
	if strings.HasSuffix(event, "-clock") {
		return ValueKind{event, "nanoseconds"}
	}
	return ValueKind{event, "count"}
}

// events are the columns of the sample table beyond the fixed ones.
func (db *database) events() ([]string, error) {
	names, err := db.columns("sample")
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"ip", "pid", "tid", "time"}, name)
	}), err
}

// sessions gives the sessions asked for with their maps.
func (db *database) sessions(o *Options) (all []session, err error) {
	number := 0
	err = db.each("SELECT pid, cmd FROM session ORDER BY rowid", func(s *sqlite.Stmt) error {
		number++
		one := session{number: number, pid: s.ColumnInt64(0), cmd: s.ColumnText(1)}
		if (o.Session == 0 || o.Session == number) && (o.PID == 0 || o.PID == one.pid) {
			all = append(all, one)
		}
		return nil
	})
	if err == nil && len(all) == 0 && (o.Session != 0 || o.PID != 0) {
		return nil, fmt.Errorf("%s: no such session: it has %d", db.path, number)
	}
	for i := range all {
		if err == nil {
			all[i].space, err = db.space(all[i].pid)
		}
	}
	return all, err
}

// space reads the maps of a process. Addresses are signed there; the offsets in the files are not.
func (db *database) space(pid int64) (*space, error) {
	var all []mapping
	err := db.each("SELECT addr_begin, addr_end, perm, path FROM map WHERE pid = ? ORDER BY rowid", func(s *sqlite.Stmt) error {
		m := mapping{start: uint64(s.ColumnInt64(0)), end: uint64(s.ColumnInt64(1)), perm: s.ColumnText(2), path: s.ColumnText(3)}
		if m.end > m.start && len(m.perm) >= 3 {
			m.path = cmp.Or(m.path, "[anon]")
			all = append(all, m)
		}
		return nil
	}, pid)
	return newSpace(all, noOffsets), err
}

// samples sums up the samples of a process by address, the most frequent first.
func (db *database) samples(pid int64, events []string) (all []sampled, err error) {
	query := "SELECT ip, COUNT(*)"
	for _, e := range events {
		query += ", SUM(" + quoted(e) + ")"
	}
	err = db.each(query+" FROM sample WHERE pid = ? GROUP BY ip", func(s *sqlite.Stmt) error {
		one := sampled{ip: uint64(s.ColumnInt64(0))}
		for i := range len(events) + 1 {
			one.values = append(one.values, s.ColumnInt64(i+1)) // 0 where a sample is older than the event's column
		}
		all = append(all, one)
		return nil
	}, pid)
	slices.SortFunc(all, func(a, b sampled) int {
		return cmp.Or(cmp.Compare(b.values[0], a.values[0]), cmp.Compare(a.ip, b.ip))
	})
	return all, err
}

// sampleList writes the samples of one session.
type sampleList struct {
	out     *output
	session *session
	kinds   []ValueKind
	static  map[string][]function
	profile *Profile
}

func (l *sampleList) write(ctx context.Context, samples []sampled) {
	total := make([]int64, len(l.kinds))
	for i := range samples {
		for k, v := range samples[i].values {
			total[k] += v
		}
	}
	s := l.session
	l.out.printf("session %d: pid %d, %d samples: %s\n", s.number, s.pid, total[0], plain(s.cmd))
	for _, k := range l.kinds {
		l.out.printf("%12s       %%  ", columnName(k))
	}
	l.out.printf("address\n")
	for i := range samples {
		l.row(ctx, &samples[i], total)
	}
	l.out.printf("\n")
}

// row writes an address: its values, and where it lies. The address of a sample is that of an instruction.
func (l *sampleList) row(ctx context.Context, a *sampled, total []int64) {
	for k, v := range a.values {
		l.out.printf("%12d %6.2f%%  ", v, percent(v, total[k]))
	}
	s := l.session.space
	m := s.find(a.ip)
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
			l.out.printf("#0 %#x  (%s+%#x) [chop: %s+%#x]\n", a.ip, plain(module), off, plain(symsrc.Demangle(name)), off-f.first)
		} else {
			l.out.printf("#0 %#x  (%s+%#x)\n", a.ip, plain(module), off)
		}
	}
	if l.profile == nil {
		return
	}
	call := l.out.callAt(ctx, module, m, a.ip, off, ok)
	if len(call.Frames) == 0 && name != "" {
		call.Frames = []symsrc.Frame{{Func: symsrc.Demangle(name), Linkage: name}}
	}
	l.profile.Add([]Call{call}, a.values...)
}
