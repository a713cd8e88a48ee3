package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/doctor/probe"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlock"
)

// well returns the facts of n masters with which nothing is wrong.
func well(n int) []probe.Facts {
	facts := make([]probe.Facts, n)
	for i := range facts {
		facts[i] = probe.Facts{
			Name:    fmt.Sprintf("m%d", i+1),
			Reached: true,
			Info: map[string]string{
				"run_id": fmt.Sprintf("%08d%032d", i, 0), "redis_version": "7.0.15", "role": "master", "uptime_in_seconds": "86400",
				"maxmemory": "0", "maxmemory_policy": "noeviction", "used_memory": "1000000", "used_memory_rss": "5000000",
				"total_system_memory": "8000000000", "evicted_keys": "0", "connected_clients": "12", "maxclients": "10000",
				"connected_slaves": "0", "cluster_enabled": "0", "latest_fork_usec": "300",
				"aof_enabled": "1", "aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok",
			},
			Settings: map[string]string{
				"appendonly": "yes", "appendfsync": "always", "save": "", "maxmemory": "0", "maxmemory-policy": "noeviction",
				"maxclients": "10000", "timeout": "0", "min-replicas-to-write": "0",
			},
			Trips:   []time.Duration{time.Millisecond, 2 * time.Millisecond, time.Millisecond},
			Scripts: []time.Duration{2 * time.Millisecond},
			Clock:   probe.ClockFacts{Known: true, Offset: time.Duration(i) * time.Millisecond, Over: 2 * time.Second},
			Users:   map[string]script.Record{"orders": {Name: "orders", Host: "h", PID: 1}, "reports": {Name: "reports", Host: "h", PID: 1}},
		}
	}
	return facts
}

// off is a Config without a guard.
var off = redlock.Config{Masters: []string{"m1"}, RestartGuard: redlock.GuardOff}

func examined(t *testing.T, cfg redlock.Config, facts []probe.Facts) Report {
	t.Helper()
	cfg, err := cfg.WithDefaults()
	check.OK(t, err)
	return diagnose(cfg, facts)
}

func TestHealthyMastersHaveNoFindings(t *testing.T) {
	for _, n := range []int{3, 5} {
		for _, cfg := range []redlock.Config{off, {Masters: []string{"m1"}}} {
			report := examined(t, cfg, well(n))
			for _, f := range report.Findings {
				check.That(t, f.Severity == OK && f.Remedy == "" && f.Verdict != "", "%d healthy masters: %+v", n, f)
			}
			check.That(t, report.Safe() && report.Examined == n && report.Granting == n && report.Needed == n/2+1 && len(report.Findings) >= 10, "%d healthy masters: %+v", n, report)
		}
	}
}

// TestNothingExamined: a Config that redlock.New refuses is refused, and the report does not say that locks are safe.
func TestNothingExamined(t *testing.T) {
	for want, cfg := range map[string]redlock.Config{
		"Config has no Masters":  {},
		"Config.Pools[0] is nil": {Pools: []*redis.Pool{nil}},
	} {
		report, err := Examine(t.Context(), cfg, "")
		check.Says(t, err, want, "Examine")
		check.Equal(t, report.Safe(), false, "%s: Safe()", want)
	}
}

// TestReportIsRead: a program reads the JSON that another printed.
func TestReportIsRead(t *testing.T) {
	want := Report{Masters: []string{"m"}, Examined: 1, Needed: 1}
	for s := OK; s <= Error; s++ {
		want.Findings = append(want.Findings, Finding{ID: "role", Severity: s})
	}
	text, _ := json.Marshal(want)
	var got Report
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if err := got.Findings[0].Severity.UnmarshalText([]byte("bad")); err == nil {
		t.Error("bad is read as a severity")
	}
	for _, s := range []Severity{-1, Error + 1} { // that somebody computed
		check.Equal(t, s.String(), fmt.Sprintf("Severity(%d)", int(s)), "a severity that is none")
	}
}

// lasts returns a certificate that has been good for some days, and is for some more.
func lasts(has, left int) *x509.Certificate {
	return &x509.Certificate{NotBefore: time.Now().AddDate(0, 0, -has), NotAfter: time.Now().AddDate(0, 0, left)}
}

// TestFindings: each row changes the facts about the second of five masters, and the report says so.
func TestFindings(t *testing.T) {
	info := func(name, value string) func(*probe.Facts) {
		return func(f *probe.Facts) { f.Info[name] = value }
	}
	set := func(name, value string) func(*probe.Facts) {
		return func(f *probe.Facts) { f.Settings[name] = value }
	}
	fails := func(err error) func(*probe.Facts) {
		return func(f *probe.Facts) { *f = probe.Facts{Name: f.Name, Err: err} }
	}
	unverified := func(why error) error { return &tls.CertificateVerificationError{Err: why} }
	noperm := redis.Error("NOPERM this user has no permissions to run the 'hset' command")
	trips := func(d time.Duration) func(*probe.Facts) {
		return func(f *probe.Facts) { f.Trips = []time.Duration{d, d, 2 * d} }
	}
	rate := func(gained, lost time.Duration) func(*probe.Facts) {
		return func(f *probe.Facts) { f.Clock.Gained, f.Clock.Lost = gained, lost }
	}
	for _, tt := range []struct {
		name     string
		change   func(*probe.Facts)
		id       string
		severity Severity
		verdict  string // a part of it
		remedy   string
	}{
		{"dead", fails(errors.New("connect: connection refused")), "reachable", Warning, "connect: connection refused", ""},
		{"silent", fails(server.ErrTimeout), "reachable", Warning, "no answer in time", "see whether it hangs"},
		{"cut short", fails(context.DeadlineExceeded), "reachable", Warning, "ended before", "again"},
		{"password", fails(redis.Error("WRONGPASS invalid username-password pair")), "login", Warning, "WRONGPASS", "correct the user or the password"},
		{"no password", fails(redis.Error("NOAUTH Authentication required.")), "login", Warning, "NOAUTH", "REDLOCK_PASSWORD"},
		{"protected", fails(redis.Error("DENIED Redis is running in protected mode")), "protected-mode", Warning, "DENIED", "bind"},
		{"no room for a connection", fails(redis.Error("ERR max number of clients reached")), "max-clients", Warning, "ERR max number of clients", "raise maxclients"},
		{"certificate of another authority", fails(unverified(x509.UnknownAuthorityError{})), "tls", Warning, "unknown authority", "trust the certificate's issuer"},
		{"certificate expired", fails(unverified(x509.CertificateInvalidError{Reason: x509.Expired})), "tls", Warning, "expired", "a new certificate"},
		{"certificate of another host", fails(unverified(x509.HostnameError{Certificate: new(x509.Certificate), Host: "m2"})), "tls", Warning, "m2", "a name that the certificate has"},
		{"certificate ends soon", func(f *probe.Facts) { f.Certificates[0] = lasts(300, 10) }, "certificate", Warning, "its certificate ends at 2", "renew it"},
		{"certificate of the client ends soon", func(f *probe.Facts) { f.Certificates = [...]*x509.Certificate{lasts(300, 60), lasts(5, 1)} }, "certificate", Warning, "the client's certificate ends at 2", "renew it"},
		{"full pool", fails(redis.ErrPoolExhausted), "pool", Warning, "pool exhausted", "two connections"},
		{"old", func(f *probe.Facts) { f.Err = &server.VersionError{Version: "5.0.7"} }, "version", Warning, "runs Redis 5.0.7", "use Redis 6.2"},
		{"other server", info("dragonfly_version", "df-v1.21.0"), "version", Note, "runs Dragonfly 1.21.0", "try it"},
		{"replica", func(f *probe.Facts) {
			f.Err = server.ErrReplica
			f.Info["master_host"], f.Info["master_port"] = "10.0.0.9", "6379"
		}, "role", Warning, "is a replica, not a master (of 10.0.0.9:6379)", "its master's address"},
		{"Sentinel", asSentinel, "role", Warning, "is a Sentinel, not a master", "a master that it watches"},
		{"loading", fails(redis.Error("LOADING Redis is loading the dataset in memory")), "reachable", Warning, "LOADING", "time"},
		{"replicas attached", info("connected_slaves", "2"), "replicas", Note, "has 2 replicas", "never promote"},
		{"same server", info("run_id", fmt.Sprintf("%040d", 0)), "same-server", Warning, "is the same server as m1", "once"},
		{"min replicas", set("min-replicas-to-write", "1"), "min-replicas", Warning, "is 1", "CONFIG SET min-replicas-to-write 0"},
		{"as in a cluster", func(f *probe.Facts) { f.Err = redis.Error("CLUSTERDOWN Hash slot not served") }, "cluster", Warning, "CLUSTERDOWN", "plain masters"},
		{"cluster", info("cluster_enabled", "1"), "cluster", Warning, "cluster mode", "plain masters"},

		{"guarded", func(f *probe.Facts) { f.Guard = 20 * time.Second; f.Info["uptime_in_seconds"] = "11" }, "guard", Warning, "restarted 11s ago, and grants nothing for another 20s", "wait"},
		{"guarded, and its clock was set back", func(f *probe.Facts) { f.Guard = 20 * time.Second; f.Info["uptime_in_seconds"] = "-300" }, "guard", Warning, "restarted 0s ago, and grants nothing for another 20s", "wait"},
		{"guarded, and older than there is", func(f *probe.Facts) { f.Guard = 20 * time.Second; f.Info["uptime_in_seconds"] = "9223372036854775807" }, "guard", Warning, "restarted 2562047h47m16s ago", "wait"},
		{"promoted", func(f *probe.Facts) { f.Guard, f.Promoted = 20*time.Second, true }, "guard", Warning, "was promoted", ""},
		{"age unknown", func(f *probe.Facts) { f.Guard, f.Info = 2*never, nil }, "guard", Warning, "does not say how long", "permit INFO"},
		{"run id unknown", func(f *probe.Facts) { f.Guard = 2 * never; delete(f.Info, "run_id") }, "guard", Warning, "does not say how long", "permit INFO"},
		{"no persistence", set("appendonly", "no"), "restart-guard", Error, "off, but with appendonly no a restart forgets", "RestartGuard"},
		{"late fsync", set("appendfsync", "everysec"), "restart-guard", Error, "with appendfsync everysec", "appendfsync always"},
		{"no fsync at times", set("no-appendfsync-on-rewrite", "yes"), "restart-guard", Error, "with appendfsync always and no-appendfsync-on-rewrite yes", "no-appendfsync-on-rewrite no"},
		{"replays as a user without rights", func(f *probe.Facts) { f.Drops = true }, "restart-guard", Error, "a restart may drop what scripts wrote", "ACL SETUSER default off resetpass ~* &* +@all"},
		{"persistence unseen", func(f *probe.Facts) { f.Settings = nil }, "restart-guard", Warning, "could not be seen", "look by hand"},
		{"no AOF, by INFO", func(f *probe.Facts) { f.Settings = nil; f.Info["aof_enabled"] = "0" }, "restart-guard", Error, "appendonly no", ""},
		{"disk", info("aof_last_write_status", "err"), "persistence", Warning, "could not write to its disk", "free some disk"},
		{"failed snapshot", info("rdb_last_bgsave_status", "err"), "persistence", Warning, "could not write to its disk", "free some disk"},
		{"snapshots", set("save", "3600 1"), "persistence", Note, `"3600 1"`, "CONFIG SET save"},

		{"evicts", func(f *probe.Facts) {
			f.Settings["maxmemory-policy"], f.Settings["maxmemory"] = "allkeys-lru", "100000000"
		}, "eviction-policy", Error, "allkeys-lru, and 1% of maxmemory (100 MB)", "noeviction"},
		{"would evict", set("maxmemory-policy", "volatile-ttl"), "eviction-policy", Warning, "volatile-ttl", "noeviction"},
		{"evicts, by INFO", func(f *probe.Facts) {
			f.Settings = nil
			f.Info["maxmemory_policy"], f.Info["maxmemory"] = "allkeys-lru", "2000000"
		}, "eviction-policy", Error, "50% of maxmemory (2000 kB)", "noeviction"},
		{"policy unseen", func(f *probe.Facts) { f.Settings, f.Info = nil, nil }, "eviction-policy", Note, "could not be seen", "by hand"},
		{"has evicted", info("evicted_keys", "17"), "evicted-keys", Warning, "evicted 17 keys", "memory"},
		{"has evicted and goes on", func(f *probe.Facts) {
			f.Info["evicted_keys"], f.Settings["maxmemory-policy"] = "1", "allkeys-lru"
		}, "evicted-keys", Error, "evicted 1 key since", "cache"},
		{"full", set("maxmemory", "1100000"), "memory", Warning, "90% of maxmemory (1100 kB)", "more memory"},
		{"full of more than there is", func(f *probe.Facts) {
			f.Settings["maxmemory"], f.Info["used_memory"] = "50000000000000000", "100000000000000000"
		}, "memory", Warning, "200% of maxmemory (50000 TB)", "more memory"},
		{"evicts, and of more than there is", func(f *probe.Facts) {
			f.Settings["maxmemory-policy"] = "allkeys-lru"
			f.Settings["maxmemory"], f.Info["used_memory"] = "200000000000000000", "100000000000000000"
		}, "eviction-policy", Error, "50% of maxmemory", "noeviction"},
		{"evicts, and less than nothing is used", func(f *probe.Facts) {
			f.Settings["maxmemory-policy"] = "allkeys-lru"
			f.Settings["maxmemory"], f.Info["used_memory"] = "1000000", "-9000000000000000000"
		}, "eviction-policy", Error, "0% of maxmemory", "noeviction"},
		{"machine full", info("used_memory_rss", "7900000000"), "memory", Warning, "98% of the machine's memory (8000 MB)", ""},

		{"an hour ahead", func(f *probe.Facts) { f.Clock.Offset = time.Hour }, "clock-offset", Warning, "is 1h0m0s ahead of the median", "NTP"},
		{"behind", func(f *probe.Facts) { f.Clock.Offset = -2 * time.Second }, "clock-offset", Warning, "is 2s behind the median", "NTP"},
		{"fast", rate(100*time.Millisecond, 0), "clock-rate", Warning, "gained 100ms in 2s, and leases allow for 22ms", "slewed"},
		{"slow", rate(0, 100*time.Millisecond), "clock-rate", Warning, "lost 100ms in 2s", "slewed"},
		{"far", trips(600 * time.Millisecond), "round-trip", Warning, "takes 600ms (600ms to 1.2s), and NodeTimeout is 500ms: clients take the master for dead", "a NodeTimeout of 2.4s or more and a Lease of 24s or more"},
		{"near the timeout", trips(300 * time.Millisecond), "round-trip", Warning, "now and then", "NodeTimeout of 1.2s"},

		{"open", func(f *probe.Facts) {
			f.Open, f.Settings["protected-mode"], f.Settings["bind"] = true, "no", "0.0.0.0"
		}, "no-password", Warning, "without a password (it listens on 0.0.0.0, with protected-mode off)", "ACL SETUSER default off"},
		{"open everywhere", func(f *probe.Facts) {
			f.Open, f.Settings["protected-mode"], f.Settings["bind"] = true, "no", ""
		}, "no-password", Warning, "(it listens on every address, with protected-mode off)", ""},
		{"open, and CONFIG refused", func(f *probe.Facts) { f.Open, f.Settings = true, nil }, "no-password", Warning, "(where it listens could not be seen)", "ACL SETUSER default off"},
		{"all channels", set("acl-pubsub-default", "allchannels"), "channels", Note, "acl-pubsub-default is allchannels", "resetchannels"},

		{"command denied", func(f *probe.Facts) {
			f.Denials = []probe.Refusal{{What: "+hset", Err: noperm}, {What: "+zadd", Err: noperm}}
			f.Trials = []probe.Refusal{{What: "acquire", Err: noperm}}
		}, "permissions", Warning, "the user lacks +hset +zadd: no lock", "ACL SETUSER … +hset +zadd"},
		{"luxury denied", func(f *probe.Facts) {
			f.Denials = []probe.Refusal{{What: "+client|kill", Err: noperm, Without: "this and that"}}
		}, "permissions", Warning, "the user lacks +client|kill: this and that", "+client|kill"},
		{"scratch denied", func(f *probe.Facts) {
			f.Denials = []probe.Refusal{{What: probe.AllNames, Err: noperm}, {What: "~redlock_fence:*", Err: noperm}}
		}, "permissions", Error, "may not use every name: doctor made one up", "--name"},
		{"renamed", func(f *probe.Facts) {
			f.Denials = []probe.Refusal{{What: "+evalsha", Err: redis.Error("ERR unknown command 'EVALSHA', with args beginning with: ")}}
		}, "commands", Warning, "does not know EVALSHA", "do not rename"},
		{"out of memory", func(f *probe.Facts) {
			f.Trials = []probe.Refusal{{What: "acquire", Err: redis.Error("OOM command not allowed when used memory > 'maxmemory'.")}}
		}, "trial", Warning, "to acquire fails on a scratch name: OOM", "memory: a key that expires"},
		{"no subscription", func(f *probe.Facts) { f.Channel = redis.ErrPoolExhausted }, "subscription", Warning, "no subscription", "two connections"},
		{"silent subscription", func(f *probe.Facts) { f.Channel = server.ErrTimeout }, "subscription", Warning, "no answer in time", "room for two"},
		{"slow scripts", func(f *probe.Facts) { f.Scripts = []time.Duration{time.Second} }, "script-latency", Warning, "up to 999ms longer", "see what else"},
		{"slow commands", func(f *probe.Facts) { f.Slow = probe.SlowCommand{Command: "KEYS", Took: time.Second} }, "slow-commands", Warning, "KEYS took 1s", "SLOWLOG"},
		{"slow fork", info("latest_fork_usec", "400000"), "fork", Warning, "took 400ms", "fewer"},
		{"fork longer than there is", info("latest_fork_usec", "9223372036854775807"), "fork", Warning, "took 2562047h47m16", "fewer"},
		{"idle timeout", set("timeout", "10"), "idle-timeout", Warning, "timeout is 10 s", "CONFIG SET timeout 0"},
		{"many clients", info("connected_clients", "9000"), "max-clients", Warning, "9000 clients of 10000", "raise"},
		{"more clients than there are", info("connected_clients", "100000000000000000"), "max-clients", Warning, "of 10000 that", "raise"},
		{"foreign locks", func(f *probe.Facts) { f.Sample = probe.Sample{Scanned: 9, Tokens: []string{"a", "b", "c", "d"}} }, "foreign-locks", Warning, `4 of 9 keys looked at`, "same library"},
		{"Redisson", func(f *probe.Facts) { f.Sample.Redisson = []string{"a"} }, "redisson", Note, `"a"`, "docs/migrating.md"},
		{"foreign keys", func(f *probe.Facts) { f.Sample.Wrong = []string{"redlock_fence:{a}"} }, "foreign-keys", Warning, `1 key of another type`, "delete"},
		{"other set", func(f *probe.Facts) {
			f.Uses = []script.Use{inUse("orders", "00000000 11111111 22222222")}
		}, "other-sets", Error, "run 11111111 and run 22222222: majorities", "wrong masters"},
		{"another route", func(f *probe.Facts) {
			one, other := inUse("reports", fiveRuns), inUse("orders", fiveRuns)
			one.Now, other.Now, other.Next = []string{"1", "2"}, []string{"1", "3"}, []string{"1"}
			f.Uses = []script.Use{one, other}
		}, "other-sets", Error, "reports on h (pid 1) spreads names over the sets 1, 2, and orders on h (pid 1) over the sets 1, 3 now and 1 next", "wrong sets"},
		{"another layout", func(f *probe.Facts) {
			f.Uses = []script.Use{inUse("orders", fiveRuns)}
			f.Uses[0].Layout = script.Layout + 1
		}, "other-sets", Error, "orders on h (pid 1) stores locks in layout 2, and this library in layout 1", "one layout"},
		{"leases above a guard", func(f *probe.Facts) {
			long, short := inUse("reports", fiveRuns), inUse("orders", fiveRuns)
			long.Lease, long.Guard = 300_000, 300_000
			f.Uses = []script.Use{long, short}
		}, "leases", Error, "reports on h (pid 1) takes leases of 5m0s, and orders on h (pid 1) has a restart guard of 30s", "raise the restart guard"},
		{"unseen", func(f *probe.Facts) {
			f.Unseen = []probe.Refusal{{What: "SLOWLOG", Err: noperm}, {What: "SCAN", Err: noperm}}
		}, "unseen", Note, "SLOWLOG, SCAN refused (NOPERM", "as a user that may"},
		{"unseen in a cluster", func(f *probe.Facts) {
			f.Unseen = []probe.Refusal{{What: "redlock_sets", Err: redis.Error("CLUSTERDOWN Hash slot not served")}}
		}, "unseen", Note, "redlock_sets refused (CLUSTERDOWN", "use plain masters"},
		{"unseen without the command", func(f *probe.Facts) {
			f.Unseen = []probe.Refusal{{What: "CONFIG GET", Err: redis.Error("ERR unknown command 'CONFIG', with args beginning with: 'GET' 'save' ")}}
		}, "unseen", Note, "CONFIG GET refused (ERR unknown command 'CONFIG')", "look by hand"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			facts := well(5)
			tt.change(&facts[1])
			report := examined(t, off, facts)
			found := report.Find(tt.id)
			if len(found) != 1 {
				t.Fatalf("%d findings %q, want one: %+v", len(found), tt.id, report.Findings)
			}
			f := found[0]
			if f.Severity != tt.severity || !slices.Equal(f.Masters, []string{"m2"}) || !strings.Contains(f.Verdict, tt.verdict) || !strings.Contains(f.Remedy, tt.remedy) {
				t.Errorf("got %+v\nwant %v of m2: %q -> %q", f, tt.severity, tt.verdict, tt.remedy)
			}
			check.That(t, f.Remedy != "" || tt.name == "dead", "%+v has no remedy", f)
			check.Equal(t, report.Safe(), tt.severity < Error, "Safe() with severity %v", tt.severity)
		})
	}
}

// told is what a report says under that ID: each finding with its severity and its masters.
func told(report Report, id string) (all []string) {
	for _, f := range report.Find(id) {
		of := ""
		if f.Masters != nil {
			of = " of " + strings.Join(f.Masters, ", ")
		}
		all = append(all, fmt.Sprintf("%v%s: %s -> %s", f.Severity, of, f.Verdict, f.Remedy))
	}
	return all
}

// TestFindingsOfMany: each row changes the facts about some masters, and of that check the report says this, and no more.
func TestFindingsOfMany(t *testing.T) {
	guarded := redlock.Config{Masters: []string{"m1"}}
	none := func([]probe.Facts) {}
	first := func(n int, change func(*probe.Facts)) func([]probe.Facts) {
		return func(facts []probe.Facts) {
			for i := range n {
				change(&facts[i])
			}
		}
	}
	open := func(protected, bind string) func(*probe.Facts) {
		return func(f *probe.Facts) { f.Open, f.Settings["protected-mode"], f.Settings["bind"] = true, protected, bind }
	}
	onHost := func(f *probe.Facts) { f.Name = "h:" + f.Name[1:] }
	hosts := func(addresses map[string]string) func([]probe.Facts) { // by the masters' names
		return func(facts []probe.Facts) {
			for i, name := range slices.Sorted(maps.Keys(addresses)) {
				facts[i].Name = name
				for address := range strings.FieldsSeq(addresses[name]) {
					facts[i].Hosts = append(facts[i].Hosts, netip.MustParseAddr(address))
				}
			}
		}
	}
	guard := func(n int64, appendonly string) func([]probe.Facts) { // of a client of m2
		return func(facts []probe.Facts) {
			u := inUse("orders", "00000000 00000001 00000002")
			u.Guard, facts[1].Settings["appendonly"] = n, appendonly
			facts[1].Uses = []script.Use{u}
		}
	}
	unguarded := func(facts []probe.Facts) {
		facts[1].Settings["appendonly"] = "no"
		for i := range 64 {
			name := fmt.Sprintf("c%02d", i)
			facts[1].Users[name] = script.Record{Name: name, Host: "h", PID: 1}
			u := inUse(name, "00000000 00000001 00000002")
			u.Guard = 0
			facts[1].Uses = append(facts[1].Uses, u, u)
		}
	}
	settings := func(lease, guard time.Duration) redlock.Config {
		return redlock.Config{Masters: []string{"m1"}, Lease: lease, RestartGuard: guard}
	}
	other := first(1, func(f *probe.Facts) { f.Uses = []script.Use{inUse("orders", fiveRuns)} })
	used := func(change func(*probe.Facts), uses ...[]script.Use) func([]probe.Facts) { // those behind the first, which is changed
		return func(facts []probe.Facts) {
			change(&facts[0])
			for i := range uses {
				facts[i+1].Uses = uses[i]
			}
		}
	}
	as := func(*probe.Facts) {}
	dead := func(f *probe.Facts) { *f = probe.Facts{Name: f.Name, Err: server.ErrTimeout} }
	restarted := func(age string) func(*probe.Facts) {
		return func(f *probe.Facts) { f.Info["run_id"], f.Info["uptime_in_seconds"] = strings.Repeat("9", 40), age }
	}
	part := func(id, runs string) script.Use { u := inUse("orders", runs); u.Part = id; return u }
	all, elsewhere := part("1", fiveRuns), part("2", "00000000 11111111 22222222")
	one, two := part("1", "00000000 00000001 00000002"), part("2", "00000002 00000003 00000004")
	for _, tt := range []struct {
		name    string
		cfg     redlock.Config
		masters int
		change  func([]probe.Facts)
		id      string
		want    string // how the finding begins, with its severity and its masters; empty: there is none
	}{
		{"one", off, 1, none, "set-size", "warning: there is one master: no lock survives its loss"},
		{"two", off, 2, none, "set-size", "warning: there are two masters: a majority is both, so locks survive the loss of neither"},
		{"four", off, 4, none, "set-size", "note: 4 masters survive the loss of 1, which 3 do as well"},
		{"a minority is dead", off, 5, first(2, dead), "quorum", "warning: 3 of 5 masters can grant a lock, and 3 are needed: none of these may fail"},
		{"a majority is dead", off, 5, first(3, dead), "quorum", "error: 2 of 5 masters can grant a lock, and 3 are needed: nobody gets one"},
		{"one server by two names", off, 3, first(2, func(f *probe.Facts) { f.Info["run_id"] = strings.Repeat("0", 40) }), "quorum", "warning: 2 of 3 masters can grant a lock, and 2 are needed: none of these may fail"},
		{"all restarted", off, 3, first(3, func(f *probe.Facts) { f.Guard = 20 * time.Second }), "quorum", "error: 0 of 3 masters can grant a lock now, and 2 are needed: nobody gets one for another 20s -> wait"},
		{"one restarted, and one is dead", off, 3, func(facts []probe.Facts) { dead(&facts[0]); facts[1].Guard = 20 * time.Second }, "quorum", "error: 1 of 3 masters can grant a lock now, and 2 are needed: nobody gets one for another 20s -> wait, and see below what each"},
		{"a name that doctor made up", off, 3, first(3, func(f *probe.Facts) {
			f.Denials = []probe.Refusal{{What: probe.AllNames, Err: redis.Error("NOPERM No permissions to access a key")}}
		}), "quorum", "error: 0 of 3 masters can grant a lock of the name that doctor made up, and 2 are needed: of yours nothing is known"},
		{"said once of two", off, 5, func(facts []probe.Facts) { facts[1].Settings["timeout"], facts[3].Settings["timeout"] = "10", "10" }, "idle-timeout", "warning of m2, m4: timeout is 10 s"},

		{"open, and protected", off, 3, first(3, open("yes", "* -::*")), "no-password", ""},
		{"open to its own host", off, 3, first(3, open("no", "127.0.0.1 -::1")), "no-password", ""},

		{"a majority on one host", off, 5, first(3, onHost), "same-host", "warning: 3 of 5 masters are on one host, h: nobody gets a lock while it is down"},
		{"half on one host", off, 4, first(2, onHost), "same-host", "warning: 2 of 4 masters are on one host, h: nobody gets a lock while it is down"},
		{"two on one host", off, 5, first(2, onHost), "same-host", "note: 2 of 5 masters are on one host, h: they fail together"},
		{"sockets", off, 3, first(3, func(f *probe.Facts) { f.Name = "/run/" + f.Name }), "same-host", "warning: 3 of 3 masters are on one host, this one"},
		{"loopback", off, 3, hosts(map[string]string{"127.0.0.1:1": "127.0.0.1", "[::1]:2": "::1", "localhost:3": "127.0.0.1 ::1"}), "same-host", "warning: 3 of 3 masters are on one host, 127.0.0.1 = ::1 = localhost: nobody"},
		{"a socket", off, 3, hosts(map[string]string{"/run/redis.sock": "", "127.0.0.2:6379": "127.0.0.2", "m3:1": "10.0.0.3"}), "same-host", "warning: 2 of 3 masters are on one host, this one = 127.0.0.2: nobody"},
		{"an alias", off, 3, hosts(map[string]string{"db:1": "10.0.0.1", "cache:1": "fd00::1 10.0.0.1", "m3:1": "10.0.0.3"}), "same-host", "warning: 2 of 3 masters are on one host, cache = db: nobody"},
		{"a name of two", off, 3, hosts(map[string]string{"10.0.0.1:1": "10.0.0.1", "[fd00::1]:2": "fd00::1", "db:3": "fd00::1 10.0.0.1"}), "same-host", "warning: 3 of 3 masters are on one host, 10.0.0.1 = fd00::1 = db: nobody"},
		{"unlike", off, 3, hosts(map[string]string{"m1:1": "10.0.0.1", "m2:1": "10.0.0.2", "m3:1": ""}), "same-host", ""},

		// A client without a guard is unsafe on masters that forget, whatever guard doctor is given.
		{"a client without a guard, and all is on disk", guarded, 3, guard(0, "yes"), "restart-guard", ""},
		{"a client with a guard", guarded, 3, guard(30_000, "no"), "restart-guard", ""},
		{"a client without a guard", guarded, 3, guard(0, "no"), "restart-guard", "error of m2: orders on h (pid 1) has its restart guard off, but with appendonly no a restart forgets locks"},
		{"a client without a guard, and the disk unseen", guarded, 3, func(facts []probe.Facts) { guard(0, "")(facts); facts[1].Settings = nil }, "restart-guard", "warning of m2: orders on h (pid 1) has its restart guard off, and whether every lock is on disk could not be seen"},
		{"many clients without a guard, perhaps forged", guarded, 3, unguarded, "restart-guard", "error of m2: c00 on h (pid 1) and 63 more have their restart guard off, but with appendonly no"},

		// A client with doctor's own settings is refused where others' leases and guards do not fit.
		{"settings of others", guarded, 5, other, "leases", ""},
		{"a longer guard", settings(time.Second, time.Minute), 5, other, "leases", ""},
		{"no guard", settings(time.Second, redlock.GuardOff), 5, other, "leases", ""},
		{"a longer lease", settings(5*time.Minute, 0), 5, other, "leases", "warning of m1: orders on h (pid 1) takes leases of 30s with a restart guard of 30s, and here they are 5m0s and 5m0s"},
		{"a shorter guard", settings(2*time.Second, 2*time.Second), 5, other, "leases", "warning of m1: orders on h (pid 1) takes leases of 30s with a restart guard of 30s, and here they are 2s and 2s"},

		// A set that meets this one is none to tell of, nor another one of several sets that share masters.
		{"the same masters", off, 5, used(as, []script.Use{inUse("orders", fiveRuns)}), "other-sets", ""},
		{"most of the masters", off, 5, used(as, []script.Use{inUse("orders", "00000000 00000001 00000002 00000003")}), "other-sets", ""},
		{"another set, and its masters' addresses", off, 5, used(func(f *probe.Facts) { f.Name = "m1:6379" }, []script.Use{inUse("orders", "00000000 11111111 22222222")}), "other-sets", "error of m2: orders on h (pid 1) uses m1:6379, run 11111111 and run 22222222: majorities"},
		{"one of two sets", off, 5, used(as, []script.Use{all, elsewhere}), "other-sets", ""},
		{"one of two sets that share a master, which is down", off, 5, used(func(f *probe.Facts) { f.Info, f.Err = nil, server.ErrTimeout }, []script.Use{all, elsewhere}), "other-sets", ""},
		{"a client that does not know that m1 restarted", off, 5, used(func(f *probe.Facts) { f.Info["uptime_in_seconds"] = "30" }, []script.Use{inUse("orders", "99999999 00000001 00000002 00000003 00000004")}), "other-sets", ""},
		{"two sets that share m3, while m1 is down", off, 3, used(dead, []script.Use{one}, []script.Use{two, one}), "other-sets", ""},
		{"two sets that share m3, while m1 restarted", off, 3, used(restarted("30"), []script.Use{one}, []script.Use{two, one}), "other-sets", ""},
		{"two sets that share m3, while m1 restarted, and its clock was set back", off, 3, used(restarted("-300"), []script.Use{one}, []script.Use{two, one}), "other-sets", ""},
	} {
		facts := well(tt.masters)
		tt.change(facts)
		told := told(examined(t, tt.cfg, facts), tt.id)
		check.That(t, len(told) == min(len(tt.want), 1) && strings.HasPrefix(strings.Join(told, ""), tt.want), "%s: got %q, want %q", tt.name, told, tt.want)
	}
}

// TestClocks: the clocks that are off are told of, and no others. Where the masters' own have no middle, ours,
// of which the offsets are, decides.
func TestClocks(t *testing.T) {
	for _, tt := range []struct {
		seconds []float64
		want    []string
	}{
		{[]float64{0, 0, 5}, []string{"m3"}},
		{[]float64{-3600, 0, 0}, []string{"m1"}},
		{[]float64{3600, 3600, 3600}, nil}, // ours is off
		{[]float64{3600, 3600, 3605}, []string{"m3"}},
		{[]float64{0, 0, 0, 1.5, 1.5}, []string{"m4", "m5"}},
		{[]float64{0, 0, 0, 5, -5}, []string{"m4", "m5"}},
		{[]float64{0, 0, 0, 0, 5}, []string{"m5"}},
		{[]float64{0, 5}, []string{"m2"}},
		{[]float64{0, -5}, []string{"m2"}},
		{[]float64{5, 0, 5, 0}, []string{"m1", "m3"}},
		{[]float64{-5, 0, -5, 0}, []string{"m1", "m3"}},
		{[]float64{5}, nil},
	} {
		facts := well(len(tt.seconds))
		for i, s := range tt.seconds {
			facts[i].Clock.Offset = time.Duration(s * float64(time.Second))
		}
		var told []string
		for _, f := range examined(t, off, facts).Find("clock-offset") {
			told = append(told, f.Masters...)
		}
		slices.Sort(told)
		check.That(t, slices.Equal(told, tt.want), "clocks ahead by %v s: told of %v, want %v", tt.seconds, told, tt.want)
	}
}

// asSentinel turns the facts into what a probe of a Sentinel finds.
func asSentinel(f *probe.Facts) {
	*f = probe.Facts{Name: f.Name, Reached: true, Err: errors.New("is a Sentinel"), Info: map[string]string{"redis_mode": "sentinel", "redis_version": "7.0.15"}}
}

// TestSentinel: that it is one says all.
func TestSentinel(t *testing.T) {
	facts := well(5)
	asSentinel(&facts[1])
	for _, f := range examined(t, off, facts).Findings {
		check.That(t, f.ID == "role" || !slices.Contains(f.Masters, "m2"), "of a Sentinel: %+v", f)
	}
}

// TestOneMasterCannot: two of three masters are enough for locks, whatever the third one cannot do.
func TestOneMasterCannot(t *testing.T) {
	for name, change := range map[string]func(*probe.Facts){
		"is dead":       func(f *probe.Facts) { *f = probe.Facts{Name: f.Name, Err: server.ErrTimeout} },
		"is a Sentinel": asSentinel,
		"does not know EVALSHA": func(f *probe.Facts) {
			f.Denials = []probe.Refusal{{What: "+evalsha", Err: redis.Error("ERR unknown command 'EVALSHA'")}}
		},
		"permits no HSET": func(f *probe.Facts) { f.Denials = []probe.Refusal{{What: "+hset", Err: redis.Error("NOPERM")}} },
	} {
		for bad, want := range []Severity{OK, Warning, Error, Error} {
			facts := well(3)
			for i := range bad {
				change(&facts[i])
			}
			check.Equal(t, examined(t, off, facts).Worst(), want, "the worst of %d masters of 3, each of which %s,", bad, name)
		}
	}
}

const fiveRuns = "00000000 00000001 00000002 00000003 00000004"

// inUse is the use of masters with these run ids by a client that is called name.
func inUse(name, runs string) script.Use {
	u := script.Use{Terms: &script.Terms{Lease: 30_000, Guard: 30_000}, By: name}
	for run := range strings.FieldsSeq(runs) {
		u.Masters = append(u.Masters, script.Master{Run: run})
	}
	return u
}

// TestUsesUnseen: of what no master told, nothing is said.
func TestUsesUnseen(t *testing.T) {
	facts := well(3)
	for i := range facts {
		facts[i].Unseen = []probe.Refusal{{What: "redlock_sets", Err: redis.Error("NOPERM")}}
	}
	for _, f := range examined(t, off, facts).Findings {
		check.That(t, f.ID != "other-sets", "got %+v", f)
	}
}

// TestForgedUses: a client that forges as many uses as a master keeps does not bury what else is wrong: of each kind
// of conflict at a master there is one finding, which says how many more there are.
func TestForgedUses(t *testing.T) {
	const many = 64
	facts := well(3)
	for i := range many {
		overlaps := inUse("nobody", fmt.Sprintf("00000000 11111111 2222%04d", i))
		spreads := inUse("nobody", "00000000 00000001 00000002")
		spreads.Now = []string{fmt.Sprint(i)}
		stores := inUse("nobody", "00000000 00000001 00000002")
		stores.Layout = script.Layout + 1 + i
		outlasts := inUse("nobody", "00000000 00000001 00000002")
		outlasts.Lease = int64(60_000 + 1000*i)
		facts[1].Uses = append(facts[1].Uses, overlaps, spreads, stores, outlasts)
	}
	facts[2].Uses = facts[1].Uses
	report := examined(t, redlock.Config{Masters: []string{"m1"}}, facts)
	found := append(report.Find("other-sets"), report.Find("leases")...)
	for _, part := range []string{"need not meet", "over the sets", "in layout", "here they are", "has a restart guard"} {
		alike := slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return !strings.Contains(f.Verdict, part) })
		if len(alike) != 1 || !slices.Equal(alike[0].Masters, []string{"m2", "m3"}) || !strings.HasSuffix(alike[0].Verdict, " more like this)") {
			t.Errorf("%d findings of which master %q, such as %+v; want one of m2 and m3, and how many more there are", len(alike), part, alike[:min(1, len(alike))])
		}
	}
	check.Equal(t, len(found), 5, "findings")
}

// TestPage: docs/doctor.md says of each check what it means, and of nothing else.
func TestPage(t *testing.T) {
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(check.File(t, "../docs/doctor.md"), -1) {
		documented[row[1]] = true
	}
	for _, c := range checks {
		check.That(t, documented[c.id], "docs/doctor.md does not have %s", c.id)
		delete(documented, c.id)
	}
	for _, id := range slices.Sorted(maps.Keys(documented)) {
		t.Errorf("docs/doctor.md has %s, which is no check", id)
	}
}
