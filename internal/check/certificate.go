package check

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Certificate makes a certificate and its key, signed by that of by, or by itself if by is nil. Where the template names
// no time, it is good for an hour from now, and for the hour before.
func Certificate(t testing.TB, template x509.Certificate, by *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	OK(t, err)
	template.SerialNumber = big.NewInt(1)
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	if by == nil {
		by = &tls.Certificate{Leaf: &template, PrivateKey: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, by.Leaf, &key.PublicKey, by.PrivateKey)
	OK(t, err)
	leaf, err := x509.ParseCertificate(der)
	OK(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// PEM returns a certificate and its key as files have them.
func PEM(t testing.TB, pair *tls.Certificate) (certificate, key []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	OK(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}
