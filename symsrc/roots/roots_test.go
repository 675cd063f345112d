package roots

import (
	"crypto/x509"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestUse verifies the certificates of authorities on a system without any.
func TestUse(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the system verifies certificates itself")
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("SSL_CERT_FILE", none)
	t.Setenv("SSL_CERT_DIR", none)
	Use()
	n := 0
	for root := range bundle.Roots() {
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if root.Constraint != nil { // which a root itself may not fulfill
			continue
		}
		if _, err := c.Verify(x509.VerifyOptions{CurrentTime: c.NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", c.Subject, err)
		}
		n++
	}
	if n < 50 {
		t.Errorf("there are %d certificates", n)
	}
}
