package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"example.com/redlock/doctor/probe"
	"example.com/redlock/node/server"
)

// kind returns which server it is, and of which version.
func kind(f *probe.Facts) string {
	for _, kind := range []struct{ field, name string }{
		{"valkey_version", "Valkey"}, {"dragonfly_version", "Dragonfly"}, {"garnet_version", "Garnet"},
	} {
		if v := f.Info[kind.field]; v != "" {
			return kind.name + " " + strings.TrimPrefix(v, "df-v")
		}
	}
	if v := f.Info["redis_version"]; v != "" {
		return "Redis " + v
	}
	return ""
}

func (e *exam) version(f *probe.Facts) {
	if old, ok := errors.AsType[*server.VersionError](f.Err); ok {
		e.note(f, "version", Warning, "use "+server.Remedy(f.Err), "%s", old.Error())
	} else if k := kind(f); k != "" && !strings.HasPrefix(k, "Redis") && !strings.HasPrefix(k, "Valkey") {
		e.note(f, "version", Note, "try it well before you rely on it", "runs %s, with which redlock is not tested", k)
	}
}

func (e *exam) versionOK() string {
	many := map[string]int{}
	for _, f := range e.reached {
		if k := kind(f); k != "" {
			many[k]++
		}
	}
	kinds := slices.Sorted(maps.Keys(many))
	if len(kinds) > 1 {
		for i, k := range kinds {
			kinds[i] = fmt.Sprintf("%s (%d)", k, many[k])
		}
	}
	return strings.Join(kinds, ", ")
}

// sentinel reports whether it is no master, nor anything like one. Valkey has a name of its own for it.
func sentinel(f *probe.Facts) bool {
	return cmp.Or(f.Info["redis_mode"], f.Info["server_mode"]) == "sentinel"
}

func (e *exam) role(f *probe.Facts) {
	if server.About(f.Err) == "role" && f.Err != nil {
		of := ""
		if host := f.Info["master_host"]; host != "" {
			of = fmt.Sprintf(" (of %s:%s)", host, f.Info["master_port"])
		}
		e.note(f, "role", Warning, "use its master's address; a replica's copy is of no use to a lock", "%s%s", f.Err, of)
	}
}

func (e *exam) roleOK() string {
	if slices.ContainsFunc(e.reached, func(f *probe.Facts) bool { return f.Info["role"] == "" }) {
		return ""
	}
	return "all that answer are masters"
}

func (e *exam) sameServer() {
	by := map[string]*probe.Facts{}
	for _, f := range e.facts {
		run := f.Info["run_id"]
		if run == "" {
			continue
		}
		if first := by[run]; first != nil {
			e.note(f, "same-server", Warning, "name each server once; a server of its own for each master",
				"is the same server as %s (run id %.8s): it has one vote, not two", first.Name, run)
		} else {
			by[run] = f
		}
	}
}

// sameHost notes masters that a single host takes with it. Those of Config.Pools have no address.
func (e *exam) sameHost() {
	type host struct {
		names     []string
		addresses []netip.Addr
		masters   int
	}
	var hosts []*host
	for _, f := range e.facts {
		name, addresses := located(f)
		if name == "" {
			continue
		}
		all := new(host)
		hosts = slices.DeleteFunc(hosts, func(h *host) bool {
			same := slices.Contains(h.names, name) || slices.ContainsFunc(addresses, func(a netip.Addr) bool { return slices.Contains(h.addresses, a) })
			if same {
				all.names, all.addresses, all.masters = append(all.names, h.names...), append(all.addresses, h.addresses...), all.masters+h.masters
			}
			return same
		})
		all.masters++
		all.addresses = append(all.addresses, addresses...)
		if !slices.Contains(all.names, name) {
			all.names = append(all.names, name)
		}
		hosts = append(hosts, all)
	}
	for _, h := range hosts {
		where := strings.Join(h.names, " = ")
		switch n := h.masters; {
		case n > len(e.facts)-e.need && n > 1:
			e.noteAll("same-host", Warning, "put each master on a host of its own", "%d of %d masters are on one host, %s: nobody gets a lock while it is down", n, len(e.facts), where)
		case n > 1:
			e.noteAll("same-host", Note, "put each master on a host of its own", "%d of %d masters are on one host, %s: they fail together", n, len(e.facts), where)
		}
	}
}

// located returns the name of a master's host, and its addresses, if they are known; no name: it has none. All
// addresses that lead back to this machine are one.
func located(f *probe.Facts) (name string, addresses []netip.Addr) {
	here := netip.IPv6Loopback()
	if strings.HasPrefix(f.Name, "/") {
		return "this one", []netip.Addr{here} // a socket
	}
	name, _, _ = net.SplitHostPort(f.Name)
	for _, a := range f.Hosts {
		if a = a.Unmap(); a.IsLoopback() {
			a = here
		}
		addresses = append(addresses, a)
	}
	return name, addresses
}

// certificate notes certificates that end soon.
func (e *exam) certificate(f *probe.Facts) {
	for i, c := range f.Certificates {
		if c != nil && server.EndsSoon(c) {
			e.note(f, "certificate", Warning, "renew it: docs/operations.md#tls says how to replace one that is in use",
				"%s ends at %s", [...]string{"its certificate", "the client's certificate"}[i], c.NotAfter.UTC().Format(time.DateTime))
		}
	}
}

// certificateOK says when the first certificate ends.
func (e *exam) certificateOK() string {
	var first time.Time
	for _, f := range e.reached {
		for _, c := range f.Certificates {
			if c != nil && (first.IsZero() || c.NotAfter.Before(first)) {
				first = c.NotAfter
			}
		}
	}
	if first.IsZero() {
		return ""
	}
	return "the first certificate to end does so at " + first.UTC().Format(time.DateTime)
}

// noPassword notes masters that let in everybody.
func (e *exam) noPassword(f *probe.Facts) {
	bind, known := f.Settings["bind"]
	if !f.Open || f.Settings["protected-mode"] == "yes" || known && local(bind) {
		return
	}
	listens := "where it listens could not be seen"
	if known {
		listens = fmt.Sprintf("it listens on %s, with protected-mode off", cmp.Or(bind, "every address"))
	}
	e.note(f, "no-password", Warning, "ACL SETUSER default off, and a user with a password for locks (see docs/operations.md#permissions)",
		"lets in everybody who reaches it, without a password (%s): who can write can take and free any lock", listens)
}

// local reports whether a server that binds to these addresses can be reached from its own host alone.
func local(bind string) bool {
	addresses := strings.Fields(bind)
	return len(addresses) > 0 && !slices.ContainsFunc(addresses, func(address string) bool {
		ip, err := netip.ParseAddr(strings.TrimPrefix(address, "-"))
		return err != nil || !ip.IsLoopback()
	})
}

func (e *exam) replicas(f *probe.Facts) {
	if n, _ := number(f, "connected_slaves"); n > 0 {
		e.note(f, "replicas", Note, "never promote one: replace a lost master with an empty one",
			"has %s attached, which may lack locks that it granted", count(n, "replica"))
	}
}

func (e *exam) minReplicas(f *probe.Facts) {
	if n, _ := number(f, "min-replicas-to-write"); n > 0 {
		e.note(f, "min-replicas", Warning, "CONFIG SET min-replicas-to-write 0, also in redis.conf: locks need no replicas",
			"min-replicas-to-write is %d: locks are refused while fewer replicas are connected", n)
	}
}

func (e *exam) cluster(f *probe.Facts) {
	if n, _ := number(f, "cluster_enabled"); n > 0 {
		e.note(f, "cluster", Warning, "use plain masters instead of a cluster",
			"runs in cluster mode, where some names fail and a failover may lose locks")
	} else if server.About(f.Err) == "cluster" {
		e.note(f, "cluster", Warning, server.Remedy(f.Err), "%s", f.Err)
	}
}

func (e *exam) unseen(f *probe.Facts) {
	because := map[string][]probe.Refusal{} // by what helps
	for _, u := range f.Unseen {
		remedy := cmp.Or(server.Remedy(u.Err), "look by hand")
		switch server.About(u.Err) {
		case "permissions":
			remedy = "run doctor as a user that may, see docs/doctor.md"
		case "commands":
			remedy = "look by hand"
		}
		because[remedy] = append(because[remedy], u)
	}
	for _, remedy := range slices.Sorted(maps.Keys(because)) {
		var refused, hidden []string
		for _, u := range because[remedy] {
			refused, hidden = append(refused, u.What), append(hidden, shows[u.What])
		}
		e.note(f, "unseen", Note, remedy, "%s refused (%s): doctor did not see %s",
			strings.Join(refused, ", "), said(because[remedy][0].Err), strings.Join(hidden, ", nor "))
	}
}

// said returns what a master says, without the arguments that it repeats.
func said(err error) string {
	text, _, _ := strings.Cut(err.Error(), ", with args")
	return text
}

// shows is what would be seen if a command were not refused.
var shows = map[string]string{
	"CONFIG GET":   "all settings",
	"INFO":         "what the master is",
	"ACL GETUSER":  "who needs no password",
	"SLOWLOG":      "slow commands",
	"SCAN":         "locks of other libraries",
	"GETRANGE":     "locks of other libraries",
	"redlock_sets": "which masters clients use",
}

// full is which share of its memory a master may use before it is said to be nearly full, in percent.
const full = 90

// limits returns the eviction policy, the limit of the memory and how much is used; 0: no limit.
func limits(f *probe.Facts) (policy string, limit, used int64) {
	limit, _ = number(f, "maxmemory")
	used, _ = number(f, "used_memory")
	return value(f, "maxmemory-policy"), limit, used
}

func (e *exam) evictionPolicy(f *probe.Facts) {
	const remedy = "CONFIG SET maxmemory-policy noeviction, also in redis.conf"
	switch policy, limit, used := limits(f); {
	case policy == "":
		e.note(f, "eviction-policy", Note, "permit INFO, or look by hand whether maxmemory-policy is noeviction", "maxmemory-policy could not be seen")
	case policy == "noeviction":
	case limit == 0:
		e.note(f, "eviction-policy", Warning, remedy, "maxmemory-policy is %s, which evicts locks as soon as somebody sets maxmemory", policy)
	default:
		e.note(f, "eviction-policy", Error, remedy,
			"maxmemory-policy is %s, and %.0f%% of maxmemory (%s) are used: to evict a lock is to unlock it", policy, percent(used, limit), size(limit))
	}
}

func (e *exam) evictedKeys(f *probe.Facts) {
	n, _ := number(f, "evicted_keys")
	if n == 0 {
		return
	}
	severity := Error
	if policy, _, _ := limits(f); policy == "noeviction" {
		severity = Warning
	}
	e.note(f, "evicted-keys", severity, "give it more memory; keep locks apart from a cache",
		"evicted %s since it started, with or without locks among them", count(n, "key"))
}

func (e *exam) memory(f *probe.Facts) {
	_, limit, used := limits(f)
	what := "maxmemory"
	if limit == 0 {
		limit, _ = number(f, "total_system_memory")
		used, _ = number(f, "used_memory_rss")
		what = "the machine's memory"
	}
	if limit > 0 && percent(used, limit) >= full {
		e.note(f, "memory", Warning, "give it more memory, or take out what is no lock",
			"%.0f%% of %s (%s) are used: a full master refuses locks (OOM)", percent(used, limit), what, size(limit))
	}
}

func (e *exam) memoryOK() string {
	var most int64
	for _, f := range e.reached {
		_, _, used := limits(f)
		most = max(most, used)
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf("at most %s used", size(most))
}
