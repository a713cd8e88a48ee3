package redlock_test

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/history"
	"example.com/redlock/redlocktest"
)

// simFault is a kind of fault.
type simFault struct {
	name    string
	in      []regime      // nil: in each
	forgets history.Phase // when a master loses what it granted, though it does not restart
	// act harms a master, or the wires of clients to it, and returns what mends it, nil if nothing needs to.
	act func(f *faults, m *redlocktest.Master) func()
}

var simFaults = []simFault{
	{name: "kill-aof", act: func(f *faults, m *redlocktest.Master) func() {
		m.Kill()
		return func() { revive(m) }
	}},
	{name: "restart", act: once((*redlocktest.Master).RestartWithData)},
	{name: "pause", act: func(_ *faults, m *redlocktest.Master) func() { m.Freeze(); return m.Thaw }},
	{name: "cut", act: func(_ *faults, m *redlocktest.Master) func() { m.Cut(); return m.Mend }},
	{name: "cut-client", act: cutting(true, true)},
	{name: "cut-there", act: cutting(true, false)},
	{name: "cut-back", act: cutting(false, true)},
	{name: "slow", act: func(f *faults, m *redlocktest.Master) func() {
		m.Delay(f.trip/2 + 10*time.Millisecond + f.upTo(290*time.Millisecond))
		return func() { m.Delay(f.trip / 2) }
	}},
	{name: "jitter", act: lagging(func(d dice) time.Duration { return d.upTo(40 * time.Millisecond) })},
	{name: "lossy", act: lagging(func(d dice) (late time.Duration) {
		// TCP sends it again, until it arrives.
		for again := 200 * time.Millisecond; late < 600*time.Millisecond && d.oneIn(5); again *= 2 {
			late += again
		}
		return late
	})},
	{name: "noise", act: func(f *faults, m *redlocktest.Master) func() { return f.noise.begin(m) }},
	{name: "reset", act: func(f *faults, m *redlocktest.Master) func() {
		for _, w := range f.wires(m) {
			w.Reset()
		}
		return nil
	}},
	{name: "memory-full", act: func(_ *faults, m *redlocktest.Master) func() {
		m.Fill(true)
		return func() { m.Fill(false) }
	}},
	{name: "client-kill", act: once((*redlocktest.Master).KillClients)},
	{name: "script-flush", act: once((*redlocktest.Master).FlushScripts)},
	{name: "demote", act: func(_ *faults, m *redlocktest.Master) func() {
		m.SetRole("slave")
		return func() { m.SetRole("master") }
	}},
	{name: "kill-empty", in: []regime{emptying}, act: func(_ *faults, m *redlocktest.Master) func() {
		m.Kill()
		return func() {
			if !m.Alive() {
				m.Restart()
			}
		}
	}},
	{name: "replace", in: []regime{emptying}, act: once((*redlocktest.Master).Restart)},
	{name: "flushall", in: []regime{forgetting}, forgets: history.Throughout, act: once((*redlocktest.Master).FlushAll)},
	{name: "eviction", in: []regime{forgetting}, forgets: history.Throughout, act: func(f *faults, m *redlocktest.Master) func() {
		m.Del([]string{"a", "b", simSlots[f.IntN(3)]}[f.IntN(3)])
		return nil
	}},
	{name: "clock-ahead", in: []regime{skewing}, forgets: history.Throughout, act: jump(1)},
	{name: "clock-back", in: []regime{skewing}, forgets: history.Mending, act: jump(-1)},
	{name: "clock-fast", in: []regime{skewing}, forgets: history.Throughout, act: drift(1)},
	{name: "clock-slow", in: []regime{skewing}, forgets: history.Mending, act: drift(-1)},
}

// once makes a fault that needs no mending.
func once(act func(*redlocktest.Master)) func(*faults, *redlocktest.Master) func() {
	return func(_ *faults, m *redlocktest.Master) func() { act(m); return nil }
}

func revive(m *redlocktest.Master) {
	if !m.Alive() {
		m.RestartWithData()
	}
}

// cutting cuts one client off from a master: the same client from each master of the fault.
func cutting(there, back bool) func(*faults, *redlocktest.Master) func() {
	return func(f *faults, m *redlocktest.Master) func() {
		wires := f.wires(m)
		w := wires[f.victim%len(wires)]
		w.Cut(there, back)
		return func() { w.Cut(false, false) }
	}
}

// lagging delays what all clients and a master send to each other.
func lagging(late func(dice) time.Duration) func(*faults, *redlocktest.Master) func() {
	return func(f *faults, m *redlocktest.Master) func() {
		var mu sync.Mutex
		d, wires := f.fork(), f.wires(m)
		for _, w := range wires {
			w.Lag(func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return late(d)
			})
		}
		return func() {
			for _, w := range wires {
				w.Lag(nil)
			}
		}
	}
}

// jump moves a master's clock by up to two minutes. All jumps together are less than an hour, after which masters forget
// fencing counters: no tokens are promised then if clocks are set back.
func jump(sign time.Duration) func(*faults, *redlocktest.Master) func() {
	return func(f *faults, m *redlocktest.Master) func() {
		by := sign * f.upTo([]time.Duration{3 * time.Second, 2 * time.Minute}[f.IntN(2)])
		f.shift(m, by)
		return func() { f.shift(m, -by) }
	}
}

// drift lets a master's clock run 5 % fast or slow for a while.
func drift(sign time.Duration) func(*faults, *redlocktest.Master) func() {
	return func(f *faults, m *redlocktest.Master) func() {
		const steps = 10
		for range steps {
			time.Sleep(20 * time.Millisecond)
			f.shift(m, sign*time.Millisecond)
		}
		return func() { f.shift(m, -sign*steps*time.Millisecond) }
	}
}

// shift moves a master's clock, and adds to what other faults did to it.
func (s *sim) shift(m *redlocktest.Master, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skews[m] += by
	m.Skew(s.skews[m])
}

// faults is one fault, with its dice.
type faults struct {
	*sim
	dice
	victim int // the number of a client
}

// wires returns the wires to m of all clients that were not killed.
func (s *sim) wires(m *redlocktest.Master) (all []*redlocktest.Wire) {
	i := slices.Index(s.fleet.Masters(), m)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		if !c.gone {
			all = append(all, c.wires[i])
		}
	}
	return all
}

// disturb does one fault after another or, in half of the seeds, several at the same time, and returns when all are
// mended. In half of the seeds only a few kinds happen, but often: what one kind mends hides what another broke.
func (s *sim) disturb(d dice) {
	possible := slices.DeleteFunc(slices.Clone(simFaults), func(f simFault) bool {
		return f.in != nil && !slices.Contains(f.in, s.regime)
	})
	if d.oneIn(2) {
		d.Shuffle(len(possible), func(i, j int) { possible[i], possible[j] = possible[j], possible[i] })
		possible = possible[:1+d.IntN(4)]
	}
	together := d.oneIn(2)
	var under sync.WaitGroup
	defer under.Wait()
	for id := 1; time.Since(s.start) < s.end; id++ {
		time.Sleep(d.upTo(400*time.Millisecond + 4*s.trip))
		if d.oneIn(20) && s.lease == s.long.Truncate(time.Millisecond) && s.regime != skewing {
			s.vanish(d.fork(), id)
			continue
		}
		f, one := possible[d.IntN(len(possible))], &faults{s, d.fork(), d.IntN(6)}
		if !together {
			one.strike(f, id)
			continue
		}
		under.Go(func() { one.strike(f, id) })
	}
}

// busy is how long a process of a client waits at most for a machine that is busy.
const busy = 10 * time.Millisecond

// stall does no fault, but the processes of clients have to wait for a machine that is busy. Nobody is excused by that.
func (s *sim) stall(d dice) {
	for _, c := range s.clients {
		var mu sync.Mutex
		var until time.Time
		d, often := d.fork(), 1+d.IntN(6)
		for _, w := range c.wires {
			w.Lag(func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				if time.Now().After(until) && d.oneIn(often) {
					until = time.Now().Add(d.upTo(busy))
				}
				return max(0, time.Until(until))
			})
		}
	}
	time.Sleep(s.end - s.now())
	for _, c := range s.clients {
		for _, w := range c.wires {
			w.Lag(nil)
		}
	}
}

// strike does one fault to one master, a minority, a majority, or all, at once or in turn, and mends it.
func (f *faults) strike(kind simFault, id int) {
	masters := f.fleet.Masters()
	n := len(masters)
	count := []int{1, 1, max(1, (n-1)/2), n/2 + 1, n}[f.IntN(5)]
	f.Shuffle(n, func(i, j int) { masters[i], masters[j] = masters[j], masters[i] })
	masters = masters[:count]
	e := history.Event{What: history.Fault, ID: id, Fault: kind.name, Forgets: kind.forgets == history.Throughout}
	for _, m := range masters {
		e.On = append(e.On, m.Name())
	}
	f.own.Add(e)
	mended := history.Event{What: history.Mended, ID: id, Forgets: kind.forgets == history.Mending}
	mend := func(one func()) {
		mended.From = cmp.Or(mended.From, time.Since(f.start))
		one()
	}
	inTurn, lasts := f.oneIn(4), f.upTo(600*time.Millisecond+4*f.trip)
	var mends []func()
	for _, m := range masters {
		one := kind.act(f, m)
		if one == nil {
			one = func() {}
		}
		if !inTurn {
			mends = append(mends, one)
			continue
		}
		time.Sleep(lasts / time.Duration(count))
		mend(one)
	}
	if !inTurn {
		time.Sleep(lasts)
	}
	for _, one := range mends {
		mend(one)
	}
	f.own.Add(mended)
}

// vanish kills a client, as SIGKILL does: what it has sent arrives, and no more. Another one takes its place.
func (s *sim) vanish(d dice, id int) {
	s.mu.Lock()
	c := s.clients[d.IntN(len(s.clients))]
	again := c.gone
	c.gone = true
	s.mu.Unlock()
	if again {
		return
	}
	s.own.Add(history.Event{What: history.Fault, ID: id, Fault: "client-kill-9", On: []string{c.who}})
	s.own.Add(history.Event{What: history.Killed, Who: c.who})
	s.own.Add(history.Event{What: history.Mended, ID: id})
	for _, w := range c.wires {
		w.Cut(true, true)
	}
	c.stop()
	s.callers.Go(func() { c.Close() }) // so that its callers end
	s.join(d.fork(), fmt.Sprintf("%s.%d", c.who, id), d.IntN(2))
}

// noise loses published messages, and delivers others late or twice.
type noise struct {
	noising sync.Mutex
	dice    dice
	at      map[*redlocktest.Master]bool
}

// begin begins noise at m, and returns what ends it.
func (n *noise) begin(m *redlocktest.Master) (end func()) {
	set := func(on bool) {
		n.noising.Lock()
		defer n.noising.Unlock()
		if n.at == nil {
			n.at = make(map[*redlocktest.Master]bool)
		}
		n.at[m] = on
	}
	set(true)
	return func() { set(false) }
}

// noisy exposes a connection to the noise at m.
func (n *noise) noisy(m *redlocktest.Master, c redis.Conn) redis.Conn {
	n.noising.Lock()
	defer n.noising.Unlock()
	return &noisyConn{bothConn: c.(bothConn), noise: n, dice: n.dice.fork(), master: m}
}

// bothConn is what a client needs of a connection.
type bothConn interface {
	redis.ConnWithContext
	redis.ConnWithTimeout
}

type noisyConn struct {
	bothConn
	*noise
	dice
	master *redlocktest.Master
	again  any // what is to come a second time
}

func (c *noisyConn) ReceiveWithTimeout(timeout time.Duration) (any, error) {
	if again := c.again; again != nil {
		c.again = nil
		return again, nil
	}
	for {
		reply, err := c.bothConn.ReceiveWithTimeout(timeout)
		c.noising.Lock()
		noisy := c.noise.at[c.master]
		c.noising.Unlock()
		kind := ""
		if published, _ := reply.([]any); noisy && len(published) == 3 { // else it is the answer to a command
			first, _ := published[0].([]byte)
			kind = string(first)
		}
		switch {
		case kind == "subscribe", kind == "message" && c.oneIn(3):
			time.Sleep(c.upTo(300 * time.Millisecond))
		case kind == "message" && c.oneIn(2):
			continue
		case kind == "message" && c.oneIn(2):
			c.again = reply
		}
		return reply, err
	}
}
