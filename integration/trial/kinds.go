package trial

import (
	"slices"
	"time"

	"example.com/redlock/integration/fleet"
	"example.com/redlock/integration/wire"
	"example.com/redlock/internal/history"
)

// The kinds of faults, as histories name them.
const (
	KillEmpty     = "kill-empty"        // SIGKILL, and a start without data
	KillAOF       = "kill-aof"          // SIGKILL, and a start with all data
	StopRestart   = "stop-restart"      // SIGTERM, and a start
	Pause         = "pause"             // frozen: connections stay
	Replace       = "replace"           // another server at the same address
	Demote        = "demote"            // a replica of nobody, and a master again
	MemoryFull    = "memory-full"       // writes are refused
	Eviction      = "eviction"          // any key may go, again and again
	FlushAll      = "flushall"          //
	ClientKill    = "client-kill"       // CLIENT KILL, again and again
	ScriptFlush   = "script-flush"      // SCRIPT FLUSH, again and again
	Busy          = "busy"              // one command takes long
	ClockAhead    = "clock-ahead"       // the wall clock jumps forward, and back at the end
	ClockBack     = "clock-back"        // it jumps back, and forward at the end
	ClockFast     = "clock-fast"        // it runs fast, and is set at the end
	ClockSlow     = "clock-slow"        // it runs slow, and is set at the end
	Cut           = "cut"               // nothing comes through
	CutThere      = "cut-there"         // nothing from clients to masters
	CutBack       = "cut-back"          // nothing from masters to clients
	CutClient     = "cut-client"        // as cut, for one client
	Slow          = "slow"              // a delay
	Jitter        = "jitter"            // a delay that differs from packet to packet
	Lossy         = "lossy"             // packets are lost and resent, as TCP does
	Reset         = "reset"             // RST, again and again
	ClientStop    = "client-stop"       // SIGSTOP for longer than a lease
	ClientStopped = "client-stop-short" // for less
	ClientKilled  = "client-kill-9"     // SIGKILL, and a successor
	ClientSkew    = "client-skew"       // a successor whose wall clock is off by an hour
	ClientSet     = "client-set"        // a successor with another set of masters; never drawn
	calm          = "calm"              // no fault: nothing is begun before all others are over
)

// part is what a fault is done to. Each part of a master or client has one fault at a time.
type part string

const (
	server part = "server" // a master's process, and what it has stored
	clock  part = "clock"  // a master's wall clock
	way    part = "way"    // whether anything comes through from clients to a master, and back
	delay  part = "delay"  // how long that takes
	loss   part = "loss"   // how much of it is lost
	resets part = "resets" // how often connections are reset
	client part = "client" // a client process
)

// kind is a row of the table of faults.
type kind struct {
	name        string
	part        part
	least, most time.Duration // how long it lasts
	forgets     history.Phase // when a master loses what it has granted, though it does not restart
	restarts    bool          // a master grants nothing for a while afterwards

	draw               func(*planner, *Act) // what else there is to an act; nil: nothing
	begin, again, mend deed                 // again: every Act.Every as long as it lasts; nil: there is nothing to do
}

const (
	second = time.Second
	ms     = time.Millisecond
)

var kinds = []kind{
	{name: KillEmpty, part: server, most: 4 * second, restarts: true, begin: onMasters((*fleet.Master).Kill), mend: onMasters(start)},
	{name: KillAOF, part: server, most: 4 * second, restarts: true, begin: onMasters((*fleet.Master).Kill), mend: onMasters(start)},
	{name: StopRestart, part: server, most: 3 * second, restarts: true, begin: onMasters((*fleet.Master).Stop), mend: onMasters(start)},
	{name: Replace, part: server, most: second, restarts: true, begin: onMasters((*fleet.Master).Replace)},
	{
		name: Demote, part: server, least: second / 2, most: 3 * second, restarts: true,
		begin: onMasters((*fleet.Master).Demote), mend: onMasters((*fleet.Master).Promote),
	},
	{
		name: Pause, part: server, least: second / 10, most: 5 * second,
		begin: onMasters((*fleet.Master).Pause), mend: onMasters((*fleet.Master).Unpause),
	},
	{
		name: MemoryFull, part: server, least: second, most: 4 * second,
		begin: onMasters((*fleet.Master).Fill), mend: onMasters((*fleet.Master).Drain),
	},
	{
		name: ClientKill, part: server, least: second / 2, most: 2 * second, draw: every(50*ms, 300*ms),
		begin: onMasters((*fleet.Master).KillClients), again: onMasters((*fleet.Master).KillClients),
	},
	{
		name: ScriptFlush, part: server, least: second / 2, most: 2 * second, draw: every(5*ms, 100*ms),
		begin: onMasters((*fleet.Master).FlushScripts), again: onMasters((*fleet.Master).FlushScripts),
	},
	{
		name: Busy, part: server, least: second / 10, most: 5 * second / 2,
		begin: onMastersBy(func(m *fleet.Master, a Act) error { return m.Occupy(a.Lasts) }),
	},
	{name: Cut, part: way, least: second / 3, most: 5 * second, begin: cut(wire.Both), mend: cut(0)},
	{name: CutThere, part: way, least: second / 3, most: 4 * second, begin: cut(wire.There), mend: cut(0)},
	{name: CutBack, part: way, least: second / 3, most: 4 * second, begin: cut(wire.Back), mend: cut(0)},
	{name: CutClient, part: way, least: second / 2, most: 6 * second, begin: cut(wire.Both), mend: cut(0)},
	{
		name: Slow, part: delay, least: second, most: 5 * second,
		draw:  func(p *planner, a *Act) { a.Delay = p.between(20*ms, 600*ms) },
		begin: slow, mend: onWires(func(w *wire.Wire, _ Act) { w.Slow(0, 0) }),
	},
	{
		name: Jitter, part: delay, least: second, most: 5 * second,
		draw:  func(p *planner, a *Act) { a.Delay, a.Jitter = p.between(5*ms, 100*ms), p.between(20*ms, 300*ms) },
		begin: slow, mend: onWires(func(w *wire.Wire, _ Act) { w.Slow(0, 0) }),
	},
	{
		name: Lossy, part: loss, least: second, most: 5 * second,
		draw:  func(p *planner, a *Act) { a.Loss = float64(2+p.IntN(24)) / 100 },
		begin: onWires(func(w *wire.Wire, a Act) { w.Lose(a.Loss) }), mend: onWires(func(w *wire.Wire, _ Act) { w.Lose(0) }),
	},
	{
		name: Reset, part: resets, most: 3 * second, draw: every(20*ms, 400*ms),
		begin: onWires(func(w *wire.Wire, _ Act) { w.Reset() }), again: onWires(func(w *wire.Wire, _ Act) { w.ResetOne() }),
	},
	{name: ClientStop, part: client, least: 32 * second / 10, most: 6 * second, begin: onClients((*slot).stop), mend: onClients((*slot).cont)},
	{name: ClientStopped, part: client, least: second / 20, most: 3 * second / 2, begin: onClients((*slot).stop), mend: onClients((*slot).cont)},
	{
		name: ClientKilled, part: client, least: second / 10, most: 2 * second, // until the successor starts
		begin: onClients(func(c *slot) error { return c.now().kill() }), mend: onClients(func(c *slot) error { return c.start(0) }),
	},
	{
		name: ClientSkew, part: client, least: 4 * second, most: 9 * second,
		draw:  func(p *planner, a *Act) { a.Offset = []time.Duration{-time.Hour, time.Hour}[p.IntN(2)] },
		begin: succeed, mend: func(s *stage, a Act) []func() error { a.Offset = 0; return succeed(s, a) },
	},

	{name: FlushAll, part: server, forgets: history.Throughout, begin: onMasters((*fleet.Master).Flush)},
	{
		name: Eviction, part: server, least: second / 2, most: 2 * second, forgets: history.Throughout, draw: every(100*ms, 100*ms),
		begin: onMasters((*fleet.Master).Evict), again: onMasters((*fleet.Master).Evict),
	},
	{
		name: ClockAhead, part: clock, least: second / 2, most: 5 * second, forgets: history.Throughout,
		draw:  func(p *planner, a *Act) { a.Offset = p.between(second, 8*second) },
		begin: moveClock, mend: onMasters((*fleet.Master).RightClock),
	},
	{
		name: ClockBack, part: clock, least: second / 2, most: 5 * second, forgets: history.Mending,
		draw:  func(p *planner, a *Act) { a.Offset = -p.between(second/2, 3*second) },
		begin: moveClock, mend: onMasters((*fleet.Master).RightClock),
	},
	{
		name: ClockFast, part: clock, least: 2 * second, most: 6 * second, forgets: history.Throughout,
		draw:  func(p *planner, a *Act) { a.Rate = 1 + float64(2+p.IntN(20))/100 },
		begin: runClock, mend: onMasters((*fleet.Master).RightClock),
	},
	{
		name: ClockSlow, part: clock, least: 2 * second, most: 6 * second, forgets: history.Mending,
		draw:  func(p *planner, a *Act) { a.Rate = 1 - float64(2+p.IntN(20))/100 },
		begin: runClock, mend: onMasters((*fleet.Master).RightClock),
	},
}

// every draws how often an act is done.
func every(least, most time.Duration) func(*planner, *Act) {
	return func(p *planner, a *Act) { a.Every = p.between(least, most) }
}

// Kinds returns the names of all kinds of faults.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// kindOf returns the row of a kind.
func kindOf(name string) kind {
	if name == ClientSet {
		return kind{name: ClientSet, part: client, begin: succeed}
	}
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

// echo is for how long after a master forgot something others must not forget: until what it forgot was renewed or has
// ended, and until clients count its votes again. If its clock ran ahead, they do not count them for half a minute.
func (k kind) echo() time.Duration {
	if k.part == clock {
		return 35 * second
	}
	return lease + second
}

// deed is what an act does when it begins, goes on or ends: a function for each of those that it falls on.
type deed func(*stage, Act) []func() error

// on does something to each of those that find returns.
func on[T any](find func(*stage, Act) []T, do func(T, Act) error) deed {
	return func(s *stage, a Act) (all []func() error) {
		for _, one := range find(s, a) {
			all = append(all, func() error { return do(one, a) })
		}
		return all
	}
}

func onMastersBy(do func(*fleet.Master, Act) error) deed {
	return on(func(s *stage, a Act) []*fleet.Master { return only(s.masters, a.On) }, do)
}

func onMasters(do func(*fleet.Master) error) deed {
	return onMastersBy(func(m *fleet.Master, _ Act) error { return do(m) })
}

func onClients(do func(*slot) error) deed {
	return on(func(s *stage, a Act) []*slot { return only(s.clients, a.On) }, func(c *slot, _ Act) error { return do(c) })
}

// onWires does something to the wires of the clients that an act falls on, or of all if it falls on none.
func onWires(do func(*wire.Wire, Act)) deed {
	find := func(s *stage, a Act) (wires []*wire.Wire) {
		clients := only(s.clients, a.On)
		if len(clients) == 0 {
			clients = only(s.clients, nil)
		}
		for _, c := range clients {
			wires = append(wires, only(c.ways, a.On)...)
		}
		return wires
	}
	return on(find, func(w *wire.Wire, a Act) error { do(w, a); return nil })
}

// start starts a master that was ended. It does nothing to one that runs.
func start(m *fleet.Master) error {
	if _, err := m.Do("PING"); err == nil {
		return nil
	}
	return m.Start()
}

func cut(d wire.Directions) deed { return onWires(func(w *wire.Wire, _ Act) { w.Cut(d) }) }

var (
	slow      = onWires(func(w *wire.Wire, a Act) { w.Slow(a.Delay, a.Jitter) })
	moveClock = onMastersBy(func(m *fleet.Master, a Act) error { return m.MoveClock(a.Offset) })
	runClock  = onMastersBy(func(m *fleet.Master, a Act) error { return m.RunClock(a.Rate) })
)

// succeed ends processes in the proper way, and starts others in their place. They must end even under faults.
func succeed(s *stage, a Act) []func() error {
	return onClients(func(c *slot) error {
		if err := c.now().end(); err != nil {
			s.fail(err)
		}
		if a.Set != nil {
			c.reach(a.Set)
		}
		return c.start(a.Offset)
	})(s, a)
}
