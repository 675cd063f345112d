package debuginfod

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseNetrc(t *testing.T) {
	for text, want := range map[string]map[string]login{
		"": {},
		"machine a.org login u password p\nmachine B.org\n\tlogin v\n\tpassword\nq\n": {"a.org": {"u", "p"}, "b.org": {"v", "q"}},
		"machine a.org login u password p machine a.org login v password q":           {"a.org": {"u", "p"}},
		"default login u password p\n":                                                {},
		"machine a login u password p\ndefault login v password q\n":                  {"a": {"u", "p"}},
		"# machine a login u password p\nmachine b account x password #p\n":           {"b": {"", "#p"}},
		"machine a login u password p\nmacdef init\nmachine b login x password y\n\nmachine c login v password q": {
			"a": {"u", "p"}, "c": {"v", "q"}},
		"machine machine login login password password": {"machine": {"login", "password"}},
		"machine":         {},
		"machine a login": {},
	} {
		if got := parseNetrc(text); !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestLogIn sends passwords only where nobody else can read them, and only to the very host.
func TestLogIn(t *testing.T) {
	logins := parseNetrc("machine a.org login u password p machine 127.0.0.1 login l password q")
	for url, want := range map[string]string{
		"https://a.org/x":         "u:p",
		"https://A.org:444/x":     "u:p",
		"http://a.org/x":          "",
		"https://b.a.org/x":       "",
		"https://a.org.evil/x":    "",
		"https://v:w@a.org/x":     "", // net/http sends that of the URL
		"http://127.0.0.1:9000/x": "l:q",
	} {
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		logIn(req, logins)
		user, password, ok := req.BasicAuth()
		if got := user + ":" + password; ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// TestNetrc asks a store that wants a login, and a debuginfod server, which is not given that.
func TestNetrc(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write(debugELF(testID))
	}
	netrc := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(netrc, []byte("machine 127.0.0.1 login u password p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, handler)
	if !strings.HasPrefix(s.URL, "http://127.0.0.1:") {
		t.Fatalf("the server is at %s", s.URL)
	}
	for _, c := range []struct {
		name string
		opt  Options
		want Outcome
	}{
		{"a store", Options{Stores: []string{s.URL}, Off: true, Netrc: netrc}, Found},
		{"a store, no file", Options{Stores: []string{s.URL}, Off: true, Netrc: netrc + ".no"}, Failed},
		{"debuginfod", Options{URLs: []string{s.URL}, Netrc: netrc}, Failed},
	} {
		c.opt.Retries = -1
		if r := newWorld(t, c.opt).Fetch(context.Background(), testID, Debuginfo); r.Outcome != c.want {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestRedirectElsewhere follows no redirection to another host without TLS, where anyone on the way could take part.
func TestRedirectElsewhere(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if port, ok := strings.CutPrefix(r.Host, "127.0.0.1:"); ok {
			http.Redirect(w, r, "http://localhost:"+port+r.URL.Path, http.StatusFound)
			return
		}
		w.Write(debugELF(testID))
	})
	r := newWorld(t, Options{Stores: []string{s.URL}, Off: true, Retries: -1}).Fetch(context.Background(), testID, Debuginfo)
	if r.Outcome != Failed || !strings.Contains(r.Why, "another host without TLS") {
		t.Errorf("%+v", r)
	}
}

func FuzzNetrc(f *testing.F) {
	f.Add("machine a login u password p\nmacdef m\nx\n\ndefault login v")
	f.Fuzz(func(t *testing.T, text string) {
		for machine, l := range parseNetrc(text) {
			if machine == "" || l == (login{}) || strings.ContainsAny(machine+l.user+l.password, " \t\n") {
				t.Errorf("%q: %q %q", text, machine, l)
			}
		}
	})
}
