package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"gopkg.in/yaml.v3"

	exam "example.com/redlock/doctor"
	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/redlock"
)

// secrets are what docs/deploy/secrets.sh makes.
type secrets struct{ folder, password string }

func newSecrets(t *testing.T, hosts ...string) secrets {
	t.Helper()
	s := secrets{folder: filepath.Join(t.TempDir(), "secrets")}
	args := append([]string{"../docs/deploy/secrets.sh", s.folder, "master1"}, hosts...)
	if out, err := exec.CommandContext(t.Context(), "sh", args...).CombinedOutput(); err != nil {
		t.Fatalf("secrets.sh: %v\n%s", err, out)
	}
	s.password = string(s.file(t, "password"))
	return s
}

func (s secrets) file(t *testing.T, name string) []byte {
	t.Helper()
	return []byte(readFile(t, filepath.Join(s.folder, name)))
}

// tls is how clients connect to masters with these secrets.
func (s secrets) tls(t *testing.T) *tls.Config {
	t.Helper()
	issuers := x509.NewCertPool()
	issuers.AppendCertsFromPEM(s.file(t, "tls/ca.crt"))
	return &tls.Config{RootCAs: issuers, ServerName: "master1"}
}

// masters are such as docs/operations.md asks for, with the files of deploy.
func (s secrets) masters(t *testing.T, n int, settings ...string) containers.Config {
	t.Helper()
	deploy, err := filepath.Abs("../docs/deploy")
	did(t, err)
	return containers.Config{
		Masters: n, User: "locks", Password: s.password,
		Settings: append([]string{"/etc/redis/redis.conf"}, settings...),
		Mounts: []string{
			deploy + "/redis.conf:/etc/redis/redis.conf:ro",
			deploy + "/tls.conf:/etc/redis/tls.conf:ro",
			s.folder + "/users.acl:/etc/redis/users.acl:ro",
			s.folder + "/tls:/etc/redis/tls:ro",
		},
	}
}

// TestSetUp: real masters with the files of deploy, without and with TLS, have locks, and the doctor has
// nothing to say.
func TestSetUp(t *testing.T) {
	t.Parallel()
	s := newSecrets(t)
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			t.Parallel()
			ctx := begin(t)
			set := s.masters(t, 3)
			if secure {
				set = s.masters(t, 3, "--include", "/etc/redis/tls.conf")
				set.TLS = s.tls(t)
			}
			f := startFleet(ctx, t, set)
			const lease = 2 * time.Second
			client := f.client(redlock.Config{TLS: set.TLS, Lease: lease, RestartGuard: lease})
			if err := client.Ready(ctx); err != nil {
				t.Fatalf("Ready = %v", err)
			}
			mustUnlock(ctx, t, mustLock(ctx, t, client, "orders:42"))

			cfg := redlock.Config{Masters: f.urls(), TLS: set.TLS, Lease: lease, RestartGuard: lease}
			eventually(ctx, t, "the doctor has nothing to say of what locks may see", func() error {
				return examine(ctx, cfg, exam.Note)
			})
			for _, m := range f.masters {
				m.user, m.password = "operator", string(s.file(t, "operator-password"))
			}
			cfg.Masters = f.urls()
			if err := examine(ctx, cfg, exam.OK); err != nil {
				t.Errorf("as operator: %v", err)
			}
			bare := *f.masters[0]
			bare.user, bare.password = "", ""
			if _, err := bare.try("PING"); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
				t.Errorf("PING without a password = %v, want NOAUTH", err)
			}
		})
	}
}

// TestRotatePassword: a user has two passwords for a while, and a client that asks for the password at each
// connection goes over from the one to the other. No hold is lost.
func TestRotatePassword(t *testing.T) {
	t.Parallel()
	ctx := begin(t)
	s := newSecrets(t)
	f := startFleet(ctx, t, s.masters(t, 3))
	var password atomic.Value // stands for a file, or a store of secrets
	password.Store(s.password)
	cfg := redlock.Config{Lease: 4 * time.Second, NodeTimeout: 2 * time.Second, RestartGuard: redlock.GuardOff, Credentials: func(context.Context, string) (string, string, error) {
		return "locks", password.Load().(string), nil
	}}
	for _, m := range f.masters {
		cfg.Masters = append(cfg.Masters, m.Addr())
	}
	client, err := redlock.New(cfg)
	did(t, err)
	t.Cleanup(func() { client.Close() })
	hold := mustLock(ctx, t, client, "orders:42")

	all := func(command string, args ...any) {
		for _, m := range f.masters {
			m.user, m.password = "operator", string(s.file(t, "operator-password"))
			m.do(t, command, args...)
		}
	}
	all("ACL", "SETUSER", "locks", ">the next one")
	password.Store("the next one")
	all("ACL", "SETUSER", "locks", "<"+s.password)
	all("CLIENT", "KILL", "USER", "locks") // connections live on with the password of before
	if _, err := redis.Dial("tcp", f.masters[0].Addr(), redis.DialUsername("locks"), redis.DialPassword(s.password)); err == nil {
		t.Error("the password of before still lets clients in")
	}
	did(t, renewed(ctx, hold, cfg.Lease))
	mustUnlock(ctx, t, hold)
	mustUnlock(ctx, t, mustLock(ctx, t, client, "orders:42"))
}

// TestSecrets: the certificate is good for each host, by name and by address, also once it is renewed, and nobody but
// its group reads what is secret.
func TestSecrets(t *testing.T) {
	s := newSecrets(t, "m2.example", "10.0.0.1", "2001:db8::1", "1and1")
	first, key := string(s.file(t, "tls/server.crt")), string(s.file(t, "tls/server.key"))
	if out, err := exec.CommandContext(t.Context(), "sh", "../docs/deploy/secrets.sh", s.folder).CombinedOutput(); err != nil {
		t.Fatalf("secrets.sh again: %v\n%s", err, out)
	}
	if string(s.file(t, "tls/server.crt")) == first || string(s.file(t, "tls/server.key")) != key || string(s.file(t, "password")) != s.password {
		t.Error("the second time, something else than the certificate is new")
	}
	block, _ := pem.Decode(s.file(t, "tls/server.crt"))
	certificate, err := x509.ParseCertificate(block.Bytes)
	did(t, err)
	for _, host := range []string{"localhost", "127.0.0.1", "master1", "m2.example", "10.0.0.1", "2001:db8::1", "1and1"} {
		if err := certificate.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"tls/server.key", "tls/ca.key", "users.acl", "password", "operator-password"} {
		info, err := os.Stat(filepath.Join(s.folder, name))
		did(t, err)
		if mode := info.Mode().Perm(); mode&0o007 != 0 {
			t.Errorf("%s has mode %v: others can read it", name, mode)
		}
	}
}

// TestUsersFile: users.acl has the line of docs/operations.md.
func TestUsersFile(t *testing.T) {
	page, users := readFile(t, "../docs/operations.md"), readFile(t, "../docs/deploy/users.acl")
	_, line, _ := strings.Cut(page, "ACL SETUSER ")
	line, _, _ = strings.Cut(line, "\n")
	if want := "user default off resetpass ~* &* +@all\nuser " + line + "\nuser operator on >operator-password ~* &* +@all\n"; users != want {
		t.Errorf("users.acl has\n%s\nwant\n%s", users, want)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	did(t, err)
	return string(text)
}

// lookUp returns what a YAML document has at a path, such as "spec.ports.0.port".
func lookUp(doc any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch at := doc.(type) {
		case map[string]any:
			doc = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil
			}
			doc = at[i]
		}
	}
	return doc
}

// TestComposeFile: five masters, each with a port and a volume of its own, and the files that TestSetUp
// tries.
func TestComposeFile(t *testing.T) {
	var file map[string]any
	did(t, yaml.Unmarshal([]byte(readFile(t, "../docs/deploy/compose.yaml")), &file))
	if n, volumes := len(file["services"].(map[string]any)), len(file["volumes"].(map[string]any)); n != 5 || volumes != 5 {
		t.Errorf("%d services and %d volumes, want 5 each", n, volumes)
	}
	for i := range 5 {
		for path, want := range map[string]string{
			"volumes":          fmt.Sprintf("[./redis.conf:/etc/redis/redis.conf:ro ./secrets/users.acl:/etc/redis/users.acl:ro data%d:/data]", i+1),
			"ports":            fmt.Sprintf("[127.0.0.1:700%d:6379]", i+1),
			"command":          "[redis-server /etc/redis/redis.conf]",
			"restart":          "unless-stopped",
			"healthcheck.test": "[CMD-SHELL redis-cli ping | grep -q NOAUTH]",
		} {
			if got := fmt.Sprint(lookUp(file, fmt.Sprintf("services.master%d.%s", i+1, path))); got != want {
				t.Errorf("%s of master%d is %s, want %s", path, i+1, got, want)
			}
		}
		if _, ok := file["volumes"].(map[string]any)[fmt.Sprint("data", i+1)]; !ok {
			t.Errorf("there is no volume data%d", i+1)
		}
	}
}

// TestKubernetesFile: five pods with names of their own, no two on a node, of which one at a time may be
// missing, a guard apart, with the files that TestSetUp tries.
func TestKubernetesFile(t *testing.T) {
	docs := map[string]any{}
	decoder := yaml.NewDecoder(strings.NewReader(readFile(t, "../docs/deploy/kubernetes.yaml")))
	for {
		var doc map[string]any
		if err := decoder.Decode(&doc); err != nil {
			break // the end
		}
		docs[doc["kind"].(string)] = doc
	}
	const pod = "StatefulSet.spec.template.spec."
	for path, want := range map[string]any{
		"Service.metadata.name":                                 "redlock",
		"Service.spec.clusterIP":                                "None",
		"Service.spec.publishNotReadyAddresses":                 true,
		"Service.spec.ports.0.port":                             6379,
		"PodDisruptionBudget.spec.maxUnavailable":               1,
		"StatefulSet.spec.serviceName":                          "redlock",
		"StatefulSet.spec.replicas":                             5,
		pod + "containers.0.readinessProbe.initialDelaySeconds": 45,
		pod + "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.0.topologyKey": "kubernetes.io/hostname",
		pod + "containers.0.command.1":                  "/etc/redis/redis.conf",
		pod + "containers.0.ports.0.containerPort":      6379,
		pod + "containers.0.volumeMounts.0.mountPath":   "/etc/redis/redis.conf",
		pod + "containers.0.volumeMounts.1.mountPath":   "/etc/redis/users.acl",
		pod + "volumes.0.configMap.name":                "redlock",
		pod + "volumes.1.secret.secretName":             "redlock",
		"StatefulSet.spec.selector.matchLabels.app":     "redlock",
		"StatefulSet.spec.template.metadata.labels.app": "redlock",
	} {
		if got := lookUp(docs, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}
