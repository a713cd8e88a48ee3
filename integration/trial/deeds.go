package trial

import (
	"context"
	"time"

	"example.com/redlock/integration/fleet"
	"example.com/redlock/integration/wire"
)

// deed is how an act is done: it is begun, done again every so often as long as it lasts, and mended. What
// fails for a master is tried again for that master for a while.
type deed struct {
	begin, again, mend func(context.Context) error
}

// deed returns how to do a.
func (s *stage) deed(a Act) deed {
	at, engine := 10*time.Second, 30*time.Second // a busy Docker engine takes long
	masters := func(most time.Duration, do func(context.Context, *fleet.Master) error) func(context.Context) error {
		return func(ctx context.Context) error {
			return fleet.Each(only(s.masters, a.On), func(m *fleet.Master) error {
				return again(ctx, most, func(ctx context.Context) error { return do(ctx, m) })
			})
		}
	}
	act := func(do func(*fleet.Master) error) func(context.Context, *fleet.Master) error {
		return func(_ context.Context, m *fleet.Master) error { return do(m) }
	}
	restart := deed{mend: masters(engine, start)}
	right := masters(engine, act((*fleet.Master).RightClock))
	repeated := func(do func(*fleet.Master) error) deed {
		return deed{begin: masters(at, act(do)), again: masters(0, act(do))}
	}
	switch a.Kind {
	case KillEmpty, KillAOF:
		restart.begin = masters(engine, func(ctx context.Context, m *fleet.Master) error { return m.Kill(ctx) })
		return restart
	case StopRestart:
		restart.begin = masters(engine, func(ctx context.Context, m *fleet.Master) error { return m.Stop(ctx) })
		return restart
	case Replace:
		return deed{begin: masters(engine, func(ctx context.Context, m *fleet.Master) error { return m.Replace(ctx) })}
	case Pause:
		return deed{begin: masters(engine, act((*fleet.Master).Pause)), mend: masters(engine, act((*fleet.Master).Unpause))}
	case Demote:
		return deed{begin: masters(at, act((*fleet.Master).Demote)), mend: masters(engine, act((*fleet.Master).Promote))}
	case MemoryFull:
		return deed{begin: masters(at, act((*fleet.Master).Fill)), mend: masters(engine, act((*fleet.Master).Drain))}
	case Eviction:
		evict := repeated((*fleet.Master).Evict)
		evict.mend = masters(engine, act((*fleet.Master).Drain))
		return evict
	case FlushAll:
		return deed{begin: masters(at, act((*fleet.Master).Flush))}
	case ClientKill:
		return repeated((*fleet.Master).KillClients)
	case ScriptFlush:
		return repeated((*fleet.Master).FlushScripts)
	case Busy:
		return deed{begin: masters(at, act(func(m *fleet.Master) error { return m.Occupy(a.Lasts) }))}
	case ClockAhead, ClockBack:
		return deed{begin: masters(at, act(func(m *fleet.Master) error { return m.MoveClock(a.Offset) })), mend: right}
	case ClockFast, ClockSlow:
		return deed{begin: masters(at, act(func(m *fleet.Master) error { return m.RunClock(a.Rate) })), mend: right}
	}
	if kindOf(a.Kind).part == client {
		return s.clientDeed(a)
	}
	return s.wireDeed(a)
}

// start starts a master that was ended. One that runs already is none the worse.
func start(ctx context.Context, m *fleet.Master) error {
	if _, err := m.Do("PING"); err == nil {
		return nil
	}
	return m.Start(ctx)
}

// wireDeed returns how to do a to wires: those of the clients that it falls on, or of all if it falls on
// none.
func (s *stage) wireDeed(a Act) deed {
	wires := func(do func(*wire.Wire)) func(context.Context) error {
		return func(context.Context) error {
			clients := only(s.wires, a.On)
			if len(clients) == 0 {
				clients = only(s.wires, nil)
			}
			for _, ways := range clients {
				for _, w := range only(ways, a.On) {
					do(w)
				}
			}
			return nil
		}
	}
	cut := func(d wire.Directions) deed {
		return deed{begin: wires(func(w *wire.Wire) { w.Cut(d) }), mend: wires(func(w *wire.Wire) { w.Cut(0) })}
	}
	switch a.Kind {
	case CutThere:
		return cut(wire.There)
	case CutBack:
		return cut(wire.Back)
	case Slow, Jitter:
		return deed{begin: wires(func(w *wire.Wire) { w.Slow(a.Delay, a.Jitter) }), mend: wires(func(w *wire.Wire) { w.Slow(0, 0) })}
	case Lossy:
		return deed{begin: wires(func(w *wire.Wire) { w.Lose(a.Loss) }), mend: wires(func(w *wire.Wire) { w.Lose(0) })}
	case Reset:
		return deed{begin: wires(func(w *wire.Wire) { w.Reset(); w.Resets(a.Every) }), mend: wires(func(w *wire.Wire) { w.Resets(0) })}
	}
	return cut(wire.Both)
}

// clientDeed returns how to do a to client processes.
func (s *stage) clientDeed(a Act) deed {
	clients := func(do func(*slot) error) func(context.Context) error {
		return func(context.Context) error { return fleet.Each(only(s.clients, a.On), do) }
	}
	// A process ends as it should, and another takes its place. It must end even while there are faults.
	succeed := func(ctx context.Context, skew time.Duration) error {
		return fleet.Each(only(s.clients, a.On), func(c *slot) error {
			if err := c.now().end(ctx); err != nil {
				s.fail(err)
			}
			if a.Set != nil {
				c.reach(a.Set)
			}
			return c.start(skew)
		})
	}
	switch a.Kind {
	case ClientKilled:
		return deed{
			begin: clients(func(c *slot) error { return c.now().kill() }),
			mend:  clients(func(c *slot) error { return c.start(0) }),
		}
	case ClientSet:
		return deed{begin: func(ctx context.Context) error { return succeed(ctx, 0) }}
	case ClientSkew:
		return deed{
			begin: func(ctx context.Context) error { return succeed(ctx, a.Offset) },
			mend:  func(ctx context.Context) error { return succeed(ctx, 0) },
		}
	}
	return deed{
		begin: clients(func(c *slot) error { return c.now().stop(s.rec) }),
		mend:  clients(func(c *slot) error { return c.now().cont(s.rec) }),
	}
}
