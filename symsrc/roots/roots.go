// Package roots brings the certificates by which servers are verified where the system has none, as in an image with the program alone.
package roots

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Use lets connections with TLS be verified by certificates of the program's own if the system has none. It takes some milliseconds, and so
// is called where there is to be such a connection.
var Use = sync.OnceFunc(func() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		c, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil: // of a newer kind
		case root.Constraint == nil:
			pool.AddCert(c)
		default:
			pool.AddCertWithConstraint(c, root.Constraint)
		}
	}
	x509.SetFallbackRoots(pool)
})
