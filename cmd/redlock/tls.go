package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// tlsConfig returns what the TLS flags ask for, or nil if none is given.
func (f *fleetFlags) tlsConfig(from origins) (*tls.Config, error) {
	given := ""
	for flag, value := range map[string]string{"tls-ca": f.TLSCA, "tls-cert": f.TLSCert, "tls-key": f.TLSKey, "tls-server-name": f.TLSServerName} {
		if value != "" {
			given = max(given, flag) // any of them, but always the same
		}
	}
	if given == "" {
		return nil, nil
	}
	from["tls"] = from[given] // what an error about all of them names
	config := &tls.Config{ServerName: f.TLSServerName, MinVersion: tls.VersionTLS12}
	if f.TLSCA != "" {
		text, err := os.ReadFile(f.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from["tls-ca"], err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s has no certificate in PEM form", from["tls-ca"], f.TLSCA)
		}
	}
	if f.TLSCert == "" && f.TLSKey != "" {
		return nil, fmt.Errorf("%s is of no use without --tls-cert", from["tls-key"])
	}
	if f.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(f.TLSCert, cmp.Or(f.TLSKey, f.TLSCert))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from["tls-cert"], err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
