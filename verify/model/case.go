package main

import (
	"slices"
	"time"

	"example.com/redlock/multilock/attempt"
)

// Case says what is searched: how many callers and masters there are, how far apart they are, and what may go wrong.
// Times are in ticks.
type Case struct {
	Name             string
	Masters, Callers int     // Sets and Roles, where given, determine these
	Sets             [][]int // masters of each client; nil: each has all. Masters in the same sets have adjacent numbers
	Delay            int     // of every message, one way
	Lease            int
	Less             int  // the lease of all callers but the first; 0: as the first
	Pause            int  // between two rounds, in addition to Trip, and half a lease at most; 0: 6
	Trip             int  // the longest round trip, as clients believe
	Far              int  // between two rounds of a waiter behind the first; 0: as for the first
	Near             bool // each caller is one tick away from its own master

	Dead      int    // masters that are never there
	Starts    bool   // callers begin at any time; else all at once
	Taken     bool   // the last caller has the lock when the others begin
	Comes     int    // how often callers that have gone may come again
	Tries     int    // so many callers, the last ones, do not wait
	Pairs     int    // so many pairs of callers, the first ones, are processes that have two sets: see pair.go
	Line      int    // so many callers, the first ones, stand in the line of one client
	Roles     string // W for a writer or R for a reader, for each caller; empty: all are writers
	Downgrade bool   // a writer may become a reader at any time
	Watch     bool   // holds are renewed for as long as they last
	Extends   bool   // a caller may extend its hold at any time
	Enters    int    // how often an owner may enter its hold again
	Wishes    string // a letter for each entry of a hold, in their order, see wish; empty: all are as Watch says
	Limit     int    // for so long after its beginning a limited entry wants renewals
	Leaks     bool   // an entry may leak instead of being given back
	Deaf      int    // so many callers, the last ones, receive no hand-offs, and ask instead
	Keepers   int    // so many callers, the first ones, have clients that keep locks
	Keep      int    // for so long
	Drift     bool   // masters end leases early, by up to the margin; see back

	Faults int // how many things may go wrong
	Kinds  fault
	Late   int  // ticks that a message may be late
	Jump   int  // by so much a master's clock may jump
	Kills  bool // a connection that is taken for broken is killed: what was under way on it is lost

	Tokens bool // counters count; else all tokens are 1
	Clocks bool // clients propose tokens by a clock, which advances

	Nightly, Teeth bool // the case is searched with that flag

	Unsafe bool // the search must find two holders

	configs [maxCallers]attempt.Config  // of each caller
	places  [maxCallers][maxMasters]int // of each master in the set of a caller, -1 if it is not in it
	class   [maxMasters]int             // masters that are alike have the same
	peers   [maxCallers]bool            // the caller can change places with the one before it
	handOff uint8                       // lease of a hand-off to the first waiter
}

func ticks(n int) time.Duration { return time.Duration(n) * tick }

// ready returns the case with its defaults, and with what follows from its fields.
func (k Case) ready() *Case {
	if k.Pause == 0 {
		k.Pause = 6
	}
	if k.Late == 0 {
		k.Late = 3
	}
	if k.Roles != "" {
		k.Callers = len(k.Roles)
	}
	for _, set := range k.Sets {
		k.Callers, k.Masters = len(k.Sets), max(k.Masters, set[len(set)-1]+1)
	}
	config := attempt.Config{Times: attempt.Times{
		FirstPause: ticks(k.Pause), LastPause: ticks(k.Pause),
		BackOff: ticks(1), Settle: ticks(1), TopUp: ticks(1), Split: ticks(2),
	}}
	if k.Far > 0 {
		config.Near, config.FarPause, config.Stagger = 1, ticks(k.Far), ticks(1)
	}
	k.sets(config)
	pause := min(k.Pause+k.Trip, k.Lease/2)
	k.handOff = uint8(min(2*(pause+k.Trip), k.Lease))
	for c := 1; c < k.Callers; c++ {
		k.peers[c] = k.same(c-1, c)
	}
	return &k
}

// guard is for how long a master has no vote after a restart, or after its clock jumped.
func (k *Case) guard() int64 { return int64(k.Lease + 1) }

// want is what a caller wants.
func (k *Case) want(c int) attempt.Want {
	return attempt.Want{
		Lease: ticks(k.lease(c)), Wait: c < k.Callers-k.Tries, Shared: k.reads(c),
		Keep: k.keeps(c),
	}
}

// lease returns the lease of a caller.
func (k *Case) lease(c int) int {
	if k.Less > 0 && c > 0 {
		return k.Less
	}
	return k.Lease
}

// reads reports whether a caller is a reader.
func (k *Case) reads(c int) bool { return c < len(k.Roles) && k.Roles[c] == 'R' }

// client returns the client of a caller.
func (k *Case) client(c int) int {
	if c < k.Line {
		return 0
	}
	return c
}

// deaf reports whether a caller receives no hand-offs.
func (k *Case) deaf(c int) bool { return c >= k.Callers-k.Deaf }

// inLine reports whether a caller begins only when the one before it has the lock or has given up: it stands behind a
// writer of its client, or is the second half of a process.
func (k *Case) inLine(c int) bool { return k.second(c) || k.client(c) != c && !k.reads(c-1) }

// delay is how long a message takes between a client and a master, either way.
func (k *Case) delay(client, m int) int {
	if k.Near && client == m {
		return 1
	}
	return k.Delay
}

// back is how long an answer or a hand-off takes. If every message took a tick, a margin of one tick would make no
// difference. So if clocks differ, the way back takes no time, and a lease may end early by the tick that the command
// took and by one more.
func (k *Case) back(client, m int) int {
	if k.Drift {
		return 0
	}
	return k.delay(client, m)
}

// first returns the first state.
func (k *Case) first() *World {
	w := &World{Now: begin, Faults: uint8(k.Faults), Comes: uint8(k.Comes), Enters: uint8(k.Enters)}
	for m := range k.Masters {
		w.Masters[m].Name, w.Masters[m].Dead = uint8(m), m < k.Dead
		if !k.Tokens {
			w.Masters[m].Lock.Counter = 1
		}
	}
	if k.Pairs > 0 && !k.Clocks {
		for _, m := range k.masters(0) { // where the name was locked before
			w.Masters[m].Lock.Counter = 2
		}
	}
	for c := range k.Callers {
		w.Callers[c].Since = int64(c + 1)
	}
	if k.Taken {
		w.taken(k, k.Callers-1)
	}
	for c := range k.Callers {
		if !k.Starts && !k.inLine(c) && !w.Callers[c].begun() {
			w.start(k, c)
		}
	}
	return w
}

// A client knows only its own masters, by their places in its set. While the set is being changed, clients have
// different ones.

// sets fills in which masters each caller has, and which masters are alike.
func (k *Case) sets(times attempt.Config) {
	for c := range k.Callers {
		k.configs[c] = times
		k.configs[c].Masters = len(k.masters(c))
		if k.keeps(c) {
			k.configs[c].Keep = ticks(k.Keep)
		}
		for m := range k.Masters {
			k.places[c][m] = slices.Index(k.masters(c), m)
		}
	}
	for m := 1; m < k.Masters; m++ {
		k.class[m] = k.class[m-1]
		for c := range k.Callers {
			if k.has(c, m) != k.has(c, m-1) {
				k.class[m] = m
			}
		}
	}
}

// masters returns the masters of a caller, by their places.
func (k *Case) masters(c int) []int {
	if k.Sets == nil {
		return everybody[:k.Masters]
	}
	return k.Sets[k.client(c)]
}

var everybody = []int{0, 1, 2, 3, 4}

// config returns the configuration of a caller's attempts.
func (k *Case) config(c int) *attempt.Config { return &k.configs[c] }

// place returns where a caller has master m in its set.
func (k *Case) place(c, m int) int { return k.places[c][m] }

// has reports whether a caller has master m in its set.
func (k *Case) has(c, m int) bool { return k.places[c][m] >= 0 }

// same reports whether two callers can change places: each has a client of its own, and both want the same of the same
// masters. A twin keeps readers, and owners that force has marked, in the order of their numbers; so where there may be
// several of these, callers keep their places.
func (k *Case) same(a, b int) bool {
	return !k.Near && k.Roles == "" && k.Line == 0 && k.Pairs == 0 && (k.Kinds&force == 0 || k.Faults < 2) &&
		k.want(a) == k.want(b) && k.deaf(a) == k.deaf(b) && slices.Equal(k.masters(a), k.masters(b))
}

// alike reports whether two masters are in the same sets. They can change places.
func (k *Case) alike(m, n int) bool { return !k.Near && k.class[m] == k.class[n] }
