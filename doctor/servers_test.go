package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
	"example.com/redlock/redlock"
)

// TestServers: what real servers say is told by its own name, with what helps against it, and nothing else is told of
// those that let nobody in.
func TestServers(t *testing.T) {
	dir, trusted := t.TempDir(), x509.NewCertPool()
	secure := func(name string, certificate x509.Certificate) func(string, string) []string {
		file, pair := filepath.Join(dir, name), check.Certificate(t, certificate, nil)
		check.OK(t, os.WriteFile(file, slices.Concat(check.PEM(t, pair)), 0o600))
		trusted.AddCert(pair.Leaf)
		return func(port, _ string) []string {
			return []string{"--port", "0", "--tls-port", port, "--tls-cert-file", file, "--tls-key-file", file, "--tls-ca-cert-file", file, "--tls-auth-clients", "no"}
		}
	}
	with := func(args ...string) func(string, string) []string {
		return func(string, string) []string { return args }
	}
	here, now := []net.IP{net.IPv4(127, 0, 0, 1)}, time.Now()
	planted := []struct {
		name, scheme string
		args         func(port, dir string) []string
		want         []string // of the findings, each as "severity id: verdict -> remedy", some
		alone        bool     // there are no others
	}{
		{"protected mode", "redis", nil, []string{"warning protected-mode: DENIED Redis is running in protected mode -> protected mode: give the master a password"}, true},
		{"full", "redis", with("--maxclients", "1"), []string{"warning max-clients: ERR max number of clients reached -> raise maxclients"}, true},
		{"no room for two", "redis", with("--maxclients", "1"), []string{"warning subscription: no subscription: ERR max number of clients reached: -> raise maxclients"}, false},
		{"Sentinel", "redis", with("--sentinel"), []string{"warning role: is a Sentinel, not a master -> use the address of a master that it watches"}, true},
		{"no EVALSHA", "redis", with("--rename-command", "EVALSHA", ""), []string{"warning commands: does not know EVALSHA: no lock can be had there -> do not rename commands"}, false},
		{"no CONFIG", "redis", with("--rename-command", "CONFIG", ""), []string{
			"warning no-password: lets in everybody who reaches it, without a password (where it listens could not be seen): -> ACL SETUSER default off",
			"note unseen: CONFIG GET refused (ERR unknown command 'CONFIG'): doctor did not see all settings -> look by hand",
		}, false},
		{"cluster", "redis", func(port, _ string) []string {
			n, _ := strconv.Atoi(port)
			return []string{"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(n - 10_000)} // by default as much above
		}, []string{"warning cluster: runs in cluster mode -> use plain masters"}, false},
		{
			"expired", "rediss", secure("expired", x509.Certificate{IPAddresses: here, NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-24 * time.Hour)}),
			[]string{"warning tls: tls: failed to verify certificate: x509: certificate has expired -> a new certificate"},
			true,
		},
		{
			"not valid yet", "rediss", secure("future", x509.Certificate{IPAddresses: here, NotBefore: now.Add(24 * time.Hour), NotAfter: now.Add(48 * time.Hour)}),
			[]string{"warning tls: tls: failed to verify certificate: x509: certificate has expired or is not yet valid -> a new certificate"},
			true,
		},
		{
			"another host", "rediss", secure("other", x509.Certificate{DNSNames: []string{"redis.test"}}),
			[]string{"warning tls: tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 -> use a name that the certificate has"},
			true,
		},
	}
	var cfg redlock.Config
	var names []string
	for _, p := range planted {
		port, _ := redisserver.Start(t, p.args)
		names = append(names, "127.0.0.1:"+port)
		cfg.Masters = append(cfg.Masters, p.scheme+"://127.0.0.1:"+port)
	}
	occupied, err := redis.Dial("tcp", names[1])
	check.OK(t, err)
	defer occupied.Close()
	_, err = occupied.Do("PING")
	check.OK(t, err)
	cfg.TLS = &tls.Config{RootCAs: trusted}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		if address == names[0] {
			dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)} // which Redis takes for another host's
		}
		return dialer.DialContext(ctx, network, address)
	}
	report, err := Examine(t.Context(), cfg, "")
	check.OK(t, err)
	for i, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			var all []string
			for _, f := range report.Findings {
				if slices.Contains(f.Masters, names[i]) {
					all = append(all, fmt.Sprintf("%v %s: %s -> %s", f.Severity, f.ID, f.Verdict, f.Remedy))
				}
			}
			for _, want := range p.want {
				begin, remedy, _ := strings.Cut(want, " -> ")
				if !slices.ContainsFunc(all, func(found string) bool {
					return strings.HasPrefix(found, begin) && strings.Contains(found, " -> "+remedy)
				}) {
					t.Errorf("doctor does not say %q, but\n%s", want, strings.Join(all, "\n"))
				}
			}
			check.That(t, !p.alone || len(all) <= len(p.want), "doctor says more than %q:\n%s", p.want, strings.Join(all, "\n"))
		})
	}
}

// TestLocalhost: by whatever name, this machine is one host, whether a master is up or not.
func TestLocalhost(t *testing.T) {
	cfg := redlock.Config{Masters: []string{"127.0.0.1:1", "localhost:2", "[::1]:3"}}
	report, err := Examine(t.Context(), cfg, "")
	check.OK(t, err)
	found := report.Find("same-host")
	check.That(t, len(found) == 1 && strings.Contains(found[0].Verdict, "3 of 3 masters are on one host, 127.0.0.1 = localhost = ::1: nobody"), "got %+v, want one host of three names", found)
}
