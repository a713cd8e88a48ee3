package trial

import (
	"context"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/integration/fleet"
	"example.com/redlock/internal/history"
)

const (
	watchEvery = 50 * time.Millisecond
	slowAnswer = 100 * time.Millisecond // of a master on a machine with nothing else to do, with much to spare
)

// watch asks a master again and again whether it is there, directly, until ctx ends. It records a stall of
// the master where the answer took long: be it that something was done to it, or that the machine had no
// time for it. Without that, nobody could tell a master that was slow from a client that was.
func watch(ctx context.Context, m *fleet.Master, rec *history.Recorder) {
	var conn redis.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	for ctx.Err() == nil {
		wait(ctx, watchEvery)
		from := rec.Now()
		var err error
		if conn == nil {
			conn, err = m.Dial()
		}
		if err == nil {
			_, err = redis.DoContext(conn, ctx, "PING")
		}
		if err != nil && conn != nil {
			conn.Close()
			conn = nil
		}
		if now := rec.Now(); now-from > slowAnswer {
			rec.Add(history.Event{At: now, What: history.Stall, Who: m.Name(), From: from})
		}
	}
}
