package server

import (
	"crypto/tls"
	"crypto/x509"
	"time"
)

// EndsSoon reports whether less than a fifth of a certificate's lifetime is left, and less than 30 days. Those that
// renew themselves are renewed before that.
func EndsSoon(c *x509.Certificate) bool {
	return time.Until(c.NotAfter) < min(c.NotAfter.Sub(c.NotBefore)/5, 30*24*time.Hour)
}

// noting returns the configuration of one connection, which notes in conn the certificates that are used.
//
// VerifyConnection gets the host that is connected to as its ServerName. crypto/tls has none there for an address, so
// that a function which verifies the certificate would accept that of any host.
func noting(conn *Conn, secure *tls.Config) *tls.Config {
	secure = secure.Clone()
	verify, choose := secure.VerifyConnection, secure.GetClientCertificate
	secure.VerifyConnection = func(s tls.ConnectionState) error {
		conn.noteServer(s)
		if verify == nil {
			return nil
		}
		s.ServerName = secure.ServerName
		return verify(s)
	}
	if choose == nil { // as crypto/tls does
		choose = func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			for i := range secure.Certificates {
				if asked.SupportsCertificate(&secure.Certificates[i]) == nil {
					return &secure.Certificates[i], nil
				}
			}
			return new(tls.Certificate), nil
		}
	}
	secure.GetClientCertificate = func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		c, err := choose(asked)
		if err == nil && c != nil {
			conn.Certificates[1] = c.Leaf
		}
		return c, err
	}
	return secure
}

// noteServer notes the certificate of the server.
func (c *Conn) noteServer(s tls.ConnectionState) {
	if len(s.PeerCertificates) > 0 {
		c.Certificates[0] = s.PeerCertificates[0]
	}
}
