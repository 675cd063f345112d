package worker

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestAgedOut takes up logs of which the stream has lost a part: what was kept counts only where nothing came after it, or all of
// that is there, since modules may have changed; and what is lost is reported.
func TestAgedOut(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	run := func(logs map[string]string, lines map[string]int) (said string, last map[string]string) {
		for _, pid := range []string{"1", "2", "3", "4"} {
			publish(t, url, pid, logs[pid])
		}
		output, stop := inProcess(t, url, nil)
		last = map[string]string{}
		for pid, n := range lines {
			last[pid] = annotated(t, js, "h."+pid, n)[n-1]
		}
		stop()
		return output.String(), last
	}
	text := strings.Repeat("text\n", 10)
	run(map[string]string{"1": contextLines + text, "2": contextLines + text, "3": contextLines, "4": contextLines + text},
		map[string]int{"1": 13, "2": 13, "3": 3, "4": 13})
	kv, err := js.KeyValue(t.Context(), "d-LOGS")
	if err != nil {
		t.Fatal(err)
	}
	first, err := kv.Get(t.Context(), "key.h.1")
	if err != nil {
		t.Fatal(err)
	}
	fourth, err := kv.Get(t.Context(), "key.h.4")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "LOGS")
	if err != nil {
		t.Fatal(err)
	}
	// Another binary takes the place of the first one; what was kept last is as old as if the worker had been killed.
	run(map[string]string{"1": strings.ReplaceAll(contextLines, "a.so", "b.so"), "3": text, "4": text}, map[string]int{"1": 16, "3": 13, "4": 23})
	for _, old := range []jetstream.KeyValueEntry{first, fourth} {
		if _, err := kv.Put(t.Context(), old.Key(), old.Value()); err != nil {
			t.Fatal(err)
		}
	}
	if err := kv.Delete(t.Context(), "key.h.3"); err != nil {
		t.Fatal(err)
	}
	// Of 1 all is lost, of 2 all before the place that was kept, of 3 and 4 a part.
	for pid, keep := range map[string]uint64{"1": 0, "2": 0, "3": 5, "4": 5} {
		if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("*.logs.h."+pid), jetstream.WithPurgeKeep(keep)); err != nil {
			t.Fatal(err)
		}
	}
	said, last := run(map[string]string{"1": frameLine, "2": frameLine, "3": frameLine, "4": frameLine},
		map[string]int{"1": 17, "2": 14, "3": 14, "4": 24})
	for pid, whole := range map[string]bool{"1": false, "2": true, "3": false, "4": false} {
		if named := strings.Contains(last[pid], " a.so@10 "); named != whole {
			t.Errorf("the frame of %s is %q", pid, last[pid])
		}
		if told := strings.Contains(said, "has aged out of the stream: its modules are lost process=h."+pid+"\n"); told == whole {
			t.Errorf("of %s it is said: %v\n%s", pid, told, said)
		}
	}
}
