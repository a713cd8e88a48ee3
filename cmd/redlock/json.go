package main

import (
	"errors"
	"time"
	"unicode/utf8"

	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

// What inspect prints with --json, and what others print of the same. Fields are never removed; new ones may be
// added. Times are in milliseconds.

// nameJSON is the name of a lock. JSON is UTF-8, and a name any bytes.
type nameJSON struct {
	Name  string `json:"name"`
	Bytes []byte `json:"name_base64,omitempty"` // if it is not UTF-8
}

func nameAsJSON(name string) nameJSON {
	if utf8.ValidString(name) {
		return nameJSON{Name: name}
	}
	return nameJSON{name, []byte(name)}
}

// clientJSON is a client.
type clientJSON struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Program string    `json:"program"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	SeenMS  int64     `json:"seen_ms"` // since it last said so
	Holds   int       `json:"holds"`
	Waits   int       `json:"waits"`
	Set     string    `json:"set"`
	Label   string    `json:"label,omitempty"` // of the set; only of clients
	Masters int       `json:"masters"`         // how many it uses
	Lease   int64     `json:"max_lease_ms"`
	Guard   int64     `json:"restart_guard_ms"` // 0: none
	At      int       `json:"at,omitempty"`     // how many have its record; only of clients
}

func clientAsJSON(c *redlock.ClientInfo) *clientJSON {
	if c == nil {
		return nil
	}
	return &clientJSON{
		ID: c.ID, Name: c.Name, Host: c.Host, PID: c.PID, Program: c.Program, Version: c.Version, Since: c.Since.UTC(),
		SeenMS: c.Seen.Milliseconds(), Holds: c.Holds, Waits: c.Waits, Set: c.Terms.String(), Masters: len(c.Terms.Masters),
		Lease: c.Terms.Lease.Milliseconds(), Guard: c.Terms.Guard.Milliseconds(), At: c.At,
	}
}

// inspection is what the masters say of a lock.
type inspection struct {
	nameJSON
	Held    *bool       `json:"held"` // null when too few masters answered
	Holder  string      `json:"holder,omitempty"`
	Client  *clientJSON `json:"client,omitempty"` // of the holder
	LeftMS  int64       `json:"left_ms"`
	ForMS   int64       `json:"for_ms"` // how long it has been held; 0 if that is not known
	Readers []reader    `json:"readers,omitempty"`
	Error   string      `json:"error,omitempty"`
	Masters []master    `json:"masters"`
}

type master struct {
	Master  string   `json:"master"`
	Holder  string   `json:"holder,omitempty"`
	Count   int      `json:"count"`
	LeftMS  int64    `json:"left_ms"`
	Token   int64    `json:"token"`
	GuardMS int64    `json:"guard_ms"`
	Error   string   `json:"error,omitempty"`
	Readers []reader `json:"readers,omitempty"`
	Queue   []waiter `json:"queue,omitempty"`
}

// reader is one of those who hold a lock for reading.
type reader struct {
	Owner  string      `json:"owner"`
	Client *clientJSON `json:"client,omitempty"`
	LeftMS int64       `json:"left_ms"`
}

// waiter is one of those who wait, the first one first.
type waiter struct {
	Owner  string      `json:"owner"`
	Client *clientJSON `json:"client,omitempty"`
	Shared bool        `json:"shared,omitempty"`
	Slot   *int        `json:"slot,omitempty"` // of a permit, for which it waits
}

// permitsReport is what the masters say of permits.
type permitsReport struct {
	nameJSON
	Held    *int            `json:"held"` // null when too few masters answered
	Slots   []slot          `json:"slots"`
	Error   string          `json:"error,omitempty"`
	Masters []permitsMaster `json:"masters"`
}

type permitsMaster struct {
	Master  string   `json:"master"`
	Slots   []slot   `json:"slots"`
	Queue   []waiter `json:"queue,omitempty"`
	GuardMS int64    `json:"guard_ms"`
	Error   string   `json:"error,omitempty"`
}

type slot struct {
	Slot   int         `json:"slot"`
	Holder string      `json:"holder"`
	Client *clientJSON `json:"client,omitempty"`
	LeftMS int64       `json:"left_ms"`
	ForMS  int64       `json:"for_ms"` // how long it has been held; 0 if that is not known, as of one master
	Token  int64       `json:"token"`
}

// eachAs returns the JSON forms of all, which are none and not null if there are none.
func eachAs[T, J any](all []T, form func(T) J) []J {
	list := make([]J, 0, len(all))
	for _, one := range all {
		list = append(list, form(one))
	}
	return list
}

func readerAsJSON(r redlockadmin.Reader) reader {
	return reader{r.Owner, clientAsJSON(r.Client), r.Remaining.Milliseconds()}
}

func waiterAsJSON(w redlockadmin.Waiter) waiter {
	return waiter{Owner: w.Owner, Client: clientAsJSON(w.Client), Shared: w.Shared}
}

func permitWaiterAsJSON(w redlockadmin.Waiter) waiter {
	return waiter{Owner: w.Owner, Client: clientAsJSON(w.Client), Slot: &w.Slot}
}

func slotAsJSON(s redlockadmin.Slot) slot {
	return slot{s.Number, s.Owner, clientAsJSON(s.Client), s.Remaining.Milliseconds(), s.HeldFor.Milliseconds(), s.Token}
}

func inspectionAsJSON(seen redlockadmin.Inspection, err error) inspection {
	report := inspection{
		nameJSON: nameAsJSON(seen.Name), Holder: seen.Holder, Client: clientAsJSON(seen.Client), LeftMS: seen.Remaining.Milliseconds(), ForMS: seen.HeldFor.Milliseconds(),
		Readers: eachAs(seen.Readers, readerAsJSON), Error: bare(err, ""),
		Masters: eachAs(seen.Masters, func(m redlockadmin.MasterState) master {
			return master{
				Master: m.Master, Holder: m.Holder, Count: m.Count,
				LeftMS: m.Remaining.Milliseconds(), Token: m.Token, GuardMS: m.Guard.Milliseconds(), Error: bare(m.Err, m.Master),
				Readers: eachAs(m.Readers, readerAsJSON), Queue: eachAs(m.Queue, waiterAsJSON),
			}
		}),
	}
	if !errors.Is(err, redlock.ErrNoQuorum) {
		report.Held = &seen.Held
	}
	return report
}

func permitsAsJSON(seen redlockadmin.SemaphoreInspection, err error) permitsReport {
	report := permitsReport{
		nameJSON: nameAsJSON(seen.Name), Slots: eachAs(seen.Slots, slotAsJSON), Error: bare(err, ""),
		Masters: eachAs(seen.Masters, func(m redlockadmin.SemaphoreState) permitsMaster {
			return permitsMaster{
				Master: m.Master, Slots: eachAs(m.Slots, slotAsJSON), Queue: eachAs(m.Queue, permitWaiterAsJSON),
				GuardMS: m.Guard.Milliseconds(), Error: bare(m.Err, m.Master),
			}
		}),
	}
	if held := len(seen.Slots); !errors.Is(err, redlock.ErrNoQuorum) {
		report.Held = &held
	}
	return report
}
