package trial

import (
	"example.com/redlock/integration/fleet"
	"example.com/redlock/integration/wire"
)

// deed is a part of how an act is done: what is to do to each of those that the act falls on.
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
		clients := only(s.wires, a.On)
		if len(clients) == 0 {
			clients = only(s.wires, nil)
		}
		for _, ways := range clients {
			wires = append(wires, only(ways, a.On)...)
		}
		return wires
	}
	return on(find, func(w *wire.Wire, a Act) error { do(w, a); return nil })
}

// start starts a master that was ended. One that runs already is none the worse.
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

// succeed ends processes as they should end, and has others take their place. They must end even while there are
// faults.
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
