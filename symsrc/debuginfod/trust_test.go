package debuginfod

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// nobody is the user of that name: none of ours.
const nobody = 65534

// TestForeignFile takes no file of the cache that another user made, unless that is who keeps the cache.
func TestForeignFile(t *testing.T) {
	if os.Geteuid() != 0 || runtime.GOOS == "windows" {
		t.Skip("only root can make files of another user")
	}
	for _, keeper := range []int{0, nobody, nobody + 1} {
		c := &cache{dir: t.TempDir()}
		k := key{testID, Debuginfo}
		if err := os.Mkdir(filepath.Dir(c.path(k)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.path(k), debugELF(testID), 0o644); err != nil {
			t.Fatal(err)
		}
		c.now = (&clock{}).now
		if h := c.look(k); h.elf == nil {
			t.Fatalf("the own file is not taken: %s", h.note)
		}
		for path, uid := range map[string]int{c.path(k): nobody, c.dir: keeper} {
			if err := os.Chown(path, uid, uid); err != nil {
				t.Fatal(err)
			}
		}
		if h := c.look(k); (h.elf != nil) != (keeper == nobody) || h.elf == nil && !strings.Contains(h.note, "another user") {
			t.Errorf("kept by %d: %+v", keeper, h)
		}
	}
}

// TestControlFIFO is not held up by a control file without a writer.
func TestControlFIFO(t *testing.T) {
	c := &cache{dir: t.TempDir()}
	if err := mkfifo(filepath.Join(c.dir, cacheMiss.name)); err != nil {
		t.Skip("no FIFO: ", err)
	}
	if got := c.control(cacheMiss); got.Seconds() != float64(cacheMiss.preset) {
		t.Errorf("%v", got)
	}
}

// TestNoDowngrade follows no redirection that gives up TLS.
func TestNoDowngrade(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(good))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+r.URL.Path, http.StatusFound)
	}))
	defer secure.Close()
	w := newWorld(t, Options{URLs: []string{secure.URL}})
	w.begin.Do(w.connect)
	w.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	r := w.Fetch(context.Background(), testID, Debuginfo)
	if r.Outcome != Failed || !strings.Contains(r.Why, "redirected from https") {
		t.Errorf("%+v", r)
	}
}
