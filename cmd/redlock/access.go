package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// ask says who logs in with a connection that is to be made.
type ask = func(ctx context.Context, master string) (user, password string, err error)

// credentials returns what says who logs in where a master's URL does not: nil if nothing does. The flags,
// the environment and the configuration file count in this order; a password and a file of a password
// exclude each other where they have the same origin. A file is read for each connection.
func (f *fleetFlags) credentials(from origins) (ask, error) {
	if from.onLine("password") && f.Password != "" {
		return nil, errors.New("others can read a command line, so there is no --password: use REDLOCK_PASSWORD or --password-file")
	}
	origin, read := from["password"], func() (string, error) { return f.Password, nil }
	if f.PasswordFile != "" && (f.Password == "" || from.rank("password") <= from.rank("password-file")) {
		if f.Password != "" && from.rank("password") == from.rank("password-file") {
			return nil, fmt.Errorf("%s and %s cannot be used together", from["password"], from["password-file"])
		}
		origin, read = from["password-file"], func() (string, error) { return passwordIn(f.PasswordFile) }
	}
	password, err := read()
	inURL := func(master string) bool { return strings.Contains(master, "@") }
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", origin, err)
	case strings.ContainsAny(password, "\r\n\ufeff"):
		return nil, fmt.Errorf("%s: there is a line break or a byte order mark in the password, which has hardly either", origin)
	case password != "" || f.Username != "" && !slices.ContainsFunc(f.Masters, func(m string) bool { return !inURL(m) }):
	case f.Username != "":
		return nil, fmt.Errorf("%s is set, and there is no password for it: use REDLOCK_PASSWORD or --password-file", from["username"])
	default:
		return nil, nil
	}
	return func(context.Context, string) (string, string, error) {
		password, err := read()
		return f.Username, password, err
	}, nil
}

// passwordIn reads a file with a password, and perhaps a line break behind it.
func passwordIn(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if password == "" {
		return "", fmt.Errorf("%s is empty", file)
	}
	return password, nil
}

// tlsConfig returns what the TLS flags ask for, or nil if none is given. Their files are read for each
// connection.
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
		if _, err := authorities(f.TLSCA); err != nil {
			return nil, fmt.Errorf("%s: %w", from["tls-ca"], err)
		}
		config.InsecureSkipVerify = true // crypto/tls would do it with RootCAs, which stay as they are
		config.VerifyConnection = func(s tls.ConnectionState) error { return verify(s, f.TLSCA) }
	}
	if f.TLSCert == "" && f.TLSKey != "" {
		return nil, fmt.Errorf("%s is of no use without --tls-cert", from["tls-key"])
	}
	if f.TLSCert != "" {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(f.TLSCert, cmp.Or(f.TLSKey, f.TLSCert))
			return &pair, err
		}
		if _, err := config.GetClientCertificate(nil); err != nil {
			return nil, fmt.Errorf("%s: %w", from["tls-cert"], err)
		}
	}
	return config, nil
}

// authorities reads a file with certificates of authorities.
func authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", file)
	}
	return pool, nil
}

// verify does what crypto/tls does for a client, with the authorities that are in the file now.
func verify(s tls.ConnectionState, file string) error {
	roots, err := authorities(file)
	if err != nil {
		return err
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err = s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: s.ServerName, Roots: roots, Intermediates: between})
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err}
	}
	return nil
}
