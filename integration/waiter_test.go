package integration

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// waiterVariable is the environment variable that makes the test binary a waiter. Its value is the
// masters' addresses, followed by that of the server with the fence.
const waiterVariable = "REDLOCK_TEST_WAITER"

// waiterLease is how long the lock of a killed process may stay, and queueLife how long its place in
// the queue may.
const (
	waiterLease = 3 * time.Second
	queueLife   = 10 * time.Second
)

// fence is a resource on a server, for holders in many processes. It accepts a token that is larger
// than the last one and answers 1, and refuses any other with 0.
var fence = redis.NewScript(1, `
if tonumber(ARGV[1]) <= tonumber(redis.call('get', KEYS[1]) or '0') then
  return 0
end
redis.call('set', KEYS[1], ARGV[1])
return 1`)

// runWaiter takes the lock again and again, and uses the fence. It ends when its standard input ends,
// which the test holds open.
func runWaiter(masters string) error {
	go func() { // ends the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	addresses := strings.Split(masters, ",")
	conn, err := redis.Dial("tcp", addresses[len(addresses)-1])
	if err != nil {
		return err
	}
	client, err := redlock.New(redlock.Config{Masters: addresses[:len(addresses)-1], RestartGuard: -1, Lease: waiterLease})
	if err != nil {
		return err
	}
	for {
		hold, err := client.Lock(context.Background(), "orders:42")
		if err != nil {
			return err
		}
		if _, err := fence.Do(conn, "fence", hold.Token()); err != nil {
			return err
		}
		_ = hold.Unlock(context.Background()) // the lock is lost if the process was frozen
	}
}
