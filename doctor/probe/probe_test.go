package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	timeout = 500 * time.Millisecond
	lease   = 30 * time.Second
)

// client writes a client in full.
var client = check.Client

// bubble runs f in a synctest bubble, with a master and a pool for it.
func bubble(t *testing.T, f func(*testing.T, *redlocktest.Master, *redis.Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 1)
		f(t, fleet.Master(0), fleet.Pools()[0])
	})
}

// subtest runs f as a subtest, in a bubble.
func subtest(t *testing.T, name string, f func(*testing.T, *redlocktest.Master, *redis.Pool)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

// probed probes a master as doctor does.
func probed(ctx context.Context, pool *redis.Pool) Facts {
	return Run(ctx, Examination{Name: "m1", Pool: pool, Guard: lease, Patience: timeout, Scratch: "scratch"})
}

// TestProbe: what a healthy master tells, and that nothing is left of the scratch name.
func TestProbe(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, pool *redis.Pool) {
		m.Delay(time.Millisecond)
		m.Set("other", "value")
		start := time.Now()
		f := probed(t.Context(), pool)
		if f.Err != nil || !f.Reached || f.Channel != nil || len(f.Denials)+len(f.Trials) > 0 {
			t.Fatalf("Run = %+v", f)
		}
		check.That(t, f.Info["run_id"] != "" && f.Settings["maxmemory-policy"] == "noeviction" && f.Guard == 0 && !f.Promoted, "Run = %+v", f)
		if len(f.Trips) != manyTrips || f.Trips[0] != 2*time.Millisecond || len(f.Scripts) != manyTrips || f.Sample.Scanned != 1 {
			t.Errorf("trips %v, scripts %v, sample %+v", f.Trips, f.Scripts, f.Sample)
		}
		check.Between(t, time.Since(start), watchClock, 2*watchClock, "it took")
		check.Equal(t, strings.Join(m.Keys(), " "), "other", "keys afterwards")
	})
}

// TestTroubledMaster: the error says what it is, in bounded time.
func TestTroubledMaster(t *testing.T) {
	for _, tt := range []struct {
		name    string
		do      func(*redlocktest.Master)
		text    string
		about   string
		reached bool
	}{
		{"dead", (*redlocktest.Master).Kill, "connection refused", "reachable", false},
		{"frozen", (*redlocktest.Master).Freeze, "no answer in time", "reachable", false},
		{"cut off", (*redlocktest.Master).Cut, "no answer in time", "reachable", false},
		{"password", func(m *redlocktest.Master) { m.Password("secret") }, "NOAUTH", "login", false},
		{"replica", func(m *redlocktest.Master) { m.SetRole("slave") }, "is a replica", "role", true},
		{"loading", func(m *redlocktest.Master) { m.Refuse("LOADING Redis is loading") }, "LOADING", "reachable", true},
		{"disk", func(m *redlocktest.Master) { m.Refuse("MISCONF Errors writing to the AOF file") }, "MISCONF", "persistence", true},
	} {
		subtest(t, tt.name, func(t *testing.T, m *redlocktest.Master, pool *redis.Pool) {
			tt.do(m)
			start := time.Now()
			f := probed(t.Context(), pool)
			if f.Err == nil || !strings.Contains(f.Err.Error(), tt.text) || server.About(f.Err) != tt.about || f.Reached != tt.reached {
				t.Errorf("Err = %v about %q, reached %v; want %q about %q, reached %v", f.Err, server.About(f.Err), f.Reached, tt.text, tt.about, tt.reached)
			}
			check.AtMost(t, time.Since(start), server.FirstPatience, "it took")
		})
	}
}

// bombConn is a connection of a master whose messages are, or are followed by, what redigo panics at.
type bombConn struct {
	net.Conn
	behind bool
}

func (c *bombConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bytes.Contains(p[:n], []byte("$7\r\nmessage")) {
		if !c.behind {
			n = 0
		}
		n += copy(p[n:], "$999999999999999999\r\n")
	}
	return n, err
}

// TestBomb: what a master sends to a connection of a user's pool, which checks nothing, does not end the process,
// neither when it is read nor when the connection is closed.
func TestBomb(t *testing.T) {
	for _, behind := range []bool{false, true} {
		subtest(t, fmt.Sprintf("behind a message %v", behind), func(t *testing.T, m *redlocktest.Master, _ *redis.Pool) {
			pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
				conn, err := m.Dial(ctx)
				return redis.NewConn(&bombConn{conn, behind}, 0, 0), err
			}}
			f := probed(t.Context(), pool)
			if f.Err != nil || behind != (f.Channel == nil) || !behind && !errors.Is(f.Channel, server.ErrReply) {
				t.Errorf("Err = %v, Channel = %v", f.Err, f.Channel)
			}
		})
	}
}

func TestEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, pool *redis.Pool) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		f := probed(ctx, pool)
		if f.Err != context.DeadlineExceeded || time.Since(start) != time.Second || len(f.Scripts) == 0 {
			t.Errorf("Err = %v after %v, %d scripts; want what was known after a second", f.Err, time.Since(start), len(f.Scripts))
		}
		check.Equal(t, strings.Join(m.Keys(), " "), "", "keys afterwards")
	})
}

func TestComparesClocks(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, pool *redis.Pool) {
		m.Skew(time.Hour)
		m.SetUptime(10 * time.Second)
		m.Delay(time.Millisecond)
		go func() {
			time.Sleep(1500 * time.Millisecond)
			m.Skew(time.Hour + 100*time.Millisecond)
		}()
		f := probed(t.Context(), pool)
		c := f.Clock
		if !c.Known || (c.Offset-time.Hour).Abs() > time.Millisecond || c.Gained < 90*time.Millisecond || c.Gained > 100*time.Millisecond || c.Lost != 0 {
			t.Errorf("clock: %+v, want an hour ahead and 100 ms gained, less what was on the way", c)
		}
		check.That(t, f.Guard > 0 && f.Guard <= lease, "a guard of %v, 10 s after the start", f.Guard)
	})
}

// told is what a probe found out of rights, locks and keys, and why it ended.
func told(f Facts) string {
	var all []string
	say := func(what string, list ...string) {
		slices.Sort(list)
		if len(list) > 0 {
			all = append(all, what+" "+strings.Join(list, " "))
		}
	}
	whats := func(refused []Refusal) (list []string) {
		for _, r := range refused {
			list = append(list, r.What)
		}
		return list
	}
	say("denied", whats(f.Denials)...)
	say("failed", whats(f.Trials)...)
	say("unseen", whats(f.Unseen)...)
	say("tokens", f.Sample.Tokens...)
	say("Redisson", f.Sample.Redisson...)
	say("wrong", f.Sample.Wrong...)
	if f.Channel != nil {
		say("not subscribed:", f.Channel.Error())
	}
	if f.Err != nil {
		return strings.Join(append(all, f.Err.Error()), ", ")
	}
	return strings.Join(append(all, fmt.Sprintf("locked %v, scanned %d", len(f.Scripts) > 0, f.Sample.Scanned)), ", ")
}

// TestTells: what masters and pools keep from a probe is told, once, and what keys look like; it goes on to the
// end, and leaves nothing of its own behind. Masters in memory have no SLOWLOG.
func TestTells(t *testing.T) {
	replies := func(begin string, reply any) func(*redlocktest.Master, **redis.Pool) {
		return func(_ *redlocktest.Master, pool **redis.Pool) { *pool = bent.Reply(*pool, begin, reply) }
	}
	const noCommand = redis.Error("NOPERM this user has no permissions to run the command")
	for _, tt := range []struct {
		name string
		do   func(*redlocktest.Master, **redis.Pool)
		want string
	}{
		{"keys of others", func(_ *redlocktest.Master, pool **redis.Pool) {
			conn := (*pool).Get()
			defer conn.Close()
			for _, words := range [][]any{
				{"SET", "redsync", "c2l4dGVlbiByYW5kb20gYg==", "PX", 8000},
				{"SET", "bsm", "c2l4dGVlbiByYW5kb20gYg", "PX", 8000},
				{"SET", "session", "c2l4dGVlbiByYW5kb20gYg==", "PX", 86_400_000},
				{"SET", "forever", "c2l4dGVlbiByYW5kb20gYg=="},
				{"SET", "number", "1234567890123456789012", "PX", 8000},
				{"HSET", "java", "0b5c9aa4-1d0f-4c1c-9d0e-2f6b7f6f2b11:42", "1"},
				{"HSET", "ours", "0b5c9aa4-1d0f-4c1c-9d0e-2f6b7f6f2b11:r42", "1"},
				{"HSET", "redlock_fence:{n}", "a", "b"},
				{"SET", "redlock_fence:{m}", "17"},
			} {
				_, _ = conn.Do(words[0].(string), words[1:]...) // otherwise it is not scanned
			}
		}, "unseen SLOWLOG, tokens bsm redsync, Redisson java, wrong redlock_fence:{n}, locked true, scanned 9"},
		{"another tenant's key", func(m *redlocktest.Master, pool **redis.Pool) {
			m.Set("redlock_fence:{billing:7}", "17")
			m.Set("orders:1", "text")
			replies("TYPE redlock_fence:{billing:7}", redis.Error("NOPERM this user has no permissions to access one of the keys used as arguments"))(m, pool)
		}, "unseen SLOWLOG, locked true, scanned 1"},
		{"a field that is too long", func(m *redlocktest.Master, pool **redis.Pool) { // says nothing against the master
			m.HSet("another program's", strings.Repeat("x", 20_000), "1")
			own, _, err := server.Dialer{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return m.Dial(ctx) }}.Pool("m1")
			check.OK(t, err)
			*pool = own
		}, "unseen SCAN SLOWLOG, locked true, scanned 1"},
		{"no GETRANGE", func(m *redlocktest.Master, pool **redis.Pool) {
			m.Set("one of many", "text")
			replies("SCAN", []any{[]byte("7"), []any{[]byte("one of many")}})(m, pool)
			replies("GETRANGE one", noCommand)(m, pool)
		}, "unseen GETRANGE SLOWLOG, locked true, scanned 4"},
		{"no PING", replies("PING", redis.Error("ERR unknown command 'PING', with args beginning with: ")), "denied +ping, unseen SLOWLOG, locked true, scanned 0"},
		{"PING with another reply", replies("PING", []byte("HELLO")), `sends what is no reply to any of our commands: PING is answered with a string of 5 bytes, "HELLO"`},
		{"no DEL", replies("DEL", noCommand), "denied +del, unseen SLOWLOG, locked false, scanned 0"}, // what could not be deleted is not made
		{"a pool of one", func(_ *redlocktest.Master, pool **redis.Pool) { (*pool).MaxActive = 1 }, "unseen SLOWLOG, not subscribed: redigo: connection pool exhausted, locked true, scanned 0"},
	} {
		subtest(t, tt.name, func(t *testing.T, m *redlocktest.Master, pool *redis.Pool) {
			tt.do(m, &pool)
			before := m.Keys()
			f := probed(t.Context(), pool)
			check.Equal(t, told(f), tt.want, "what a probe tells")
			if !f.Reached || f.Err == nil && (!f.Clock.Known || f.Clock.Over < watchClock) {
				t.Errorf("reached %v, clock %+v", f.Reached, f.Clock)
			}
			check.Equal(t, fmt.Sprint(m.Keys()), fmt.Sprint(before), "keys afterwards")
		})
	}
}

// TestReadings: what a master says of itself, whatever that is.
func TestReadings(t *testing.T) {
	info, err := server.ReadInfo([]byte("# Server\r\nrun_id:a\r\n:\r\n:x\r\n\r\nno colon\r\nrole:"))
	check.OK(t, err)
	check.Equal(t, fmt.Sprint(info), "map[:x role: run_id:a]", "the fields")
	settings := new(probe).pairs([]any{[]any{[]byte("save"), bytes.Repeat([]byte("x"), 1e6)}, []any{[]byte("bind"), []byte("")}})
	save := settings["save"]
	check.That(t, strings.HasSuffix(save, "… (1000000 bytes)") && len(save) <= 300 && len(settings) == 2, "of a long setting there are %d bytes", len(save))
	user := func(flags, commands string, keys any) []any {
		list := []any{}
		for flag := range strings.FieldsSeq(flags) {
			list = append(list, []byte(flag))
		}
		return []any{[]byte("flags"), list, []byte("passwords"), []any{}, []byte("commands"), []byte(commands), []byte("keys"), keys}
	}
	for _, tt := range []struct {
		reply       any
		open, lacks bool
	}{
		{user("on allkeys nopass", "+@all", []any{[]byte("*")}), true, false}, // Redis 6.2
		{user("on nopass", "+@all", []byte("~*")), true, false},
		{user("off nopass", "+@all", []byte("~*")), false, false},
		{user("on", "+@all -flushall", []byte("~*")), false, true},
		{user("off", "-@all", []byte("")), false, true},
		{user("on", "+@all", []byte("~orders:*")), false, true},
		{redis.Error("NOPERM"), false, false},
		{[]any{[]byte("flags")}, false, false},
		{nil, false, false},
	} {
		open, lacks := defaultUser(tt.reply)
		check.That(t, open == tt.open && lacks == tt.lacks, "defaultUser(%q) = %v, %v, want %v, %v", tt.reply, open, lacks, tt.open, tt.lacks)
	}
}

// documentedRights returns what docs/operations.md has a user permitted: the rules of each line.
func documentedRights(t *testing.T) (lines [][]string) {
	t.Helper()
	page := check.File(t, "../../docs/operations.md")
	for _, line := range regexp.MustCompile(`(?m)^    ACL SETUSER locks .*$`).FindAllString(page, -1) {
		isNone := func(word string) bool { return !strings.ContainsAny(word[:1], "+~&") }
		lines = append(lines, slices.DeleteFunc(strings.Fields(line), isNone))
	}
	return lines
}

// TestRights: what is tried is what docs/operations.md has a user permitted.
func TestRights(t *testing.T) {
	want := documentedRights(t)[0]
	p := &probe{Examination: Examination{Scratch: "orders:doctor:1", Start: "orders:"}}
	got := []string{"+subscribe", "+unsubscribe"} // by listen
	for _, r := range p.rights() {
		got = append(got, r.rule)
	}
	slices.Sort(got)
	slices.Sort(want)
	check.That(t, len(want) >= 30 && slices.Equal(got, want), "tried\n%q\ndocs/operations.md has\n%q", got, want)
}

// TestTenants: of the keys and channels of locks, the user that docs/operations.md permits orders:* may use
// those of all such names, and none of any other.
func TestTenants(t *testing.T) {
	patterns := slices.DeleteFunc(slices.Concat(documentedRights(t)...), func(rule string) bool { return rule[0] == '+' })
	permits := func(what string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			start, open := strings.CutSuffix(pattern, "*")
			return what == pattern || open && strings.HasPrefix(what, start)
		})
	}
	for name, own := range map[string]bool{
		"orders:42": true, "orders:": true, "orders:a b*?[c]\\": true, "orders:{42}": true, "orders:}": true, "orders:{": true,
		"billing:1": false, "orders": false, "order:1": false, "billing:orders:1": false, "billing:{orders:1}": false, "x{orders:1": false,
		"billing:redlock_fence:{orders:1}": false, "{billing}": false, "*": false,
	} {
		all := []string{"&" + script.FreedChannel(name), "&" + script.FreedChannel(script.Slots(name))}
		for _, lock := range []string{name, script.SlotKey(name, 7)} {
			for _, key := range script.Traces(lock, client("me")+":r1") {
				all = append(all, "~"+key)
			}
		}
		for _, what := range all {
			check.Equal(t, permits(what), own, "of %q, %s is permitted", name, what)
		}
	}
	check.That(t, len(patterns) >= 20, "the page permits %q: this test looks in the wrong way", patterns)
}

// TestRefuses: which permission is missing, by the words of Redis 6.2, 7.0 and 7.2.
func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		said string
		rule byte
	}{
		{"NOPERM this user has no permissions to run the 'hset' command or its subcommand", '+'},
		{"NOPERM this user has no permissions to run the 'hset' command", '+'},
		{"NOPERM User keymaster has no permissions to run the 'hset' command", '+'},
		{"NOPERM this user has no permissions to access one of the keys used as arguments", '~'},
		{"NOPERM No permissions to access a key", '~'},
		{"NOPERM this user has no permissions to access one of the channels used as arguments", '&'},
		{"NOPERM No permissions to access a channel", '&'},
		{"ERR unknown command 'HSET', with args beginning with: 'k' 'f' 'v' ", '+'},
		{"WRONGTYPE Operation against a key holding the wrong kind of value", 0},
	} {
		for _, rule := range []string{"+hset", "~redlock_fence:*", "&redlock_wake:*"} {
			check.Equal(t, refuses(redis.Error(tt.said), rule), rule[0] == tt.rule, "%q refuses %s", tt.said, rule)
		}
	}
}

// TestTrialsLeaveWhatTracesKnow: without the deletion at the end, the keys that are left are among
// those that it would delete.
func TestTrialsLeaveWhatTracesKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 1)
		p := &probe{Examination: Examination{Scratch: "scratch"}, client: client("me")}
		conn := fleet.Pools()[0].Get()
		defer conn.Close()
		has, err := conn.Do("SCRIPT", script.Exist[1:]...)
		check.OK(t, err)
		loads, err := script.Missing(has)
		check.OK(t, err)
		for _, words := range loads {
			_, err := conn.Do("SCRIPT", words[1:]...)
			check.OK(t, err)
		}
		known := script.Traces("scratch", p.owners()...)
		seen := map[string]bool{}
		for _, trial := range p.trials(false) {
			words := trial.cmd.Words(nil, false)
			reply, err := conn.Do(words[0].(string), words[1:]...)
			check.OK(t, err)
			check.Equal(t, trial.cmd.Decode(reply).Outcome, trial.want, "%s", trial.what)
			for _, key := range fleet.Master(0).Keys() {
				seen[key] = true
				check.That(t, slices.Contains(known, key), "%s leaves %q, which is not deleted afterwards", trial.what, key)
			}
		}
		check.That(t, len(seen) >= 7, "only %d keys were seen: the trials do not try enough", len(seen))
	})
}
