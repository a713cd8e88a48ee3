package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
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
	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
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
	return []byte(check.File(t, filepath.Join(s.folder, name)))
}

// tls is how clients connect to masters with these secrets.
func (s secrets) tls(t *testing.T) *tls.Config {
	t.Helper()
	issuers := x509.NewCertPool()
	issuers.AppendCertsFromPEM(s.file(t, "ca.crt"))
	return &tls.Config{RootCAs: issuers, ServerName: "master1"}
}

// masters are such as docs/operations.md asks for, with the files of deploy.
func (s secrets) masters(t *testing.T, settings ...string) containers.Config {
	t.Helper()
	deploy, err := filepath.Abs("../docs/deploy")
	check.OK(t, err)
	return containers.Config{
		Masters: 3, User: "locks", Password: s.password,
		Settings: append([]string{"/etc/redis/conf/redis.conf", "--aclfile", "/etc/redis/secrets/users.acl"}, settings...),
		Mounts: []string{
			deploy + "/redis.conf:/etc/redis/conf/redis.conf:ro",
			deploy + "/tls.conf:/etc/redis/conf/tls.conf:ro",
			s.folder + "/masters:/etc/redis/secrets:ro",
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
			set := s.masters(t)
			if secure {
				set = s.masters(t, "--include", "/etc/redis/conf/tls.conf")
				set.TLS = s.tls(t)
			}
			f := startFleet(ctx, t, set)
			const lease = 2 * time.Second
			client := f.client(redlock.Config{TLS: set.TLS, Lease: lease, RestartGuard: lease})
			check.OK(t, client.Ready(ctx), "Ready")
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

// TestRotation: a user has two passwords for a while, and masters get another certificate, as docs/operations.md says. A
// client that asks for the password at each connection goes over from the one to the other. No hold is lost.
func TestRotation(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			t.Parallel()
			ctx := begin(t)
			s := newSecrets(t)
			set, scheme := s.masters(t), "redis://"
			if secure {
				set, scheme = s.masters(t, "--include", "/etc/redis/conf/tls.conf"), "rediss://"
				set.TLS = s.tls(t)
			}
			f := startFleet(ctx, t, set)
			var password atomic.Value // stands for a file, or a store of secrets
			password.Store(s.password)
			cfg := redlock.Config{TLS: set.TLS, Lease: longLease, NodeTimeout: longLease / 2, RestartGuard: redlock.GuardOff, Credentials: func(context.Context, string) (string, string, error) {
				return "locks", password.Load().(string), nil
			}}
			for _, m := range f.masters {
				cfg.Masters = append(cfg.Masters, scheme+m.Addr())
			}
			client, err := redlock.New(cfg)
			check.OK(t, err)
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
			if secure {
				check.OK(t, exec.CommandContext(ctx, "sh", "../docs/deploy/secrets.sh", s.folder).Run())
				all("CONFIG", "SET", "tls-cert-file", "/etc/redis/secrets/server.crt")
			}
			all("CLIENT", "KILL", "USER", "locks") // connections live on with the password and the certificate of before
			if _, err := redis.Dial("tcp", f.masters[0].Addr(), redis.DialUseTLS(secure), redis.DialTLSConfig(set.TLS), redis.DialUsername("locks"), redis.DialPassword(s.password)); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
				t.Errorf("the password of before: %v, want WRONGPASS", err)
			}
			check.OK(t, renewed(ctx, hold, cfg.Lease))
			mustUnlock(ctx, t, hold)
			mustUnlock(ctx, t, mustLock(ctx, t, client, "orders:42"))
			if !secure {
				return
			}
			block, _ := pem.Decode(s.file(t, "masters/server.crt"))
			c, err := tls.Dial("tcp", f.masters[0].Addr(), set.TLS)
			check.OK(t, err)
			defer c.Close()
			if !bytes.Equal(c.ConnectionState().PeerCertificates[0].Raw, block.Bytes) {
				t.Error("a master has the certificate of before")
			}
		})
	}
}

// TestSecrets: the certificate is good for each host, by name and by address, also once it is renewed, and nobody
// else reads anything.
func TestSecrets(t *testing.T) {
	s := newSecrets(t, "m2.example", "10.0.0.1", "2001:db8::1", "1and1", "*.redlock")
	first, key := string(s.file(t, "masters/server.crt")), string(s.file(t, "masters/server.key"))
	if out, err := exec.CommandContext(t.Context(), "sh", "../docs/deploy/secrets.sh", s.folder).CombinedOutput(); err != nil {
		t.Fatalf("secrets.sh again: %v\n%s", err, out)
	}
	if string(s.file(t, "masters/server.crt")) == first || string(s.file(t, "masters/server.key")) != key || string(s.file(t, "password")) != s.password {
		t.Error("the second time, something else than the certificate is new")
	}
	block, _ := pem.Decode(s.file(t, "masters/server.crt"))
	certificate, err := x509.ParseCertificate(block.Bytes)
	check.OK(t, err)
	for _, host := range []string{"localhost", "127.0.0.1", "master1", "m2.example", "10.0.0.1", "2001:db8::1", "1and1", "redlock-4.redlock"} {
		if err := certificate.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	check.OK(t, filepath.WalkDir(s.folder, func(path string, entry fs.DirEntry, err error) error {
		check.OK(t, err)
		info, err := entry.Info()
		check.OK(t, err)
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %v: others can read it", path, mode)
		}
		return nil
	}))
	has, err := os.ReadDir(filepath.Join(s.folder, "masters"))
	check.OK(t, err)
	check.That(t, len(has) == 4, "masters get %v, want what they need and nothing else", has)
}

// TestSecretsPrefix: the user locks may use names of another prefix, and of no other. One that would mean more is refused,
// and so is another one than the folder was made for.
func TestSecretsPrefix(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "secrets")
	make := func(prefix string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "sh", "../docs/deploy/secrets.sh", "-p", prefix, folder).CombinedOutput()
		if err != nil {
			return string(out), err
		}
		return check.File(t, filepath.Join(folder, "masters/users.acl")), nil
	}
	users, err := make("team-a/jobs.")
	_, want, _ := strings.Cut(check.File(t, "../docs/deploy/users.acl"), " resetchannels")
	want, _, _ = strings.Cut(strings.ReplaceAll(want, "orders:", "team-a/jobs."), "\n")
	check.That(t, err == nil && strings.Contains(users, want), "users.acl has\n%s, %v; want\n%s", users, err, want)
	for _, prefix := range []string{"", "*", "a b", "[a]", "{a", "a|b"} {
		if out, err := make(prefix); err == nil || !strings.Contains(out, "usage") {
			t.Errorf("prefix %q: %v, %s", prefix, err, out)
		}
	}
	if again, err := make("team-a/jobs."); err != nil || again != users {
		t.Errorf("again: %v, users.acl has\n%s", err, again)
	}
	if out, err := make("team-a/"); err == nil || !strings.Contains(out, "is for another prefix") {
		t.Errorf("another prefix for the same folder: %v, %s", err, out)
	}
}

// TestRedisConf: redis.conf starts on a machine as it is, outside of a container.
func TestRedisConf(t *testing.T) {
	path, err := redisserver.Find()
	check.OK(t, err)
	s := newSecrets(t)
	conf, err := filepath.Abs("../docs/deploy/redis.conf")
	check.OK(t, err)
	server := redisserver.Command(path, conf, "--aclfile", filepath.Join(s.folder, "masters/users.acl"), "--port", "0", "--unixsocket", filepath.Join(s.folder, "socket"))
	server.Dir = t.TempDir()
	var out strings.Builder
	server.Stdout, server.Stderr = &out, &out
	check.OK(t, server.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Wait() }()
	eventually(begin(t), t, "the master lets locks in", func() error {
		select {
		case <-ended:
			t.Fatalf("redis-server has ended: %s", &out)
		default:
		}
		c, err := redis.Dial("unix", filepath.Join(s.folder, "socket"), redis.DialUsername("locks"), redis.DialPassword(s.password))
		if err == nil {
			_, err = c.Do("PING")
			c.Close()
		}
		return err
	})
	check.OK(t, server.Process.Kill())
	<-ended
	left, err := os.ReadDir(server.Dir)
	check.OK(t, err)
	check.That(t, len(left) == 0, "it leaves %v behind", left)
}

// TestUsersFile: users.acl has the line of docs/operations.md.
func TestUsersFile(t *testing.T) {
	page, users := check.File(t, "../docs/operations.md"), check.File(t, "../docs/deploy/users.acl")
	_, line, _ := strings.Cut(page, "ACL SETUSER ")
	line, _, _ = strings.Cut(line, "\n")
	if want := "user default off resetpass ~* &* +@all\nuser " + line + "\nuser operator on >operator-password ~* &* +@all\n"; users != want {
		t.Errorf("users.acl has\n%s\nwant\n%s", users, want)
	}
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

// TestComposeFile: five masters, each with a port of its own, and the files that TestSetUp tries.
func TestComposeFile(t *testing.T) {
	var file map[string]any
	check.OK(t, yaml.Unmarshal([]byte(check.File(t, "../docs/deploy/compose.yaml")), &file))
	if n := len(file["services"].(map[string]any)); n != 5 {
		t.Errorf("%d services, want 5", n)
	}
	if file["version"] != nil {
		t.Error("version is obsolete")
	}
	for i := range 5 {
		for path, want := range map[string]string{
			"volumes":          "[./redis.conf:/etc/redis/conf/redis.conf:ro ./tls.conf:/etc/redis/conf/tls.conf:ro ./secrets/masters:/etc/redis/secrets:ro]",
			"ports":            fmt.Sprintf("[127.0.0.1:700%d:6379]", i+1),
			"entrypoint":       "[redis-server " + start + "]",
			"restart":          "unless-stopped",
			"healthcheck.test": "[CMD-SHELL redis-cli --tls --cacert /etc/redis/secrets/ca.crt ping | grep -q NOAUTH]",
		} {
			check.Equal(t, fmt.Sprint(lookUp(file, fmt.Sprintf("services.master%d.%s", i+1, path))), want, "%s of master%d", path, i+1)
		}
	}
}

// start is how both files start a master.
const start = "/etc/redis/conf/redis.conf --include /etc/redis/conf/tls.conf --aclfile /etc/redis/secrets/users.acl"

// TestKubernetesFile: five pods with names of their own, no two on a node, of which one at a time may be
// missing, a guard apart, with the files that TestSetUp tries, and that the lines in its head make.
func TestKubernetesFile(t *testing.T) {
	docs := map[string]any{}
	text := check.File(t, "../docs/deploy/kubernetes.yaml")
	decoder := yaml.NewDecoder(strings.NewReader(text))
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
		pod + "containers.0.ports.0.containerPort":                                                    6379,
		pod + "containers.0.volumeMounts.0.mountPath":                                                 "/etc/redis/conf",
		pod + "containers.0.volumeMounts.0.subPath":                                                   nil, // or a change would not arrive
		pod + "containers.0.volumeMounts.1.mountPath":                                                 "/etc/redis/secrets",
		pod + "containers.0.volumeMounts.1.subPath":                                                   nil,
		pod + "volumes.0.configMap.name":                                                              "redlock",
		pod + "volumes.1.secret.secretName":                                                           "redlock",
		pod + "volumes.1.secret.defaultMode":                                                          0o440,
		pod + "securityContext.fsGroup":                                                               999,
		"NetworkPolicy.spec.podSelector.matchLabels.app":                                              "redlock",
		"NetworkPolicy.spec.policyTypes.1":                                                            "Egress",
		"NetworkPolicy.spec.egress":                                                                   nil,
		"NetworkPolicy.spec.ingress.0.ports.0.port":                                                   "redis",
		"NetworkPolicy.spec.ingress.0.from.0.podSelector.matchLabels.redlock-client":                  "true",
		"StatefulSet.spec.selector.matchLabels.app":                                                   "redlock",
		"StatefulSet.spec.template.metadata.labels.app":                                               "redlock",
	} {
		check.Equal(t, lookUp(docs, path), want, "%s", path)
	}
	if got, want := fmt.Sprint(lookUp(docs, pod+"containers.0.command")), "[redis-server "+start+"]"; got != want {
		t.Errorf("a pod starts %s, want %s", got, want)
	}

	// What its head has run before makes what the pods mount. TestSetUp starts masters with just these files.
	conf, secret, service := lookUp(docs, pod+"volumes.0.configMap.name"), lookUp(docs, pod+"volumes.1.secret.secretName"), lookUp(docs, "Service.metadata.name")
	for _, line := range []string{
		fmt.Sprintf("docs/deploy/secrets.sh -p orders: docs/deploy/secrets '*.%s' '*.%[1]s.NAMESPACE.svc'", service),
		fmt.Sprintf("kubectl create configmap %s --from-file=docs/deploy/redis.conf --from-file=docs/deploy/tls.conf", conf),
		fmt.Sprintf("kubectl create secret generic %s --from-file=docs/deploy/secrets/masters", secret),
	} {
		check.That(t, strings.Contains(text, "#   "+line+"\n"), "the file does not say: %s", line)
	}
}
