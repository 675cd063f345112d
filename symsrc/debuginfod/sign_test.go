package debuginfod

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/macho"
)

// signatureOf returns the signature of a request with the secret key, from Amazon's description ("Authenticating Requests: Using the
// Authorization Header", S3 API Reference), and what it was made of.
func signatureOf(r *http.Request, host, secret string) (signature string, err error) {
	auth, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return "", fmt.Errorf("Authorization: %q", r.Header.Get("Authorization"))
	}
	fields := make(map[string]string)
	for _, f := range strings.Split(auth, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(f), "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/") // key, day, region, service, aws4_request
	if len(scope) != 5 {
		return "", fmt.Errorf("credential %q", fields["Credential"])
	}
	signed := strings.Split(fields["SignedHeaders"], ";")
	if !slices.Contains(signed, "host") {
		return "", fmt.Errorf("signed headers %q", signed)
	}
	var uri strings.Builder
	for _, c := range []byte(r.URL.Path) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			uri.WriteByte(c)
		} else {
			fmt.Fprintf(&uri, "%%%02X", c)
		}
	}
	canonical := r.Method + "\n" + uri.String() + "\n" + r.URL.RawQuery + "\n"
	for _, name := range signed {
		value := r.Header.Get(name)
		if name == "host" {
			value = host
		}
		canonical += name + ":" + strings.TrimSpace(value) + "\n"
	}
	canonical += "\n" + fields["SignedHeaders"] + "\n" + r.Header.Get("X-Amz-Content-Sha256")
	sum := sha256.Sum256([]byte(canonical))
	text := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + strings.Join(scope[1:], "/") + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + secret)
	for _, part := range append(scope[1:], text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	if signature = hex.EncodeToString(key); signature != fields["Signature"] {
		return signature, fmt.Errorf("signature %s, want %s", fields["Signature"], signature)
	}
	return signature, nil
}

// TestSignatureOf holds signatureOf to the example in Amazon's description.
func TestSignatureOf(t *testing.T) {
	const want = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	r := httptest.NewRequest(http.MethodGet, "/test.txt", nil)
	r.Header = http.Header{
		"Range": {"bytes=0-9"}, "X-Amz-Date": {"20130524T000000Z"}, "X-Amz-Content-Sha256": {noBody},
		"Authorization": {"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request," +
			"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=" + want},
	}
	if got, err := signatureOf(r, "examplebucket.s3.amazonaws.com", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"); got != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestSigned reads a private bucket, whose server verifies each request, and sends no secret to another host, to other stores, and over a
// network without TLS.
func TestSigned(t *testing.T) {
	const access, secret, token = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "the/token=="
	const path = "/symbols/p q/libstdc++=.so.6/elf-buildid-0123456789abcdef000000000000000000000000/libstdc++=.so.6"
	hasSecrets := func(r *http.Request) bool {
		text := fmt.Sprint(r.Header, r.URL)
		return strings.Contains(text, access) || strings.Contains(text, token) || strings.Contains(text, secret) || r.Header.Get("X-Amz-Date") != ""
	}
	another := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if hasSecrets(r) {
			t.Errorf("another server got %v", r.Header)
		}
		w.WriteHeader(http.StatusNotFound)
	})
	code, moved, refused := "", "", 0
	bucket := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, err := signatureOf(r, r.Host, secret)
		at, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		switch {
		case code != "":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>no</Message></Error>", code)
		case err != nil || r.Header.Get("X-Amz-Security-Token") != token || time.Since(at).Abs() > time.Minute || strings.Contains(fmt.Sprint(r.Header), secret):
			t.Errorf("%s: %v, %v", r.URL, err, r.Header)
			fallthrough
		case r.URL.Path != path:
			refused++
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>AccessDenied</Code></Error>")
		case moved != "":
			http.Redirect(w, r, moved, http.StatusTemporaryRedirect)
		default:
			w.Write(debugELF(testID))
		}
	})
	environ := func(name string) string {
		return map[string]string{
			"AWS_ENDPOINT_URL_S3": bucket.URL, "AWS_ACCESS_KEY_ID": access, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token, "AWS_REGION": "eu-west-1",
		}[name]
	}
	m := symsrc.Module{Name: "/usr/lib/libstdc++=.so.6", BuildID: testID}
	ask := func() (*symsrc.Files, *world) {
		w := newWorld(t, Options{Stores: []string{another.URL, "s3://symbols/p q"}, URLs: []string{another.URL + "/d"}, Environ: environ, Retries: -1})
		return Wrap(nowhere{}, w.Client).Find(context.Background(), m), w
	}
	if f, _ := ask(); f.Debug == "" || refused == 0 {
		t.Errorf("%+v", f)
	}
	moved = strings.Replace(another.URL, "127.0.0.1", "localhost", 1) + "/x"
	if f, _ := ask(); f.Usable() {
		t.Errorf("moved: %+v", f)
	}
	for code = range map[string]bool{"ExpiredToken": true, "SignatureDoesNotMatch": true, "InvalidAccessKeyId": true} {
		if f, w := ask(); f.Usable() || !strings.Contains(w.warned(), code) {
			t.Errorf("%+v, told %q", f, w.warned())
		}
	}
	code, moved = "", ""
	// A server without TLS that is not this machine gets no signature.
	req, _ := http.NewRequest(http.MethodGet, "http://minio.example:9000/symbols/x", nil)
	if err := newSigner(environ).sign(req, time.Now()); err != nil || hasSecrets(req) {
		t.Errorf("%v, %v", err, req.Header)
	}
	if req.URL.Scheme = "https"; newSigner(environ).sign(req, time.Now()) != nil || !hasSecrets(req) {
		t.Error("not signed")
	}
	if newSigner(func(name string) string { return strings.TrimPrefix(name, "AWS_SECRET_ACCESS_KEY") }) != nil {
		t.Error("a key without a secret signs")
	}
}

// TestStoresOfNamedPrograms asks stores that speak SSQP for the program of a module by its name, if nothing else is there.
func TestStoresOfNamedPrograms(t *testing.T) {
	const long, short, uuid = "0123456789abcdef0123456789abcdef01234567", "0123456789abcdef", "4c4c447d55553144a10b863c84e8f2c6"
	fat, err := os.ReadFile("../../testdata/apple/syms/demo.dSYM/Contents/Resources/DWARF/demo")
	if err != nil {
		t.Fatal(err)
	}
	archs := macho.Slices(bytes.NewReader(fat), int64(len(fat)))
	machO := fat[archs[0].Offset : archs[0].Offset+archs[0].Size]
	for _, c := range []struct {
		name, module, id, path string
		debug                  bool
	}{
		{"a library", "/lib/libfoo.so", long, "/libfoo.so/elf-buildid-" + long + "/libfoo.so", false},
		{"with debug information", "/lib/libfoo.so", long, "/libfoo.so/elf-buildid-" + long + "/libfoo.so", true},
		{"lower case", "/lib/libFoo.so", long, "/libfoo.so/elf-buildid-" + long + "/libfoo.so", false},
		{"its own case", "libFoo.so", long, "/libFoo.so/elf-buildid-" + long + "/libFoo.so", false},
		{"a short ID", "/bin/x", short, "/x/elf-buildid-" + short + strings.Repeat("0", 24) + "/x", false},
		{"an ID of 16 bytes", "/bin/x", uuid, "/x/elf-buildid-" + uuid + "00000000/x", false},
		{"Mach-O", "/bin/x", uuid, "/x/mach-uuid-" + uuid + "/x", true},
	} {
		id, _ := symsrc.ParseBuildID([]byte(c.id))
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path != c.path:
				w.WriteHeader(http.StatusNotFound)
			case c.name == "Mach-O":
				w.Write(machO)
			case c.debug:
				w.Write(debugELF(id))
			default:
				w.Write(makeELF(id, ".text", 50))
			}
		})
		w := newWorld(t, Options{Stores: []string{s.URL}, Off: true, Retries: -1})
		m := symsrc.Module{Name: c.module, BuildID: id}
		f := Wrap(nowhere{}, w.Client).Find(context.Background(), m)
		if got := f.Elf + f.Debug; !f.Usable() || (f.DebugStatus == symsrc.OK) != c.debug || !strings.HasPrefix(filepath.Base(got), "program##") {
			t.Errorf("%s: %+v", c.name, f)
		}
		again := newWorld(t, Options{Stores: []string{s.URL}, CacheDir: w.cache, Off: true, Retries: -1})
		if f := Wrap(nowhere{}, again.Client).Find(context.Background(), m); !f.Usable() {
			t.Errorf("%s, from the cache: %+v", c.name, f)
		}
		// The store is known to speak SSQP then, and is asked no more for other layouts.
		other := symsrc.BuildID(strings.Repeat("\x01", 20))
		if paths := w.servers[0].paths(key{other, Debuginfo}); len(paths) != 1 || !strings.HasPrefix(paths[0], "/_.debug/") {
			t.Errorf("%s: %q", c.name, paths)
		}
	}
	for _, name := range []string{"", "..", "a/..", `x\`, "a\nb"} {
		if Program(name) != "" {
			t.Errorf("%q is asked for", name)
		}
	}
	// A program that is another build is not taken.
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/x/") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Write(makeELF("\x66", ".text", 50))
	})
	w := newWorld(t, Options{Stores: []string{s.URL}, Off: true, Retries: -1})
	if f := Wrap(nowhere{}, w.Client).Find(context.Background(), symsrc.Module{Name: "x", BuildID: testID}); f.Usable() {
		t.Errorf("%+v", f)
	}
}
