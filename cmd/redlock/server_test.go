//go:build unix

package main

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlocktest"
)

// issue writes name.crt, name.key, and name.pem, which has both.
func issue(t *testing.T, dir, name string, template x509.Certificate, by *tls.Certificate) *tls.Certificate {
	t.Helper()
	pair := check.Certificate(t, template, by)
	public, private := check.PEM(t, pair)
	for suffix, text := range map[string][]byte{".crt": public, ".key": private, ".pem": slices.Concat(public, private)} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name+suffix), text, 0o600))
	}
	return pair
}

// address is where a master listens.
func address(fleet *redlocktest.Fleet, i int) string {
	return strings.TrimPrefix(fleet.URLs()[i], "redis://")
}

// issueAll writes the certificates of an authority, of masters and of a client, and returns what masters have then.
// They are good for as long as left.
func issueAll(t *testing.T, dir string, left time.Duration) *tls.Config {
	t.Helper()
	end := time.Now().Add(left)
	ca := issue(t, dir, "ca", x509.Certificate{
		NotAfter: end, Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	server := issue(t, dir, "server", x509.Certificate{
		NotAfter: end, DNSNames: []string{"redis.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca)
	issue(t, dir, "client", x509.Certificate{
		NotAfter: end, Subject: pkix.Name{CommonName: "a client"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca)
	authorities := x509.NewCertPool()
	authorities.AddCert(ca.Leaf)
	return &tls.Config{Certificates: []tls.Certificate{*server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities}
}

// While a command goes on, masters and files get another password and other certificates, of another authority, and
// all connections are made anew.
func TestRotation(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for subcommand, rest := range map[string][]string{
			"run":  {lasting, "n", "--", "sh", "-c", "echo ready; read x; true"},
			"hold": {lasting, "n"},
			"ui":   {"--listen=127.0.0.1:0"},
		} {
			t.Run(fmt.Sprintf("%s tls=%t", subcommand, secure), func(t *testing.T) {
				t.Parallel()
				fleet, dir := redlocktest.Start(t, 3), t.TempDir()
				path := func(name string) string { return filepath.Join(dir, name) }
				var servers atomic.Pointer[tls.Config]
				rotate := func(password string, left time.Duration) {
					servers.Store(issueAll(t, dir, left))
					check.OK(t, os.WriteFile(path("password"), []byte(password+"\n"), 0o600))
					for _, m := range fleet.Masters() {
						m.Password(password)
						m.KillClients()
					}
				}
				rotate("open-sesame", time.Hour)
				urls, flags := fleet.URLs(), []string{"--password-file", path("password"), "--no-restart-guard"}
				if secure {
					config := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return servers.Load(), nil }}
					for i := range urls {
						urls[i] = "rediss://" + check.Secure(t, config, address(fleet, i))
					}
					flags = append(flags, "--tls-ca", path("ca.crt"), "--tls-cert", path("client.pem"))
				}
				i, in := withStdin(t, command(t, line(subcommand, append(flags, "--masters", strings.Join(urls, ",")), rest...)...))
				check.Eventually(t, "it has begun", func() bool { return strings.HasSuffix(i.stdout.String(), "\n") })

				rotate("the-next-sesame", 10*time.Minute)
				if subcommand == "ui" {
					check.Eventually(t, "the page shows the masters", func() bool {
						answer, err := http.Get(strings.TrimSpace(i.stdout.String()) + "look")
						if err != nil {
							return false
						}
						defer answer.Body.Close()
						text, _ := io.ReadAll(answer.Body)
						return strings.Contains(string(text), `"list":{`)
					})
					i.endsBy(syscall.SIGTERM)
					return
				}
				for k, m := range fleet.Masters() {
					left := m.TTL("n")
					check.Eventually(t, fmt.Sprintf("the hold is renewed at master %d", k), func() bool {
						now := m.TTL("n")
						renewed := now > left
						left = now
						return renewed
					})
				}
				in.Close()
				i.wantCode(0)
				if secure {
					i.wantError("certificate ends soon", `of="the master"`, `of="this client"`)
				}
			})
		}
	}
}

// Masters that speak TLS, have certificates of an authority that the system does not know, and want one
// from the client.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	config, fleet := issueAll(t, dir, time.Hour), redlocktest.Start(t, 3)
	var masters []string
	for i, m := range fleet.Masters() {
		m.Password("open-sesame")
		masters = append(masters, "rediss://"+check.Secure(t, config, address(fleet, i)))
	}
	for name, text := range map[string]string{
		"redlock.toml": fmt.Sprintf("masters = [%q, %q, %q]\ntls_ca = \"ca.crt\"\ntls_cert = \"client.pem\"\npassword_file = \"password\"\n", masters[0], masters[1], masters[2]),
		"password":     "open-sesame\n",
	} {
		check.OK(t, os.WriteFile(path(name), []byte(text), 0o600))
	}

	all, with := strings.Join(masters, ","), "REDLOCK_PASSWORD=open-sesame"
	for _, c := range []struct {
		name  string
		flags []string
		env   string
		code  int
		says  []string
	}{
		{name: "flags", flags: []string{"--masters", all, "--tls-ca", path("ca.crt"), "--tls-cert", path("client.crt"), "--tls-key", path("client.key")}, env: with},
		{name: "key in the certificate's file", flags: []string{"--masters", all, "--tls-ca", path("ca.crt"), "--tls-cert", path("client.pem")}, env: with},
		{name: "another name of the server", flags: []string{"--masters", all, "--tls-ca", path("ca.crt"), "--tls-cert", path("client.pem"), "--tls-server-name", "redis.test"}, env: with},
		{name: "password's file beside its variable", flags: []string{"--masters", all, "--tls-ca", path("ca.crt"), "--tls-cert", path("client.pem"), "--password-file", path("password")}, env: "REDLOCK_PASSWORD=another-sesame"},
		{name: "file", flags: []string{"--config", path("redlock.toml")}},
		{name: "file of the environment", env: "REDLOCK_CONFIG=" + path("redlock.toml")},
		{
			name: "unknown authority", flags: []string{"--masters", all, "--tls-cert", path("client.pem")}, env: with, code: exitNoQuorum,
			says: []string{strings.TrimPrefix(masters[0], "rediss://"), ": tls: failed to verify certificate"},
		},
		{
			name: "wrong name", flags: []string{"--masters", all, "--tls-ca", path("ca.crt"), "--tls-cert", path("client.pem"), "--tls-server-name", "other.test"}, env: with, code: exitNoQuorum,
			says: []string{"other.test"},
		},
		{
			name: "no certificate", flags: []string{"--masters", all, "--tls-ca", path("ca.crt")}, env: with, code: exitNoQuorum,
			says: []string{"remote error: tls: certificate required", "waiting would not help"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The inner one finds its way to the same masters, from another folder.
			i := command(t, append(append([]string{"run", "--no-restart-guard", "--name", "n"}, c.flags...), "--", "sh", "-c", "cd / && exec "+os.Args[0]+` inspect --name "$REDLOCK_NAME"`)...)
			i.env(c.env, "REDLOCK_NODE_TIMEOUT=5s").start().wantCode(c.code)
			i.wantError(c.says...)
			check.That(t, c.code != 0 || strings.Contains(i.stdout.String(), "held by"), "redlock inspect inside says\n%s", &i.stdout)
		})
	}
}

// Masters on Unix sockets, one of them in a database of its own, with a user and a password that the
// environment has.
func TestUnixSockets(t *testing.T) {
	var dirs []string
	fleet := redlocktest.Start(t, 3)
	for i, m := range fleet.Masters() {
		m.Password("open-sesame")
		dirs = append(dirs, t.TempDir())
		listener, err := net.Listen("unix", filepath.Join(dirs[i], "s"))
		check.OK(t, err)
		check.Relay(t, listener, address(fleet, i))
	}
	masters := fmt.Sprintf("%s/s,unix://%s/s?db=3,unix://default:open-sesame@%s/s", dirs[0], dirs[1], dirs[2])
	flags := []string{"--masters", masters, "--no-restart-guard"}
	secrets := []string{"REDLOCK_USERNAME=default", "REDLOCK_PASSWORD=open-sesame"}
	i, in := withStdin(t, command(t, line("hold", flags, "n")...).env(secrets...))
	// A majority is enough to hold it, so the third master may have it later.
	check.Eventually(t, "all three masters have the lock", func() bool {
		look := command(t, line("inspect", flags, "n")...).env(secrets...).start()
		look.code()
		for _, dir := range dirs {
			if !strings.Contains(look.stdout.String(), dir+"/s ") {
				t.Fatalf("redlock inspect does not name %s/s:\n%s", dir, &look.stdout)
			}
		}
		return strings.Contains(look.stdout.String(), "3 of 3 masters say so")
	})
	in.Close()
	i.wantCode(0)
	command(t, line("run", flags, "n", "--no-wait", "--", "true")...).start().wantCode(exitNoQuorum).wantError(dirs[0]+"/s", "NOAUTH")
}
