package doctor

import (
	"fmt"
	"slices"
	"time"

	"example.com/redlock/doctor/probe"
)

func (e *exam) guard(f *probe.Facts) {
	age, known := span(f, "uptime_in_seconds", time.Second)
	switch {
	case f.Err != nil || f.Guard <= 0:
	case !known || f.Guard > never:
		e.note(f, "guard", Warning, "permit INFO, or turn the restart guard off if every write is on disk (appendfsync always)",
			"does not say how long it has been up, or which process it is, so it grants nothing")
	case f.Promoted:
		e.note(f, "guard", Warning, "time; each client that starts waits as long, until the master has had no replica for an hour",
			"was promoted from a replica and may lack locks, so it grants nothing to a client that starts now for %s", about(f.Guard))
	default:
		e.note(f, "guard", Warning, "wait, also before you restart another master",
			"restarted %s ago, and grants nothing for another %s", about(age), about(f.Guard))
	}
}

func (e *exam) guardOK() string {
	if e.cfg.RestartGuard < 0 {
		return ""
	}
	return fmt.Sprintf("all have been up for longer than the restart guard of %s", about(e.cfg.RestartGuard))
}

// durability is what a master keeps over a restart.
type durability int

const (
	unknown   durability = iota
	drops                // what scripts wrote, as its replay has no right to it
	forgets              // some or all of what it granted last
	remembers            // everything
)

// unsynced is a setting: while the server rewrites its file, appendfsync does not count.
const unsynced = "no-appendfsync-on-rewrite"

func durabilityOf(f *probe.Facts) durability {
	if f.Drops {
		return drops
	}
	aof, known := f.Settings["appendonly"]
	fsync, fsyncKnown := f.Settings["appendfsync"]
	switch {
	case !known && f.Info["aof_enabled"] == "0" || known && aof != "yes":
		return forgets
	case !known || !fsyncKnown:
		return unknown
	case fsync == "always" && f.Settings[unsynced] != "yes":
		return remembers
	}
	return forgets
}

// written says how a master persists.
func written(f *probe.Facts) string {
	if aof := f.Settings["appendonly"]; aof == "yes" {
		how := "appendfsync " + f.Settings["appendfsync"]
		if f.Settings[unsynced] == "yes" {
			how += " and " + unsynced + " yes"
		}
		return how
	}
	return "appendonly no"
}

// unguarded says whose guard is off of those who use a master, if any: doctor's own settings, or else clients.
func (e *exam) unguarded(f *probe.Facts) string {
	if e.cfg.RestartGuard < 0 {
		return "the restart guard is off"
	}
	var clients []string
	for _, u := range e.uses() {
		if u.at == f && u.said.Guard == 0 {
			clients = append(clients, u.by())
		}
	}
	slices.Sort(clients)
	switch clients = slices.Compact(clients); len(clients) {
	case 0:
		return ""
	case 1:
		return clients[0] + " has its restart guard off"
	}
	return fmt.Sprintf("%s and %d more have their restart guard off", clients[0], len(clients)-1) // forged ones, perhaps
}

func (e *exam) restartGuard(f *probe.Facts) {
	off := e.unguarded(f)
	if off == "" {
		return
	}
	switch durabilityOf(f) {
	case drops:
		e.note(f, "restart-guard", Error, "ACL SETUSER default off resetpass ~* &* +@all, which lets nobody in, or use a RestartGuard of MaxLease (the default)",
			"%s, but the user default lacks rights, so that a restart may drop what scripts wrote to the append-only file", off)
	case forgets:
		e.note(f, "restart-guard", Error, "use a RestartGuard of MaxLease (the default), or CONFIG SET appendonly yes, appendfsync always and no-appendfsync-on-rewrite no, also in redis.conf",
			"%s, but with %s a restart forgets locks, and grants them again", off, written(f))
	case unknown:
		e.note(f, "restart-guard", Warning, "look by hand whether appendfsync is always; otherwise use a RestartGuard of MaxLease (the default)",
			"%s, and whether every lock is on disk could not be seen", off)
	}
}

func (e *exam) restartGuardOK() string {
	durable := 0
	for _, f := range e.reached {
		if durabilityOf(f) == remembers {
			durable++
		}
	}
	switch {
	case e.cfg.RestartGuard < 0:
		return "off, and all write each lock to disk (appendfsync always)"
	case durable == len(e.facts):
		return fmt.Sprintf("%s, though it could be off: all write each lock to disk", about(e.cfg.RestartGuard))
	}
	return fmt.Sprintf("%s: a master that restarts grants nothing for that long", about(e.cfg.RestartGuard))
}

func (e *exam) persistence(f *probe.Facts) {
	if f.Info["aof_last_write_status"] == "err" || f.Info["rdb_last_bgsave_status"] == "err" {
		e.note(f, "persistence", Warning, "see the master's log; free some disk",
			"could not write to its disk last time, so locks may be refused (MISCONF)")
	}
	if save := f.Settings["save"]; save != "" {
		e.note(f, "persistence", Note, `CONFIG SET save "", also in redis.conf, unless something else needs the snapshots`,
			"save is %q: snapshots are of no use to a lock, and each forks the server", save)
	}
}
