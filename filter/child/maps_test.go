//go:build linux || darwin

package child

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestMaps asks for maps while a command with a child of its own lives, and after their end.
func TestMaps(t *testing.T) {
	if _, err := os.Stat("/proc/self/maps"); err != nil {
		t.Skip("no /proc: ", err)
	}
	in, stop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m := NewMaps()
	if m.Of(1) != nil || len(m.All()) != 0 {
		t.Error("maps before the start")
	}
	done := make(chan int)
	go func() {
		status, _ := Run(context.Background(), Options{
			Argv: []string{"sh", "-c", "echo x; cat; exit 3"}, New: newFilter, Stdin: in, Stdout: out, Stderr: out, Maps: m,
		})
		done <- status
	}()
	var all []Snapshot
	for len(all) < 2 || !bytes.Contains(all[0].Text, []byte("/cat")) && !bytes.Contains(all[0].Text, []byte("/coreutils")) {
		all = m.All()
	}
	for _, s := range all {
		if text := string(m.Of(s.PID)); !strings.Contains(text, " r-xp ") {
			t.Errorf("process %d: %q", s.PID, text)
		}
	}
	in.Close()
	stop.Close()
	if status := <-done; status != 3 {
		t.Errorf("status %d", status)
	}
	for _, s := range all { // they are gone
		if text := string(m.Of(s.PID)); !strings.Contains(text, " r-xp ") {
			t.Errorf("process %d, after its end: %q", s.PID, text)
		}
	}
	if m.Of(os.Getpid()) != nil {
		t.Error("maps of a process that is no descendant")
	}
}

// TestMapsOfCrash runs a program that is gone as soon as it has printed an address of its own.
func TestMapsOfCrash(t *testing.T) {
	if _, err := os.Stat("/proc/self/maps"); err != nil {
		t.Skip("no /proc: ", err)
	}
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m := NewMaps()
	// What it does before it crashes takes longer than the first look, as in any program that comes to do something.
	status, err := Run(context.Background(), Options{
		Argv: []string{"sh", "-c", "echo header; sleep 0.1; echo address; kill -9 $$"}, New: newFilter,
		Stdin: out, Stdout: out, Stderr: out, Maps: m,
	})
	if status != 128+9 || err != nil {
		t.Fatal(status, err)
	}
	if all := m.All(); len(all) == 0 || !strings.Contains(string(all[len(all)-1].Text), " r-xp ") {
		t.Errorf("nothing is kept of %d processes", len(all))
	}
}
