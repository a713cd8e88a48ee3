package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestNoSecretInErrors: a server that does not know a command repeats its arguments, and those of AUTH
// are a password. Neither an answer has it, nor the log, nor what a probe finds.
func TestNoSecretInErrors(t *testing.T) {
	const echo = redis.Error("ERR unknown command 'AUTH', with args beginning with: 'locks' 's3cret' ")
	refusing := func(why error) *redis.Pool {
		return &redis.Pool{DialContext: func(context.Context) (redis.Conn, error) { return nil, why }}
	}
	check := func(t *testing.T, cfg Config) {
		var log logRecorder
		cfg.Logger = log.logger()
		n := start(t, cfg)
		n.Subscribe("a", new(recorder), 7)
		for _, cmd := range []*script.Command{script.Inspect("k"), script.NewOwner("k", "me:1").Acquire(lease, 1)} {
			if why := fmt.Sprint(n.Explain(sendAndWait(n, cmd).Answer)); strings.Contains(why, "s3cret") {
				t.Errorf("the answer has the password: %s", why)
			}
		}
		time.Sleep(time.Minute)
		log.want(t, 0, "s3cret")
	}
	for _, to := range []string{"INFO server", "CLIENT ID", "EVAL", "SUBSCRIBE"} {
		t.Run(to, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
				cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
					if strings.HasPrefix(words, to) {
						return echo
					}
					return nil
				}})
				check(t, cfg)
			})
		})
	}
	for name, why := range map[string]error{"dialing": echo, "in the words of a user's pool": fmt.Errorf("connect: %w", echo)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
				cfg.Pool = refusing(why)
				check(t, cfg)
				facts := Probe(t.Context(), Examination{Name: cfg.Name, Pool: cfg.Pool, Patience: timeout, Scratch: "scratch"})
				if all := fmt.Sprintf("%+v", facts); strings.Contains(all, "s3cret") {
					t.Errorf("what a probe found has the password: %s", all)
				}
			})
		})
	}
}
