package script

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"

	"example.com/redlock/redlocktest"
)

// lock is all that a master keeps of the lock "k" and of what lies at its keys instead.
type lock struct {
	owner, count string
	left         time.Duration // 0: no expiry
	other        string        // a string in place of the hash

	fence     string
	fenceLeft time.Duration
}

func (l lock) put(m *redlocktest.Master) {
	if l.owner != "" {
		m.HSet("k", l.owner, l.count)
	}
	if l.other != "" {
		m.Set("k", l.other)
	}
	if l.left > 0 {
		m.Expire("k", l.left)
	}
	if l.fence != "" {
		m.Set("redlock_fence:{k}", l.fence)
	}
	if l.fenceLeft > 0 {
		m.Expire("redlock_fence:{k}", l.fenceLeft)
	}
}

func lockAt(m *redlocktest.Master) lock {
	l := lock{
		other: m.Get("k"),
		left:  m.TTL("k"),
		fence: m.Get("redlock_fence:{k}"), fenceLeft: m.TTL("redlock_fence:{k}"),
	}
	for owner, count := range m.Hash("k") {
		l.owner, l.count = l.owner+owner, l.count+count
	}
	return l
}

// run lets m carry out cmd, without a node.
func run(t *testing.T, c redis.Conn, cmd *Command) Answer {
	t.Helper()
	reply, err := c.Do("EVAL", cmd.Arguments(true, false)...)
	if err != nil {
		if reply, ok := err.(redis.Error); ok {
			err = Meaning(reply)
		}
		return Answer{Outcome: Failed, Err: err}
	}
	a, err := cmd.Decode(reply)
	if err != nil {
		t.Fatalf("decode %v: %v", reply, err)
	}
	return a
}

// guarded returns cmd as it goes to a guarded master.
func guarded(cmd *Command) *Command {
	other := *cmd
	other.args = cmd.Arguments(false, true)
	return &other
}

// scriptCase is one call of a script.
type scriptCase struct {
	name   string
	before lock
	cmd    *Command
	answer Answer
	fails  string // the error, when there is one
	after  lock
	again  Answer // to a repeat, if it is not the same
}

// runScripts checks each case and that a repeat changes nothing.
func runScripts(t *testing.T, cases []scriptCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := redlocktest.Start(t, 1)
				m := f.Master(0)
				conn := f.Pools()[0].Get()
				defer conn.Close()
				c.before.put(m)
				got := run(t, conn, c.cmd)
				if c.fails != "" {
					if got.Err == nil || !strings.Contains(got.Err.Error(), c.fails) {
						t.Errorf("answer: got %+v, want an error with %q", got, c.fails)
					}
				} else if !reflect.DeepEqual(got, c.answer) {
					t.Errorf("answer: got %+v, want %+v", got, c.answer)
				}
				if got := lockAt(m); got != c.after {
					t.Errorf("lock: got %+v, want %+v", got, c.after)
				}
				again := run(t, conn, c.cmd)
				if reflect.DeepEqual(c.again, Answer{}) {
					c.again = c.answer
				}
				if c.fails == "" && !reflect.DeepEqual(again, c.again) {
					t.Errorf("answer to a repeat: got %+v, want %+v", again, c.again)
				}
				if got := lockAt(m); got != c.after {
					t.Errorf("lock after a repeat: got %+v, want %+v", got, c.after)
				}
			})
		})
	}
}

// What the cases have in common.
const (
	lease     = 30 * time.Second
	fenceLeft = lease + time.Hour // of a counter that was just set
	big       = 1<<53 - 1         // all digits must survive Lua's float64
)

func done(token int64) Answer { return Answer{Outcome: Done, Token: token} }

func decimal(n int64) string { return fmt.Sprint(n) }

// notLock is the error of a key that holds something else, as holder.lua tells it.
func notLock(what string) error { return Meaning(redis.Error("NOTLOCK " + what)) }

// id writes an owner, and what may stand behind it, in full: its client is a UUID.
func id(owner string) string {
	name, rest, _ := strings.Cut(owner, ":")
	return client(name) + ":" + rest
}

// client returns a UUID that has a client's name in it.
func client(name string) string {
	digits := fmt.Sprintf("%x", name)
	return uuid.MustParse(strings.Repeat("0", 32-len(digits)) + digits).String()
}
