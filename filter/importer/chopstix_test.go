package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// copyOf copies a sample database into a directory of its own.
func copyOf(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "chopstix", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// execute runs SQL on a database, with SQLite as a program would.
func execute(t *testing.T, path string, statements ...string) (rows []string) {
	t.Helper()
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range statements {
		err := (&database{conn, path}).each(s, func(s *sqlite3.Stmt) error {
			var fields []string
			for i := range s.ColumnCount() {
				fields = append(fields, s.ColumnText(i))
			}
			rows = append(rows, strings.Join(fields, " "))
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return rows
}

// TestUnusableDatabases checks that what cannot be read is said, and nothing is changed or left behind.
func TestUnusableDatabases(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, path string)
		want   string
	}{
		{"empty", func(t *testing.T, path string) { truncate(t, path, 0) }, "byte 0: not an SQLite database"},
		{"other file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("session.pid,cmd\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "byte 0: not an SQLite database"},
		{"header cut off", func(t *testing.T, path string) { truncate(t, path, 50) }, "byte 50: the header of the database is cut off"},
		{"cut off", func(t *testing.T, path string) { truncate(t, path, 100_000) }, "byte 100000: the database is cut off: 49 pages of 4096 bytes"},
		{"no samples", func(t *testing.T, path string) { execute(t, path, "DROP TABLE sample") }, "not a ChopStiX database: no table sample"},
		{"other maps", func(t *testing.T, path string) { execute(t, path, "ALTER TABLE map RENAME perm TO mode") }, "no table map with a column perm"},
		{"overwritten", func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copy(b[4096:], bytes.Repeat([]byte{0xa5}, len(b)-4096))
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "byte 0: the database is damaged"},
	} {
		for _, o := range []Options{{}, {WriteCounts: true}, {WriteCounts: true, InPlace: true}} {
			path := copyOf(t, "chop.db")
			c.change(t, path)
			before := read(t, path)
			o.Kind = "chopstix"
			_, err := lines(t, path, o)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", c.name, err)
			}
			unchanged(t, path, before)
		}
	}
}

func truncate(t *testing.T, path string, n int64) {
	t.Helper()
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unchanged checks that a database is as it was, and alone in its directory.
func unchanged(t *testing.T, path string, before []byte) {
	t.Helper()
	if !bytes.Equal(read(t, path), before) {
		t.Errorf("%s was changed", path)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%v beside the database", entries)
	}
}

// TestLockedDatabase checks what is said while another program writes, and that it can go on.
func TestLockedDatabase(t *testing.T) {
	path := copyOf(t, "chop.db")
	before := read(t, path)
	writer, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for _, s := range []string{"PRAGMA journal_mode = MEMORY", "BEGIN EXCLUSIVE"} {
		if err := writer.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []Options{{}, {WriteCounts: true}, {WriteCounts: true, InPlace: true}} {
		if _, err := lines(t, path, o); err == nil || !strings.Contains(err.Error(), "locked: another program is writing to it") {
			t.Errorf("%+v: %v", o, err)
		}
		unchanged(t, path, before)
	}
	if err := writer.Exec("COMMIT"); err != nil {
		t.Error(err)
	}
	if _, err := lines(t, path, Options{}); err != nil {
		t.Error(err)
	}
	unchanged(t, path, before)
}

// TestReadOnly checks that reading changes nothing, neither where a log is in use nor in a directory that cannot be written.
func TestReadOnly(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		path := copyOf(t, "chop.db")
		execute(t, path, "PRAGMA journal_mode = "+mode)
		before := read(t, path)
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		text, err := lines(t, path, Options{})
		if err != nil || strings.Count(text, "\n") != 36 {
			t.Errorf("%s: %v\n%s", mode, err, text)
		}
		unchanged(t, path, before)
	}
}

const (
	functionCounts = "SELECT name, count, round(score, 4) FROM func_annot JOIN func ON func.rowid = func_id ORDER BY count DESC"
	moduleCounts   = "SELECT name, count FROM module_annot JOIN module ON module.rowid = module_id ORDER BY count DESC"
	sums           = "SELECT (SELECT sum(count) FROM inst_annot), (SELECT sum(count) FROM block_annot)"
	instruction    = "SELECT inst.addr, count, module_name FROM inst_annot JOIN inst ON inst.rowid = inst_id ORDER BY count DESC LIMIT 1"
)

// TestWriteCounts compares the annotation tables with the counts of expected.tsv.
func TestWriteCounts(t *testing.T) {
	want := []string{"busy_hash 471 0.8263", "busy_sum 86 0.1509", "main 8 0.014", "cmp8 5 0.0088",
		"/usr/lib/libdemo-1.2.3.so 557", "/usr/apps/org.example.test/mainbin 13", "570 570", "4510 97 /usr/lib/libdemo-1.2.3.so"}
	for _, inPlace := range []bool{false, true} {
		path := copyOf(t, "chop.db")
		execute(t, path, "INSERT INTO func_annot VALUES (1, 1000, 0)") // of an earlier count
		before := read(t, path)
		target := path
		if !inPlace {
			target = strings.Replace(path, "chop.db", "chop.counts.db", 1)
		}
		text, err := lines(t, path, Options{WriteCounts: true, InPlace: inPlace})
		if err != nil || !strings.HasPrefix(text, target+": 570 of 600 samples") {
			t.Fatalf("%v\n%s", err, text)
		}
		if got := execute(t, target, functionCounts, moduleCounts, sums, instruction); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("in place %v:\n%s", inPlace, strings.Join(got, "\n"))
		}
		if check := execute(t, target, "PRAGMA integrity_check"); check[0] != "ok" {
			t.Error(check)
		}
		if inPlace {
			continue
		}
		if !bytes.Equal(read(t, path), before) {
			t.Error("the database was changed, not the copy")
		}
		if _, err := lines(t, path, Options{WriteCounts: true}); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("a second copy over the first: %v", err)
		}
	}
}

// TestCountsFail checks that a count that fails half way leaves the tables as they were.
func TestCountsFail(t *testing.T) {
	path := copyOf(t, "chop.db")
	execute(t, path, "INSERT INTO inst_annot VALUES (1, 1, 'x', 7, 0.5)", "DROP TABLE func_annot",
		"CREATE TABLE func_annot (func_id, count CONSTRAINT few CHECK (count < 400), score)")
	if _, err := lines(t, path, Options{WriteCounts: true, InPlace: true}); err == nil || !strings.Contains(err.Error(), "few") {
		t.Errorf("%v", err)
	}
	if got := execute(t, path, "SELECT inst_id, count FROM inst_annot", "SELECT count(*) FROM block_annot"); strings.Join(got, ",") != "1 7,0" {
		t.Error(got)
	}
	path = copyOf(t, "chop-64k.db")
	before := read(t, path)
	if _, err := lines(t, path, Options{WriteCounts: true, InPlace: true}); err == nil || !strings.Contains(err.Error(), "no table module to count for") {
		t.Errorf("%v", err)
	}
	unchanged(t, path, before)
}

// TestSessions checks the choice of sessions, negative addresses, the paths that anonymous mappings take over, and what no
// mapping has.
func TestSessions(t *testing.T) {
	path := copyOf(t, "chop-64k.db")
	execute(t, path, "INSERT INTO session VALUES (7, 'second')",
		"INSERT INTO map VALUES (7, 4194304, 4198400, 'r--p', '/bin/fixed'), (7, 4198400, 4202496, 'r-xp', '/bin/fixed'), "+
			"(7, 4202496, 4206592, 'rw-p', '/bin/fixed'), (7, 4206592, 4210688, 'rwxp', '/bin/fixed'), "+
			"(7, 140737488347136, 140737488351232, 'rw-p', '[stack]'), (7, -10485760, -10481664, '--xp', '[vsyscall]')",
		"INSERT INTO sample VALUES (4198401, 7, 7, 1, 5), (-10485759, 7, 7, 2, 5), (4206593, 7, 7, 3, NULL), (99, 7, 7, 4, 0)")
	want := `session 2: pid 7, 4 samples: second
     samples       %  task-clock/ns       %  address
           1  25.00%             0   0.00%  [unknown] + 0x63
           1  25.00%             5  50.00%  #0 0x401001  (/bin/fixed+0x401001)
           1  25.00%             0   0.00%  [anon] + 0x1
           1  25.00%             5  50.00%  [vsyscall] + 0x1

`
	for _, o := range []Options{{PID: 7}, {Session: 2}, {PID: 7, Session: 2}} {
		if got, err := lines(t, path, o); err != nil || got != want {
			t.Errorf("%+v: %v\n%s", o, err, got)
		}
	}
	if all, err := lines(t, path, Options{}); err != nil || !strings.HasSuffix(all, want) || !strings.HasPrefix(all, "session 1: pid 25820") {
		t.Errorf("%v\n%s", err, all)
	}
	if _, err := lines(t, path, Options{PID: 7, Session: 1}); err == nil || !strings.Contains(err.Error(), "no such session: it has 2") {
		t.Errorf("%v", err)
	}
}

// TestNamesOfTheDatabase checks that functions are named where only the database knows them.
func TestNamesOfTheDatabase(t *testing.T) {
	text, err := lines(t, filepath.Join("testdata", "chopstix", "chop.db"), Options{By: ByFunction})
	for _, want := range []string{" 471  78.50% ", "busy_hash\n", "[/usr/lib/x86_64-linux-gnu/libc.so.6]\n"} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v: no %q in\n%s", err, want, text)
		}
	}
}

// TestHostileSchema takes no view for a table: this one does not end.
func TestHostileSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chop.db")
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		"CREATE VIEW session AS WITH RECURSIVE n(pid, cmd) AS (SELECT 1, 'a' UNION ALL SELECT pid + 1, cmd FROM n) SELECT * FROM n",
		"CREATE TABLE map (pid, addr_begin, addr_end, perm, path)", "CREATE TABLE sample (ip, pid, tid, time)",
	} {
		if err := conn.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := lines(t, path, Options{Kind: "chopstix"}); err == nil || !strings.Contains(err.Error(), "no table session") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestTriggers says that nothing is written where statements of the database would run: these do not end.
func TestTriggers(t *testing.T) {
	path := copyOf(t, "chop.db")
	execute(t, path, "CREATE TRIGGER busy AFTER INSERT ON Func_Annot BEGIN "+
		"SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n); END")
	before := read(t, path)
	for _, inPlace := range []bool{true, false} {
		if _, err := lines(t, path, Options{WriteCounts: true, InPlace: inPlace}); err == nil || !strings.Contains(err.Error(), "trigger, busy") {
			t.Errorf("%v", err)
		}
		unchanged(t, path, before)
	}
}

// TestVirtualTable takes no table of an extension for one of the database.
func TestVirtualTable(t *testing.T) {
	path := copyOf(t, "chop.db")
	execute(t, path, "DROP TABLE session", "PRAGMA writable_schema = ON", // which writes it without the extension
		"INSERT INTO sqlite_schema VALUES ('table', 'session', 'session', 0, 'CREATE VIRTUAL TABLE session USING fts5(pid, cmd)')")
	if text, err := lines(t, path, Options{}); err == nil || !strings.Contains(err.Error(), "no table session") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestLongValues says that a value without measure is damage, and a name without measure no name.
func TestLongValues(t *testing.T) {
	path := copyOf(t, "chop.db")
	execute(t, path, "UPDATE func SET name = printf('%.*c', 100000, 'x') WHERE name = 'busy_hash'")
	if text, err := lines(t, path, Options{}); err != nil || len(text) > 100_000 || !strings.Contains(text, "[chop: busy_sum") || strings.Contains(text, "[chop: busy_hash") {
		t.Errorf("%v, %d bytes", err, len(text))
	}
	execute(t, path, "UPDATE session SET cmd = printf('%.*c', 20000000, 'x')")
	if _, err := lines(t, path, Options{}); err == nil || !strings.Contains(err.Error(), "longer than 16 MB") {
		t.Errorf("%v", err)
	}
}

// twoSessions makes a database with a process ID that had two sessions, whose library lay at different addresses.
func twoSessions(t *testing.T) string {
	path := copyOf(t, "chop-64k.db")
	execute(t, path, "DELETE FROM session", "DELETE FROM map", "DELETE FROM sample",
		"INSERT INTO session VALUES (7, 'first'), (8, 'other'), (7, 'second')",
		"INSERT INTO map VALUES (7, 0x7f0000000000, 0x7f0000001000, 'r--p', '/l.so'), (7, 0x7f0000001000, 0x7f0000002000, 'r-xp', '/l.so'), "+
			"(7, 0x7f0000090000, 0x7f0000091000, 'r-xp', '/same.so'), (7, -10485760, -10481664, '--xp', '[vsyscall]'), "+
			"(7, 0x7e0000000000, 0x7e0000001000, 'r--p', '/l.so'), (7, 0x7e0000001000, 0x7e0000002000, 'r-xp', '/l.so'), "+
			"(7, 0x7f0000001000, 0x7f0000002000, 'r-xp', '/other.so'), (7, 0x7f0000090000, 0x7f0000091000, 'r-xp', '/same.so'), "+
			"(7, -10485760, -10481664, '--xp', '[vsyscall]')",
		"INSERT INTO sample VALUES (0x7e0000001010, 7, 7, 1, 5), (0x7e0000001010, 7, 7, 2, 5), (0x7f0000001020, 7, 7, 3, 5), "+
			"(0x7f0000090030, 7, 7, 4, 5), (0x7e0000001010, 8, 8, 5, 5)")
	return path
}

// TestOneProcessID says that the samples of sessions with one process ID count once, each where it lies in the maps of all of
// them, and nowhere if these differ.
func TestOneProcessID(t *testing.T) {
	path := twoSessions(t)
	want := `sessions 1, 3: pid 7, 4 samples: first; second
     samples       %  task-clock/ns       %  address
           2  50.00%            10  50.00%  #0 0x7e0000001010  (/l.so+0x1010)
           1  25.00%             5  25.00%  [unknown] + 0x7f0000001020
           1  25.00%             5  25.00%  #0 0x7f0000090030  (/same.so+0x30)

`
	var said []string
	warn := func(s string) { said = append(said, s) }
	for _, o := range []Options{{PID: 7}, {Session: 1}, {Session: 3}} {
		o.Warn = warn
		if got, err := lines(t, path, o); err != nil || got != want {
			t.Errorf("%+v: %v\n%s", o, err, got)
		}
	}
	if all, err := lines(t, path, Options{Warn: warn}); err != nil || !strings.HasPrefix(all, want+"session 2: pid 8, 1 samples: other\n") {
		t.Errorf("%v\n%s", err, all)
	}
	if len(said) != 4 || !strings.Contains(said[0], "sessions 1, 3 have the process ID 7") {
		t.Errorf("%q", said)
	}
	if table, err := lines(t, path, Options{By: ByModule}); err != nil || !strings.Contains(table, "           2  40.00%            10  40.00%  /l.so\n") {
		t.Errorf("%v\n%s", err, table)
	}
	execute(t, path, "INSERT INTO map VALUES (7, 0x1000, 0x2000, 'r-xp', '/third.so')")
	if got, err := lines(t, path, Options{PID: 7}); err != nil || strings.Count(got, "[unknown]") != 3 {
		t.Errorf("maps of more sessions than there are: %v\n%s", err, got)
	}
}

// TestCountsOfOneProcessID holds that --write-counts counts the samples of such sessions once.
func TestCountsOfOneProcessID(t *testing.T) {
	path := copyOf(t, "chop.db")
	execute(t, path, "INSERT INTO session SELECT pid, 'again' FROM session", "INSERT INTO map SELECT * FROM map ORDER BY rowid")
	text, err := lines(t, path, Options{WriteCounts: true, InPlace: true})
	if err != nil || !strings.Contains(text, ": 570 of 600 samples lie in") || !strings.Contains(text, "sessions 1, 2: pid 25820, 600 samples") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestNoSession shows the samples of processes that have no session, and says so.
func TestNoSession(t *testing.T) {
	path := twoSessions(t)
	execute(t, path, "DELETE FROM session WHERE pid = 7 AND cmd = 'second'", "DELETE FROM session WHERE pid = 8",
		"INSERT INTO map VALUES (8, 0x7e0000001000, 0x7e0000002000, 'r-xp', '/eight.so')")
	var said []string
	text, err := lines(t, path, Options{Warn: func(s string) { said = append(said, s) }})
	if err != nil || !strings.Contains(text, "\nno session: pid 8, 1 samples: \n") || !strings.Contains(text, "(/eight.so+0x") && !strings.Contains(text, "/eight.so + ?") {
		t.Errorf("%v\n%s", err, text)
	}
	if len(said) != 1 || !strings.HasSuffix(said[0], "1 samples are of processes without one of the sessions that were read, 1 of them") {
		t.Errorf("%q", said)
	}
	if one, err := lines(t, path, Options{PID: 7}); err != nil || strings.Contains(one, "no session") {
		t.Errorf("%v\n%s", err, one)
	}
}

// TestGreatSums says that sums of events beyond 64 bits do not end the import, in memory and in the table.
func TestGreatSums(t *testing.T) {
	path := twoSessions(t)
	execute(t, path, "UPDATE sample SET [task-clock] = 9223372036854775807", "INSERT INTO sample VALUES (1, 8, 8, 1, 9e18), (1, 8, 8, 1, 9e300), (2, 8, 8, 1, 'x'), (3, 8, 8, 1, -5)")
	for _, limit := range []int{0, 1} {
		var said []string
		db, err := openDatabase(path, false)
		if err != nil {
			t.Fatal(err)
		}
		out := &output{}
		tally := newTally(db, out, []string{"task-clock"})
		if limit > 0 {
			tally.limit = limit
		}
		all, err := tally.read(nil)
		if err != nil || len(all) != 2 {
			t.Fatal(err, all)
		}
		var got []string
		for _, s := range all {
			if err := tally.each(s.pid, true, func(a *sampled) error {
				got = append(got, fmt.Sprintf("%d:%x:%d:%d", s.pid, a.ip, a.values[0], a.values[1]))
				return nil
			}); err != nil {
				t.Error(err)
			}
		}
		const most = "9223372036854775807"
		want := "7:7e0000001010:2:" + most + " 7:7f0000001020:1:" + most + " 7:7f0000090030:1:" + most +
			" 8:1:2:" + most + " 8:2:1:0 8:3:1:-5 8:7e0000001010:1:" + most
		if text := strings.Join(got, " "); text != want || !slices.Contains(out.notes, beyondNote) {
			t.Errorf("limit %d, %q: %s\nwant %s", limit, out.notes, text, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		text, err := lines(t, path, Options{Warn: func(s string) { said = append(said, s) }})
		if err != nil || !strings.Contains(text, " "+most+" ") || !slices.Contains(said, beyondNote) {
			t.Errorf("%v, %q\n%s", err, said, text)
		}
	}
}

// TestTally holds the sums of many addresses, more than are kept at once, against those of SQLite.
func TestTally(t *testing.T) {
	path := copyOf(t, "chop.db")
	want := execute(t, path, "SELECT ip, count(*), sum([task-clock]) FROM sample GROUP BY ip ORDER BY 2 DESC, ip")
	for _, limit := range []int{1, 7, 1 << 20} {
		db, err := openDatabase(path, false)
		if err != nil {
			t.Fatal(err)
		}
		tally := newTally(db, &output{}, []string{"task-clock"})
		tally.limit = limit
		all, err := tally.read(nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range all {
			err = errors.Join(err, tally.each(s.pid, true, func(a *sampled) error {
				got = append(got, fmt.Sprint(int64(a.ip), a.values[0], a.values[1]))
				return nil
			}))
		}
		if err := errors.Join(err, db.Close()); err != nil || !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, %d addresses, want %d", limit, err, len(got), len(want))
		}
	}
}

// TestLiveLog copies what is in a log that another program still writes to, and leaves out what it has not committed.
func TestLiveLog(t *testing.T) {
	path := copyOf(t, "chop.db")
	writer, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for _, s := range []string{"PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0",
		"INSERT INTO sample SELECT * FROM sample WHERE rowid <= 100", "BEGIN", "INSERT INTO sample SELECT * FROM sample"} {
		if err := writer.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Fatal("there is no log", err)
	}
	text, err := lines(t, path, Options{WriteCounts: true})
	if err != nil || !strings.Contains(text, " of 700 samples lie in") {
		t.Fatalf("%v\n%s", err, text)
	}
	target := strings.Replace(path, "chop.db", "chop.counts.db", 1)
	if got := execute(t, target, "SELECT count(*) FROM sample", "PRAGMA integrity_check"); strings.Join(got, " ") != "700 ok" {
		t.Error(got)
	}
	if got := execute(t, target, "SELECT sum(count) FROM inst_annot"); !strings.Contains(text, ": "+got[0]+" of 700") {
		t.Errorf("%v, and\n%s", got, text)
	}
	if err := writer.Exec("COMMIT"); err != nil {
		t.Error(err)
	}
}

// TestInterruptedCopy leaves nothing of a copy that was not finished.
func TestInterruptedCopy(t *testing.T) {
	path := copyOf(t, "chop.db")
	before := read(t, path)
	in, err := Detect(path, Options{WriteCounts: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := in.Lines(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	unchanged(t, path, before)
}
