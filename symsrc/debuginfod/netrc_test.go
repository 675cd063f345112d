package debuginfod

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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
	logins := parseNetrc("machine a.org login u password p machine 127.0.0.1 login l password q machine c.org login u password p")
	tokens := (&Client{}).readTokens("c.org=t1 D.org:444=t2=")
	for url, want := range map[string]string{
		"https://a.org/x":         "u:p",
		"https://A.org:444/x":     "u:p",
		"http://a.org/x":          "",
		"https://b.a.org/x":       "",
		"https://a.org.evil/x":    "",
		"https://v:w@a.org/x":     "", // net/http sends that of the URL
		"http://127.0.0.1:9000/x": "l:q",
		"https://c.org/x":         "Bearer t1",
		"https://v:w@c.org/x":     "",
		"http://c.org/x":          "",
		"https://d.org:444/x":     "Bearer t2=",
		"https://d.org/x":         "",
	} {
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		logIn(req, logins, tokens)
		user, password, ok := req.BasicAuth()
		got := user + ":" + password
		if !ok {
			got = req.Header.Get("Authorization")
		}
		if got != want {
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

// TestSecretsStay sends to a host that a server redirects to, and to another port, nothing of what was meant for the server, and to the server
// itself all of it.
func TestSecretsStay(t *testing.T) {
	headers := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(headers, []byte("X-Token: secret\nAuthorization: Bearer secret\nUser-Agent: secret\nCookie: secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got atomic.Pointer[http.Header]
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		got.Store(&h)
		w.Write(debugELF(testID))
	})
	elsewhere := true
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case elsewhere:
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
		case !strings.HasPrefix(r.URL.Path, "/moved"):
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusFound)
		default:
			other.Config.Handler.ServeHTTP(w, r)
		}
	})
	tokens := func(name string) string {
		if name == tokensName {
			return strings.TrimPrefix(s.URL, "http://") + "=secret"
		}
		return ""
	}
	for _, elsewhere = range []bool{true, false} {
		for name, o := range map[string]Options{"debuginfod": {URLs: []string{s.URL}, HeadersFile: headers}, "store": {Stores: []string{s.URL}, Off: true, Environ: tokens}} {
			r := newWorld(t, o).Fetch(context.Background(), testID, Debuginfo)
			if h := *got.Load(); r.Outcome != Found || strings.Contains(fmt.Sprint(h), "secret") == elsewhere || h.Get("Accept-Encoding") != "gzip" {
				t.Errorf("%s, elsewhere %v: %+v, with %v", name, elsewhere, r, h)
			}
		}
	}
}

// TestTokensAreNotTold reports a token without a host, and does not tell it.
func TestTokensAreNotTold(t *testing.T) {
	w := newWorld(t, Options{URLs: []string{"http://127.0.0.1:1"}})
	if tokens := w.readTokens("secret =secret a.org= b.org=x"); len(tokens) != 1 || tokens["b.org"] != "x" {
		t.Errorf("%v", tokens)
	}
	if said := w.warned(); !strings.Contains(said, tokensName) || strings.Contains(said, "secret") {
		t.Errorf("%q", said)
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
