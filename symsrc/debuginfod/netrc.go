package debuginfod

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// maxNetrc bounds what is read of a netrc file, in bytes.
const maxNetrc = 1 << 20

// login is what a netrc file has for a machine.
type login struct{ user, password string }

// readNetrc returns the logins of the file by the names of their machines, in lower case; none if the file cannot be read.
func readNetrc(path string) map[string]login {
	if fi, err := os.Stat(path); path == "" || err != nil || !fi.Mode().IsRegular() { // a pipe might never be written to
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNetrc))
	if err != nil {
		return nil
	}
	return parseNetrc(string(text))
}

// parseNetrc reads a netrc file (netrc(5), and .netrc in the manual of GNU inetutils): words with spaces between them, and macros that end
// at an empty line. The first entry of a machine counts. The entry `default` is not for stores: it would send a password to any host.
func parseNetrc(text string) map[string]login {
	logins := make(map[string]login)
	machine, macro := "", false
	var l login
	end := func() {
		if _, known := logins[machine]; machine != "" && !known && l != (login{}) {
			logins[machine] = l
		}
		machine, l = "", login{}
	}
	key := "" // whose value comes next, maybe on the next line
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if macro {
			macro = len(words) > 0
			continue
		}
	words:
		for _, word := range words {
			switch key {
			case "machine":
				machine = strings.ToLower(word)
			case "login":
				l.user = word
			case "password":
				l.password = word
			}
			if key != "" {
				key = ""
				continue
			}
			switch {
			case word == "machine":
				end()
				key = word
			case word == "default":
				end()
			case word == "macdef":
				macro = true
				break words
			case word[0] == '#':
				break words
			case word == "login", word == "password", word == "account":
				key = word
			}
		}
	}
	end()
	return logins
}

// logIn adds the login of the request's host. Passwords go over TLS only, or to this machine; one in the URL comes first.
func logIn(req *http.Request, logins map[string]login) {
	l, ok := logins[strings.ToLower(req.URL.Hostname())]
	if ok && req.URL.User == nil && req.Header.Get("Authorization") == "" && (req.URL.Scheme == "https" || isLoopback(req.URL)) {
		req.SetBasicAuth(l.user, l.password)
	}
}

// isLoopback reports whether a URL is of this machine.
func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
