package debuginfod

import (
	"cmp"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode"
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

// tokensName is the variable with the tokens of stores: `HOST=TOKEN`, with spaces between them. A token is for the host that it names alone.
const tokensName = "QSS_FILTER_STORE_TOKENS"

// readTokens returns the tokens in the value of the variable by their hosts, perhaps with a port, in lower case.
func (c *Client) readTokens(text string) map[string]string {
	tokens := make(map[string]string)
	for _, word := range strings.Fields(text) {
		host, token, ok := strings.Cut(word, "=")
		if !ok || host == "" || token == "" || strings.ContainsFunc(token, unicode.IsControl) {
			c.warn("tokens", tokensName+": want HOST=TOKEN, and spaces between several") // it is a secret
			continue
		}
		tokens[strings.ToLower(host)] = token
	}
	return tokens
}

// logIn adds the token or the login of the request's host. Both go over TLS only, or to this machine; a login in the URL comes first.
func logIn(req *http.Request, logins map[string]login, tokens map[string]string) {
	if req.URL.User != nil || req.Header.Get("Authorization") != "" || req.URL.Scheme != "https" && !isLoopback(req.URL) {
		return
	}
	if token := cmp.Or(tokens[strings.ToLower(req.URL.Host)], tokens[strings.ToLower(req.URL.Hostname())]); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	} else if l, ok := logins[strings.ToLower(req.URL.Hostname())]; ok {
		req.SetBasicAuth(l.user, l.password)
	}
}

// isLoopback reports whether a URL is of this machine.
func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
