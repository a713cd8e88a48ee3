package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// credentials are for the masters whose URL has neither a user nor a password.
type credentials struct{ user, password string }

// credentials returns what the flags, the environment or the configuration file say, in this order: a
// password and a file of a password exclude each other where they have the same origin.
func (f *fleetFlags) credentials(from origins) (credentials, error) {
	c := credentials{user: f.Username, password: f.Password}
	if from.onLine("password") && c.password != "" {
		return c, errors.New("others can read a command line, so there is no --password: use REDLOCK_PASSWORD or --password-file")
	}
	if f.PasswordFile == "" {
		return c, nil
	}
	if c.password != "" {
		byText, byFile := from.rank("password"), from.rank("password-file")
		if byText == byFile {
			return c, fmt.Errorf("%s and %s cannot be used together", from["password"], from["password-file"])
		}
		if byText > byFile {
			return c, nil
		}
	}
	text, err := os.ReadFile(f.PasswordFile)
	if err != nil {
		return c, fmt.Errorf("%s: %w", from["password-file"], err)
	}
	c.password = strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if c.password == "" {
		return c, fmt.Errorf("%s: %s is empty", from["password-file"], f.PasswordFile)
	}
	return c, nil
}

// into returns masters with the credentials in each URL that has none. What is no URL is left as it is,
// for the library to refuse.
func (c credentials) into(masters []string, from origins) ([]string, error) {
	if c == (credentials{}) {
		return masters, nil
	}
	with := make([]string, len(masters))
	for i, master := range masters {
		with[i] = master
		switch {
		case strings.HasPrefix(master, "/"):
			master = (&url.URL{Scheme: "unix", Path: master}).String()
		case master != "" && !strings.Contains(master, "://"):
			master = "redis://" + master
		}
		u, err := url.Parse(master)
		if err != nil || u.User != nil {
			continue
		}
		if c.password == "" {
			return nil, fmt.Errorf("%s is set, and there is no password for it: use REDLOCK_PASSWORD or --password-file", from["username"])
		}
		u.User = url.UserPassword(c.user, c.password)
		with[i] = u.String()
	}
	return with, nil
}

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
