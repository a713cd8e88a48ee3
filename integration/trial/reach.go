package trial

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
)

// errOutOfReach says that for as long as could be waited, a client could not reach a majority.
var errOutOfReach = errors.New("no majority of the masters was in reach")

// inReach waits until each of some clients could reach a majority of the masters, for so long at most.
func (s *stage) inReach(ctx context.Context, clients []string, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for _, name := range clients {
		for reached := 0; reached <= len(s.masters)/2; {
			select {
			case <-ctx.Done():
				return errOutOfReach
			case <-time.After(20 * time.Millisecond):
			}
			reached = 0
			for _, w := range s.wires[name] {
				if answers(w.Addr()) {
					reached++
				}
			}
		}
	}
	return nil
}

// answers reports whether a master answers soon.
func answers(addr string) bool {
	const soon = 100 * time.Millisecond
	conn, err := redis.Dial("tcp", addr, redis.DialConnectTimeout(soon), redis.DialReadTimeout(soon), redis.DialWriteTimeout(soon))
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = conn.Do("PING")
	return err == nil
}
