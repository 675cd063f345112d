package debuginfod

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"qss-filter/symsrc/locate"

	"qss-filter/symsrc/roots"
)

// Bounds of a request.
const (
	dialTimeout  = 10 * time.Second
	maxRedirects = 10
	maxHeaders   = 64 << 10 // of DEBUGINFOD_HEADERS_FILE, in bytes
)

// errRedirect reports a redirection that is not followed.
var errRedirect = errors.New("redirected")

// cause removes the request from an error of net/http and net/url: the message has the address already, and the address may
// contain a password.
func cause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// connect makes the HTTP client, with the proxies of the environment.
func (c *Client) connect() {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		DisableCompression:    true, // body does it
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   perServer,
		IdleConnTimeout:       dialTimeout,
		ExpectContinueTimeout: time.Second,
	}
	named := false
	for _, s := range c.servers {
		named = named || strings.HasPrefix(s.prefix, "file:")
	}
	if named { // curl, and so elfutils, can do that
		transport.RegisterProtocol("file", http.NewFileTransport(http.Dir("/")))
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case to.URL.Scheme != "http" && to.URL.Scheme != "https":
			return fmt.Errorf("%w to %s", errRedirect, to.URL.Redacted())
		case to.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https":
			return fmt.Errorf("%w from https to %s", errRedirect, to.URL.Redacted())
		case to.URL.Scheme == "http" && !strings.EqualFold(to.URL.Hostname(), via[0].URL.Hostname()):
			return fmt.Errorf("%w to another host without TLS, %s", errRedirect, to.URL.Redacted())
		case len(via) >= maxRedirects:
			return fmt.Errorf("%w %d times", errRedirect, len(via))
		case to.URL.Scheme == "https":
			roots.Use()
		}
		if !sameServer(to.URL, via[0].URL) {
			c.keepSecrets(to.Header)
		}
		return nil
	}}
	c.header = http.Header{
		"User-Agent": {"qss-filter"},
		// Set explicitly, so that net/http does not unpack the body.
		"Accept-Encoding": {"gzip"},
	}
	if c.opt.Via != "" {
		c.header.Set("Via", "1.1 "+c.opt.Via)
	}
	c.plain = c.header.Clone()
	if c.hasStores() {
		c.logins = readNetrc(c.opt.Netrc)
		c.tokens = c.readTokens(c.opt.Environ(tokensName))
		c.signer = newSigner(c.opt.Environ)
	}
	if c.opt.MaxSize > 0 {
		c.header.Set("X-DEBUGINFOD-MAXSIZE", strconv.FormatInt(c.opt.MaxSize, 10))
	}
	c.own = c.header.Clone()
	if c.opt.HeadersFile != "" {
		if err := addHeaders(c.header, c.opt.HeadersFile); err != nil {
			c.warn("headers", fmt.Sprintf("DEBUGINFOD_HEADERS_FILE: %v", err))
		}
	}
}

// sameServer reports whether a request that was redirected goes to the server that it was meant for: the same host and port, or the same host
// with TLS in place of none.
func sameServer(to, meant *url.URL) bool {
	if !strings.EqualFold(to.Hostname(), meant.Hostname()) {
		return false
	}
	return to.Scheme == meant.Scheme && to.Port() == meant.Port() || to.Scheme == "https" && meant.Scheme == "http" && to.Port()+meant.Port() == ""
}

// keepSecrets removes from the headers of a request all that may be a secret: logins, tokens, and what DEBUGINFOD_HEADERS_FILE has.
func (c *Client) keepSecrets(h http.Header) {
	for name := range h {
		if name != "Referer" && c.own[name] == nil {
			h.Del(name)
		}
	}
	for name, values := range c.own {
		h[name] = values
	}
}

// addHeaders reads "Name: value" lines. It ignores others, as elfutils does; net/http would refuse the request.
func addHeaders(h http.Header, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHeaders))
	if err != nil {
		return err
	}
	own := make(http.Header)
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if value = strings.TrimSpace(value); ok && value != "" && isToken(name) && !strings.ContainsFunc(value, unicode.IsControl) {
			own.Add(name, value)
		}
	}
	for name, values := range own {
		h[name] = values
	}
	return nil
}

// isToken reports whether name is valid for a header (RFC 9110 §5.6.2).
func isToken(name string) bool {
	for _, r := range name {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) {
			return false
		}
	}
	return name != ""
}

// request sends a GET to a server and returns the head of the answer. The headers of the environment are for debuginfod servers alone: they
// may have a password.
func (c *Client) request(ctx context.Context, s *server, path string) (*http.Response, error) {
	c.begin.Do(c.connect)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.prefix+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header = c.header.Clone()
	if s.store.any {
		req.Header = c.plain.Clone()
		logIn(req, c.logins, c.tokens)
		if s.store.s3 {
			if err := c.signer.sign(req, time.Now()); err != nil {
				return nil, err
			}
		}
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	if req.URL.Scheme == "https" {
		roots.Use()
	}
	return c.http.Do(req)
}

// checkStatus returns the failure of an answer other than 200.
func checkStatus(resp *http.Response) *failure {
	status := "HTTP " + resp.Status
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound, code == http.StatusGone:
		return &failure{verdict: verdictMissing, reason: status}
	case code == http.StatusNotAcceptable: // debuginfod(8), X-DEBUGINFOD-MAXSIZE
		return tooLarge("%s: larger than DEBUGINFOD_MAXSIZE", status)
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		fail := trouble("%s", status)
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
			fail.after = time.Duration(min(seconds, 3600)) * time.Second
		}
		return fail
	}
	return useless("%s", status)
}

// body is the body of an answer.
type body struct {
	io.Reader
	size int64 // its minimum size in bytes, 0 if unknown
	// comes is the minimum number of bytes to be received, 0 if unknown. For a compressed file it may be less than size.
	comes int64
}

// body checks an answer's size and first bytes, and unpacks it if its first bytes are those of gzip: a
// proxy may have unpacked it without changing the header.
func (a *attempt) body(resp *http.Response) (*body, *failure) {
	size, err := strconv.ParseInt(resp.Header.Get("X-DEBUGINFOD-SIZE"), 10, 64)
	if err != nil || size < 0 {
		size = 0
	}
	if err := a.tooLarge(max(size, resp.ContentLength)); err != nil {
		return nil, err
	}
	a.total.Store(max(resp.ContentLength, 0))
	in := bufio.NewReaderSize(&counter{resp.Body, a}, 64<<10)
	head, err := in.Peek(4)
	encoding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) && (encoding == "gzip" || encoding == "x-gzip" || a.f.kind.isSymbols()) {
		unpacked, e := gzip.NewReader(in)
		if e != nil {
			return nil, trouble("gzip: %v", e)
		}
		in = bufio.NewReaderSize(unpacked, 64<<10)
		head, err = in.Peek(4)
	}
	switch {
	case a.f.kind.isSymbols():
		if bytes.HasPrefix(head, []byte("MODU")) {
			return &body{in, size, max(size, resp.ContentLength, 0)}, nil
		}
		return nil, useless("no symbol file")
	case locate.IsObject(head), a.f.kind.isSource() && (encoding == "" || encoding == "identity" || encoding == "gzip") && (err == nil || errors.Is(err, io.EOF)):
		return &body{in, size, max(size, resp.ContentLength, 0)}, nil
	case err != nil && !errors.Is(err, io.EOF):
		return nil, trouble("cut off: %v", err)
	case encoding != "" && encoding != "identity":
		return nil, useless("not an ELF file (Content-Encoding: %.40q)", encoding)
	}
	return nil, useless("not an ELF file")
}

// tooLarge returns the failure of a file that is too large.
func (a *attempt) tooLarge(size int64) *failure {
	if limit := a.c.opt.MaxSize; limit > 0 && size > limit {
		return tooLarge("%s, more than DEBUGINFOD_MAXSIZE allows (%s)", bytesText(size), bytesText(limit))
	}
	if a.f.kind.isSource() && size > maxSource {
		return tooLarge("%s, too much for a source file", bytesText(size))
	}
	return nil
}

// receive writes the file into the cache and verifies it there.
func (a *attempt) receive(b *body, store *entry) *failure {
	in := io.Reader(b)
	if a.f.kind.isSource() {
		in = io.LimitReader(in, maxSource+1)
	}
	if limit := a.c.opt.MaxSize; limit > 0 {
		in = io.LimitReader(in, limit+1)
	}
	if b.size > 0 { // a server that sends the size must not send much more
		in = io.LimitReader(in, most(b.size)+1)
	}
	n, err := store.write(in, b.comes)
	a.stored.Store(true)
	if e, ok := errors.AsType[*writeError](err); ok {
		return a.noRoom(e)
	}
	switch fail := a.tooLarge(n); {
	case err != nil:
		return trouble("cut off after %d bytes: %v", n, err)
	case fail != nil: // the server did not send the size
		fail.verdict = verdictUseless
		return fail
	case b.size > 0 && n > most(b.size):
		return useless("more than twice the %s that it should be", bytesText(b.size))
	case n < b.size:
		return trouble("cut off after %d of %d bytes", n, b.size)
	}
	a.c.verifying.Lock()
	info, err := store.verify()
	a.c.verifying.Unlock()
	switch {
	case errors.Is(err, locate.ErrCutOff):
		return trouble("cut off: %v", err)
	case err != nil:
		return useless("%v", err)
	}
	if err := store.commit(); err != nil {
		return a.noRoom(err)
	}
	a.elf = info
	return nil
}

// most bounds a file whose size the server has sent: servers differ in what they count.
func most(size int64) int64 { return 2*size + 1<<20 }

// noRoom returns the failure of a cache that cannot be written, which is not the server's fault.
func (a *attempt) noRoom(err error) *failure {
	a.c.warn("write", err.Error())
	a.full = true
	fail := trouble("%v", err)
	fail.final = true
	return fail
}

// counter counts the bytes that are read from an answer.
type counter struct {
	io.Reader
	a *attempt
}

// Read implements io.Reader.
func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.a.moved.Add(int64(n))
	return n, err
}

// bytesText formats a size.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (n+1023)>>10)
}
