package fleet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// scriptWait is how long the server may take to begin a script, and to answer when it has ended.
const scriptWait = patience

// Occupy keeps the server busy for d with a script, and returns when it is free again. Until then nobody
// gets an answer, and then what was sent meanwhile is answered with BUSY. It costs a core.
func (m *Master) Occupy(d time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.did("occupy", m.occupy(d))
}

// occupy leaves counting the time to the server: once the script has run for lua-time-limit, and not before,
// it reads what clients have sent, and finds that the script is to end. The script would end by itself, after
// a minute or so, should nobody get through.
func (m *Master) occupy(d time.Duration) error {
	waits := redis.DialReadTimeout(d + scriptWait)
	busy, err := m.Dial(waits)
	if err != nil {
		return err
	}
	defer busy.Close()
	other, err := m.Dial(waits)
	if err != nil {
		return err
	}
	defer other.Close()

	const limit = "lua-time-limit"
	usual, err := configured(busy, limit)
	if err != nil {
		return err
	}
	if err := configure(busy, limit, strconv.FormatInt(max(1, d.Milliseconds()), 10)); err != nil {
		return err
	}
	if err := errors.Join(busy.Send("EVAL", "for i = 1, 1e10 do end", 0), busy.Flush()); err != nil {
		return err
	}
	for began := time.Now(); ; { // Docker's proxy may deliver what was sent later first
		_, err = other.Do("SCRIPT", "KILL")
		if err == nil || !strings.HasPrefix(err.Error(), "NOTBUSY") || time.Since(began) > scriptWait {
			break
		}
	}
	if err != nil {
		return err
	}
	if _, err := busy.Receive(); err == nil || !strings.Contains(err.Error(), "killed") {
		return fmt.Errorf("the script ended with %v", err)
	}
	return configure(other, limit, usual)
}
