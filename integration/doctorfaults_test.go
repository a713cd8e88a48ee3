package integration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/redisserver"
)

// tlsPort opens a port that speaks TLS and leads to target, and returns its address.
//
// Goroutines: one accepts, and two per connection copy. They end when the test does.
func tlsPort(t *testing.T, target string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			master, err := net.Dial("tcp", target)
			if err != nil {
				conn.Close()
				continue
			}
			pump := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				to.Close()
				from.Close()
			}
			wg.Go(func() { pump(master, conn) })
			wg.Go(func() { pump(conn, master) })
		}
	})
	t.Cleanup(func() { listener.Close(); wg.Wait() })
	return listener.Addr().String()
}

// skewShim is laid under a redis-server: its wall clock is off by so many seconds, and runs by so much
// faster. The monotonic clock stays right.
const skewShim = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static int (*real)(clockid_t, struct timespec *);
static double start, ahead, rate;

static double skewed(void) {
  struct timespec ts;
  if (!real) {
    real = dlsym(RTLD_NEXT, "clock_gettime");
    ahead = atof(getenv("SKEW_AHEAD"));
    rate = atof(getenv("SKEW_RATE"));
  }
  real(CLOCK_REALTIME, &ts);
  double now = ts.tv_sec + ts.tv_nsec / 1e9;
  if (!start) start = now;
  return start + ahead + (now - start) * rate;
}
int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
  double now = skewed();
  tv->tv_sec = now;
  tv->tv_usec = (now - tv->tv_sec) * 1e6;
  return 0;
}
time_t time(time_t *t) {
  time_t now = skewed();
  if (t) *t = now;
  return now;
}
int clock_gettime(clockid_t id, struct timespec *ts) {
  double now = skewed();
  if (id != CLOCK_REALTIME) return real(id, ts);
  ts->tv_sec = now;
  ts->tv_nsec = (now - ts->tv_sec) * 1e9;
  return 0;
}
`

// skewedMaster starts a durable redis-server of this machine with a clock that is off, and returns its
// address. It needs gcc.
func skewedMaster(ctx context.Context, t *testing.T, ahead time.Duration, rate float64) string {
	t.Helper()
	server, err := redisserver.Find()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	source, shim := filepath.Join(folder, "skew.c"), filepath.Join(folder, "skew.so")
	if err := os.WriteFile(source, []byte(skewShim), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(ctx, "gcc", "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	port := freePort()
	command := exec.CommandContext(ctx, server)
	command.Args = []string{ // the program acts as argv[0] names
		"redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", folder,
		"--appendonly", "yes", "--appendfsync", "always", "--loglevel", "warning",
	}
	command.Env = append(os.Environ(), "LD_PRELOAD="+shim, fmt.Sprintf("SKEW_AHEAD=%f", ahead.Seconds()), fmt.Sprintf("SKEW_RATE=%f", rate))
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	address := net.JoinHostPort("127.0.0.1", port)
	eventually(ctx, t, readyWait, "the skewed master answers", func() error {
		conn, err := redis.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Do("PING")
		return err
	})
	return address
}
