package debuginfod

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// signer signs requests for buckets of S3 with the keys of the environment (Signature Version 4).
type signer struct {
	keys   aws.Credentials
	region string
	with   *v4.Signer
}

// newSigner returns nil if the environment has no keys: then only what anyone may read is read.
func newSigner(environ func(string) string) *signer {
	keys := aws.Credentials{
		AccessKeyID: environ("AWS_ACCESS_KEY_ID"), SecretAccessKey: environ("AWS_SECRET_ACCESS_KEY"), SessionToken: environ("AWS_SESSION_TOKEN"),
	}
	if keys.AccessKeyID == "" || keys.SecretAccessKey == "" {
		return nil
	}
	return &signer{keys, cmp.Or(environ("AWS_REGION"), "us-east-1"), v4.NewSigner(func(o *v4.SignerOptions) {
		o.DisableURIPathEscaping = true // S3 alone takes paths as they are
	})}
}

// noBody is the SHA-256 of the body of a GET.
const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign signs a request, over TLS or to this machine alone: the token of a session is sent with it. Its other headers are not signed, since
// proxies may change them.
func (s *signer) sign(req *http.Request, now time.Time) error {
	if s == nil || req.URL.User != nil || req.URL.Scheme != "https" && !isLoopback(req.URL) {
		return nil
	}
	req.URL.RawPath = httpbinding.EscapePath(req.URL.Path, false) // of the same characters as the server escapes
	bare := &http.Request{Method: req.Method, URL: req.URL, Host: req.URL.Host, Header: http.Header{"X-Amz-Content-Sha256": {noBody}}}
	if err := s.with.SignHTTP(context.Background(), s.keys, bare, noBody, "s3", s.region, now); err != nil {
		return err
	}
	for name, values := range bare.Header {
		req.Header[name] = values
	}
	return nil
}

// errorCode is the code in an error of S3.
var errorCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<Code>([A-Za-z]{1,64})</Code>`) })

// refusal returns the failure of a store's answer 403. One that is about the keys does not say that there is no such file.
func refusal(resp *http.Response) *failure {
	const enough = 4 << 10
	text, _ := io.ReadAll(io.LimitReader(resp.Body, enough))
	if code := errorCode().FindSubmatch(text); code != nil && string(code[1]) != "AccessDenied" {
		return useless("HTTP %s: %s", resp.Status, code[1])
	}
	return &failure{verdict: verdictMissing, reason: fmt.Sprintf("HTTP %s", resp.Status)}
}
