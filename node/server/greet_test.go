package server

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
)

func TestIdentify(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply any
		want  Identity
		err   string
	}{
		{
			name:  "as Redis writes it",
			reply: []byte("# Server\r\nrun_id:abc\r\nuptime_in_seconds:12\r\n\r\n# Persistence\r\nloading:0\r\n# Replication\r\nrole:master\r\n"),
			want:  Identity{Run: "abc", Role: "master", Uptime: 12 * time.Second},
		},
		{
			name:  "some of the present second has passed",
			reply: []byte("run_id:a\nserver_time_usec:1795420800250000\nuptime_in_seconds:12"),
			want:  Identity{Run: "a", Uptime: 12*time.Second + 250*time.Millisecond},
		},
		{name: "strange time", reply: []byte("run_id:a\nserver_time_usec:-1\nuptime_in_seconds:12"), want: Identity{Run: "a", Uptime: 12 * time.Second}},
		{name: "a replica", reply: []byte("run_id:a\nrole:slave"), want: Identity{Run: "a", Role: "slave"}},
		{
			name:  "promoted",
			reply: []byte("run_id:a\r\nmaster_replid:bb\r\nmaster_replid2:c0\r\nsecond_repl_offset:1\r\n"),
			want:  Identity{Run: "a", History: "bb", Promoted: true},
		},
		{
			name:  "never a replica",
			reply: []byte("run_id:a\r\nmaster_replid:bb\r\nmaster_replid2:0000000000000000000000000000000000000000\r\nsecond_repl_offset:-1\r\n"),
			want:  Identity{Run: "a", History: "bb"},
		},
		{name: "no history", reply: []byte("run_id:a\nmaster_replid2:00\nsecond_repl_offset:7"), want: Identity{Run: "a"}},
		{name: "no offset", reply: []byte("run_id:a\nmaster_replid2:c0\nsecond_repl_offset:-1"), want: Identity{Run: "a"}},
		{name: "clock set back", reply: []byte("run_id:a\nuptime_in_seconds:-5"), want: Identity{Run: "a"}},
		{name: "no run id", reply: []byte("role:master"), want: Identity{Role: "master"}, err: "INFO: no run_id"},
		{name: "age out of all bounds", reply: []byte("run_id:a\nuptime_in_seconds:99999999999999999999"), want: Identity{Run: "a", Uptime: math.MaxInt32 * time.Second}, err: "uptime_in_seconds"},
		{name: "strange age", reply: []byte("run_id:a\nuptime_in_seconds:x"), want: Identity{Run: "a"}, err: "uptime_in_seconds"},
		{name: "refused", reply: redis.Error("NOPERM no"), err: "INFO: NOPERM no (the user needs the permission +info)"},
		{name: "nothing", reply: nil, err: "INFO"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Identify(tt.reply)
			err := got.Err
			got.Err = nil
			check.Equal(t, got, tt.want, "identify")
			if (err == nil) != (tt.err == "") || err != nil && !contains(err, tt.err) {
				t.Errorf("identify: got error %v, want %q", err, tt.err)
			}
		})
	}
}

func TestCheckVersion(t *testing.T) {
	for version, want := range map[string]bool{
		"2.8.24": true, "5.0.14": true, "6.0.16": true, "6.1.240": true, "6": true,
		"6.2.0": false, "6.2": false, "6.10.0": false, "7.0.15": false, "7.4.0-rc1": false, "255.255.255": false, "10.0.0": false,
		"": false, "unknown": false,
	} {
		check.Equal(t, checkVersion(version) != nil, want, "tooOld(%q)", version)
	}
}

func TestSampleOf(t *testing.T) {
	b := func(s string) []byte { return []byte(s) }
	for _, tt := range []struct {
		name  string
		reply any
		want  time.Time
	}{
		{"as Redis writes it", []any{b("1700000000"), b("42")}, time.Unix(1_700_000_000, 42_000)},
		{"nothing", nil, time.Time{}},
		{"refused", errors.New("NOPERM"), time.Time{}},
		{"one", []any{b("1")}, time.Time{}},
		{"no number", []any{b("1"), b("x")}, time.Time{}},
		{"no number either", []any{b("x"), b("1")}, time.Time{}},
		{"out of all bounds", []any{b("9223372036854775807"), b("1")}, time.Unix(1<<33, 1_000)},
		{"before time", []any{b("-9223372036854775807"), b("1")}, time.Time{}},
		{"too many microseconds", []any{b("1"), b("1000000")}, time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := SampleOf(clock.Instant{}, clock.Instant{}, tt.reply)
			check.That(t, got.Told.Equal(tt.want) && ok != tt.want.IsZero(), "SampleOf: got %v, %v, want %v", got.Told, ok, tt.want)
		})
	}
}

// TestNoMaster: a Sentinel, a node of a cluster, a Redis that is too old, a replica, one that cannot write to its disk and what
// is no Redis answer much as a master does, and are refused by name.
func TestNoMaster(t *testing.T) {
	for _, tt := range []struct {
		info, pong string
		want       error
		about      string
		heals      bool
	}{
		{"redis_version:7.0.15\nredis_mode:sentinel\nrun_id:a\n", "+PONG", errSentinel, "role", false},
		{"redis_version:6.0.16\nrun_id:a\n", "+PONG", &VersionError{"6.0.16"}, "version", false},
		{"redis_version:7.2.5\nredis_mode:cluster\nrun_id:a\nrole:master\n", "+PONG", errCluster, "cluster", false},
		{"redis_version:7.2.4\nvalkey_version:8.1.0\nserver_mode:cluster\nrun_id:a\nrole:master\n", "+PONG", errCluster, "cluster", false},
		{"redis_version:7.2.5\nrun_id:a\nrole:slave\n", "+PONG", ErrReplica, "role", true},
		{"redis_version:7.2.5\nrun_id:a\nrole:master\n", "+OK", fmt.Errorf("%w: PING is answered with a string of 2 bytes, \"OK\"", ErrReply), "reachable", true},
		{"redis_version:7.2.5\nrun_id:a\nrole:master\n", "-MISCONF Errors writing to the AOF file", redis.Error("MISCONF Errors writing to the AOF file"), "persistence", true},
	} {
		subtest(t, tt.want.Error(), func(t *testing.T) {
			err := greet(t, speaking(t, func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 4096))
				info := fmt.Sprintf("$%d\r\n%s\r\n", len(tt.info), tt.info)
				_, _ = io.WriteString(conn, info+info+"+id=7\r\n"+tt.pong+"\r\n*0\r\n*0\r\n")
				_, _ = io.Copy(io.Discard, conn)
			}))
			check.Equal(t, fmt.Sprint(err), tt.want.Error(), "Greet")
			check.That(t, Heals(err) == tt.heals && About(err) == tt.about, "%v heals: %v, and is about %q, want %v, %q", err, Heals(err), About(err), tt.heals, tt.about)
		})
	}
}

// TestPong: who answers PING with anything else answers something else than what it was asked.
func TestPong(t *testing.T) {
	for reply, want := range map[any]bool{"PONG": true, redis.Error("NOPERM no"): true, "OK": false, int64(1): false, nil: false} {
		check.Equal(t, CheckPong(reply) == nil, want, "%q is the answer to a PING", reply)
	}
	for _, reply := range []any{[]byte("PANG"), []any{[]byte("pong"), []byte("")}} {
		check.Err(t, "CheckPong", CheckPong(reply), ErrReply)
	}
}
