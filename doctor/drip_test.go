package doctor

import (
	"bufio"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// TestLimit: a master that answers each command just before patience ends does not keep an examination for
// longer than Limit.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all sync.WaitGroup
		defer all.Wait()
		pool := &redis.Pool{DialContext: func(context.Context) (redis.Conn, error) {
			client, server := net.Pipe()
			commands := make(chan struct{}, 1000) // as many as a socket has room for
			all.Go(func() {
				defer close(commands)
				for lines := bufio.NewScanner(server); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "*") {
						commands <- struct{}{}
					}
				}
			})
			all.Go(func() {
				defer server.Close()
				for range commands {
					time.Sleep(patience - 100*time.Millisecond)
					if _, err := server.Write([]byte("+OK\r\n")); err != nil {
						return
					}
				}
			})
			return redis.NewConn(client, 0, 0), nil
		}}
		start := time.Now()
		report, err := Examine(t.Context(), redlock.Config{Pools: []*redis.Pool{pool}}, "")
		if took := time.Since(start); err != nil || took > Limit {
			t.Errorf("Examine = %v after %v, want a report within %v", err, took, Limit)
		}
		if found := report.Find("reachable"); len(found) != 1 || !strings.Contains(found[0].Verdict, "ended before it was done") {
			t.Errorf("reachable: %+v", found)
		}
		_ = pool.Close()
	})
}
