package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// timedSample is a sample as a test makes it: when its question was sent, by our clock, how
// long it was under way there and back, and how far the master's clock was ahead then.
type timedSample struct{ at, there, back, ahead time.Duration }

var (
	here  = clock.Now()
	there = time.Unix(1_700_000_000, 0)
)

func (c timedSample) sample() server.Sample {
	return server.Sample{
		Sent: here.Add(c.at),
		Read: here.Add(c.at + c.there + c.back),
		Told: there.Add(c.at + c.there + c.ahead),
	}
}

// TestClockCheckOfOneSample: what one sample says of the one before it, to the nanosecond.
func TestClockCheckOfOneSample(t *testing.T) {
	const recovery = time.Minute
	first := timedSample{at: 0}
	for _, tt := range []struct {
		name  string
		first timedSample
		next  timedSample
		want  verdict
	}{
		{"keeps pace", first, timedSample{at: time.Second}, unchanged},
		{"gains what is allowed", first, timedSample{at: time.Second, ahead: 12 * time.Millisecond}, unchanged},
		{"gains more", first, timedSample{at: time.Second, ahead: 12*time.Millisecond + 1}, ranAhead},
		{"gains what is allowed in an hour", first, timedSample{at: time.Hour, ahead: clock.Drift(time.Hour)}, unchanged},
		{"gains more in an hour", first, timedSample{at: time.Hour, ahead: clock.Drift(time.Hour) + 1}, ranAhead},
		{"at once", first, timedSample{ahead: 2*time.Millisecond + 1}, ranAhead},
		{"loses what is allowed", first, timedSample{at: time.Second, ahead: -12 * time.Millisecond}, unchanged},
		{"loses more", first, timedSample{at: time.Second, ahead: -12*time.Millisecond - 1}, fellBehind},
		{"slow there", first, timedSample{at: time.Second, there: time.Second, ahead: 22 * time.Millisecond}, unchanged},
		{"may be slow back", first, timedSample{at: time.Second, back: 5 * time.Millisecond, ahead: 17 * time.Millisecond}, unchanged},
		{"is not slow back", first, timedSample{at: time.Second, back: 5 * time.Millisecond, ahead: 17*time.Millisecond + 51*time.Microsecond}, ranAhead},
		{"first was slow there", timedSample{there: 5 * time.Millisecond}, timedSample{at: time.Second, ahead: 17 * time.Millisecond}, unchanged},
		{"we stood still", first, timedSample{at: time.Second, back: time.Hour}, unchanged},
		{"it stood still", first, timedSample{at: time.Second, there: time.Hour}, unchanged},
		{"we were suspended in between", first, timedSample{at: 10 * time.Hour}, unchanged},
		{"we were suspended meanwhile", timedSample{back: 10 * time.Hour}, timedSample{at: 10 * time.Hour}, unchanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p clockCheck
			if got, _ := p.add(tt.first.sample(), recovery); got != unchanged || p.unsteady() {
				t.Fatalf("the first sample: got %v, want %v", got, unchanged)
			}
			got, _ := p.add(tt.next.sample(), recovery)
			check.That(t, got == tt.want && p.unsteady() == (tt.want == ranAhead), "got %v, unsteady %v, want %v", got, p.unsteady(), tt.want)
		})
	}
}

// A master that tells of the year 2242 now and then has run ahead by more than can be counted, and is no steadier for it.
func TestClockCheckOfWildTimes(t *testing.T) {
	var p clockCheck
	for i, told := range []int64{1, 1 << 33, 1, 1 << 33} {
		now := here.Add(time.Duration(i) * time.Second)
		p.add(server.Sample{Sent: now, Read: now, Told: time.Unix(told, 0)}, time.Minute)
		check.Equal(t, p.unsteady(), i > 0, "sample %d: unsteady", i+1)
	}
}

// A clock is steady again once it has kept pace since its last gain, and not since the first, for as long as it takes.
func TestClockCheckRecoversSinceTheLastGain(t *testing.T) {
	var p clockCheck
	for _, tt := range []struct {
		at, ahead time.Duration
		want      bool // it is unsteady
	}{
		{0, 0, false},
		{time.Second, time.Second, true},
		{40 * time.Second, 2 * time.Second, true},
		{61 * time.Second, 2 * time.Second, true},
		{100*time.Second - 1, 2 * time.Second, true},
		{100 * time.Second, 2 * time.Second, false},
	} {
		p.add(timedSample{at: tt.at, ahead: tt.ahead}.sample(), time.Minute)
		check.Equal(t, p.unsteady(), tt.want, "unsteady after %v", tt.at)
	}
}

// allPairs compares each sample with all since the last gain that was found.
type allPairs struct{ seen []server.Sample }

func (d *allPairs) gains(s server.Sample) bool {
	for _, u := range d.seen {
		between := s.Read.Sub(u.Sent)
		if s.Told.Sub(u.Told)-between > clock.Drift(between) {
			d.seen = []server.Sample{s}
			return true
		}
	}
	d.seen = append(d.seen, s)
	return false
}

// TestClockCheckComparesAllSamples: one sample that is kept finds what all of them would.
//
// Replay one seed: go test ./node -run 'TestClockCheckComparesAllSamples/seed=17$'
func TestClockCheckComparesAllSamples(t *testing.T) {
	found := 0
	for seed := range uint64(500) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d) + 1)) }
			var p clockCheck
			var d allPairs
			var c timedSample
			rate := upTo(2000) - 1000 // µs in 50 ms: 2 % at most
			for i := range 200 {
				pass := c.back + upTo(2*time.Second)
				c.at += c.there + pass
				c.ahead += rate * time.Microsecond * (c.there + pass) / (50 * time.Millisecond)
				if random.IntN(30) == 0 {
					c.ahead += upTo(100*time.Millisecond) - 50*time.Millisecond
				}
				c.there, c.back = upTo(5*time.Millisecond), upTo(5*time.Millisecond)
				if random.IntN(20) == 0 {
					c.there, c.back = upTo(time.Second), upTo(time.Second)
				}
				before := p.ahead
				p.add(c.sample(), time.Hour)
				if got, want := p.ahead > before, d.gains(c.sample()); got != want {
					t.Fatalf("sample %d: gain found %v, want %v", i, got, want)
				}
				if p.ahead > before {
					found++
				}
			}
		})
	}
	check.That(t, found >= 500, "gains found: got %d, want some for most seeds", found)
}

func (n *Node) isUnsteady() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clockCheck.unsteady()
}

// wantUnsteady checks that an answer does not count, because the clock ran ahead.
func wantUnsteady(t *testing.T, name string, got reply, ahead time.Duration) {
	t.Helper()
	wantErr(t, name, got, script.Failed, "is not counted, because its clock ran ahead by "+ahead.String())
	err, ok := errors.AsType[*server.UnsteadyError](got.Err)
	check.That(t, ok && err.Ahead == ahead, "%s: got %v, want an server.UnsteadyError of %v", name, got.Err, ahead)
}

// wantRenewed checks what became of the only hold of a renewal.
func wantRenewed(t *testing.T, name string, got reply, want script.Renewed) {
	t.Helper()
	check.That(t, got.Outcome == script.Done && len(got.Renewed) == 1 && got.Renewed[0] == want, "%s: got %v %v, want %v", name, got.Outcome, got.Renewed, want)
}

// TestClockJumps: where the master says that an owner has a lock, that does not count, from the next
// sample on until it has recovered. Where it says that somebody else has it, or nobody, it does.
func TestClockJumps(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		log := logged(&cfg)
		n := started(t, cfg)
		const ahead = 5 * time.Second
		owner := script.NewOwner("k", id("me:1"))
		renew := script.Renew(lease, []script.Renewal{{Owner: owner, Count: 1, Token: 1}})
		want(t, "acquire", sendAndWait(n, owner.Acquire(lease, 1)), script.Done)
		m.Skew(ahead)
		jumped := time.Now()
		waitUntil(t, heartbeat, n.isUnsteady)
		found := time.Now()
		log.want(t, 1, "WARN", "clock jumped ahead", "master=m1", "ahead=5s", "at_least=30s")

		wantUnsteady(t, "acquire", sendAndWait(n, owner.Acquire(lease, 1)), ahead)
		wantUnsteady(t, "queue", sendAndWait(n, owner.AcquireOrRegister(lease, script.QueueEntry{Round: 1, Since: 1, Lease: lease, Proposal: 1})), ahead)
		renewed := sendAndWait(n, renew)
		wantRenewed(t, "renew", renewed, script.Errored)
		err, ok := errors.AsType[*server.UnsteadyError](renewed.Errors[0])
		check.That(t, ok && err.Ahead == ahead, "renew: got %v, want an server.UnsteadyError of %v", renewed.Errors, ahead)
		wantUnsteady(t, "enter", sendAndWait(n, owner.Enter(lease, 2)), ahead)
		wantUnsteady(t, "raise", sendAndWait(n, owner.Raise(lease, 9)), ahead)
		want(t, "acquire by another", sendAndWait(n, script.NewOwner("k", id("me:2")).Acquire(lease, 1)), script.Refused)
		want(t, "leave", sendAndWait(n, owner.Leave(1)), script.Done)
		want(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Done)
		want(t, "release", sendAndWait(n, owner.Release(1, 0)), script.Done)
		want(t, "release again", sendAndWait(n, owner.Release(1, 0)), script.Refused)
		wantHolder(t, m, "k", "")
		wantRenewed(t, "heal", sendAndWait(n, renew), script.Absent)
		wantHolder(t, m, "k", "") // it may have been somebody else's
		m.HSet("k", id("me:2"), "1")
		wantRenewed(t, "renew beside another", sendAndWait(n, renew), script.Foreign)
		m.Del("k")

		waitUntil(t, time.Minute, func() bool { return !n.isUnsteady() })
		check.Between(t, time.Since(found), minRecovery, minRecovery+heartbeat, "steady again after")
		check.AtMost(t, found.Sub(jumped), heartbeat+time.Millisecond, "found after")
		want(t, "acquire", sendAndWait(n, owner.Acquire(lease, 1)), script.Done)
		log.want(t, 1, "INFO", "clock is steady again", "master=m1", "ahead=5s")
		log.want(t, 2, "clock")
		for _, ahead := range []time.Duration{0, -5 * time.Second} {
			m.Skew(ahead)
			time.Sleep(time.Hour)
		}
		log.want(t, 1, "WARN", "clock was set back", "master=m1")
		log.want(t, 3, "clock")
	})
}

// TestClockJumpsBeyondAllYears: a clock that jumps further than can be counted is found as any other, and is no time for
// tokens and queues, which would not go on from there.
func TestClockJumpsBeyondAllYears(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Skew(250 * 365 * 24 * time.Hour)
		waitUntil(t, heartbeat, n.isUnsteady)
		told, ok := n.Time(clock.Now())
		check.That(t, ok && time.Until(told).Abs() < time.Second, "the master shows %v", told)
	})
}

// TestRecoveryIsThatOfAGuard: votes do not count until the leases before the jump have ended by a clock that is slow
// by what is allowed.
func TestRecoveryIsThatOfAGuard(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Guard = time.Minute
		n := started(t, cfg)
		m.Skew(5 * time.Second)
		waitUntil(t, heartbeat, n.isUnsteady)
		found := time.Now()
		waitUntil(t, 2*cfg.Guard, func() bool { return !n.isUnsteady() })
		least := cfg.Guard + clock.Drift(cfg.Guard)
		check.Between(t, time.Since(found), least, least+heartbeat, "steady again after")
	})
}

// What a master's clock shows is known from the first connection on, and each second anew, to half a round trip: also when
// the master, since it is busy, does not tell once, or is so late that its answer says little.
func TestTime(t *testing.T) {
	const trip = 20 * time.Millisecond
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		m.Kill()
		n := start(t, cfg)
		_, told := n.Time(clock.Now())
		check.Equal(t, told, false, "it has told its time before it was reached")
		m.Delay(trip)
		m.Restart()
		for _, skew := range []time.Duration{0, time.Hour, -time.Hour} {
			m.Skew(skew)
			time.Sleep(3 * time.Second)
			n.mu.Lock()
			now := clock.Now()
			n.addSampleLocked(nil, now, now, redis.Error("BUSY Redis is busy running a script"))
			n.storeTimeLocked(server.Sample{Sent: now.Add(-2 * timeout), Read: now, Told: time.Now().Add(skew)}, true, now)
			n.mu.Unlock()
			got, ok := n.Time(clock.Now())
			off := got.Sub(time.Now().Add(skew))
			check.That(t, ok && off.Abs() <= trip/2, "got %v (%v), which is %v off, want %v at most", got, ok, off, trip/2)
		}
	})
}

// TestObserver: whatever casts doubt on earlier votes is told once, and before any later answer.
func TestObserver(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		o := new(recorder)
		n.Observe(o)
		time.Sleep(time.Minute)
		reconnect(t, m, n)
		o.want(t, "while all is well, and after a reconnect")

		m.Skew(5 * time.Second)
		time.Sleep(heartbeat)
		o.want(t, "after a jump", "doubted", "gained 5s")
		m.Skew(12 * time.Second)
		time.Sleep(heartbeat)
		o.want(t, "after another one", "gained 7s")
		time.Sleep(minRecovery)
		o.want(t, "when that is over", "steady")

		m.Delay(100 * time.Millisecond)
		time.Sleep(2 * heartbeat)
		m.Skew(20 * time.Second)
		time.Sleep(2 * heartbeat)
		o.want(t, "after a jump of a far master, with what may have been on the way", "doubted", "gained 8.1s")
		m.Delay(0)

		m.RestartWithData()
		waitUntil(t, 5*heartbeat, n.isUp)
		o.want(t, "after a restart", "steady", "doubted")
		m.Kill()
		m.Skew(30 * time.Second)
		time.Sleep(5 * heartbeat)
		m.Restart()
		waitUntil(t, 5*heartbeat, n.isUp)
		o.want(t, "after an outage, with another clock", "steady", "doubted")
		reconnect(t, m, n)
		o.want(t, "after another reconnect")
		promote(m)
		time.Sleep(5 * heartbeat)
		o.want(t, "after a promotion", "doubted")
	})
}

// TestClockOfWhoIsPassedBy: a server that the address leads to for a moment, and that is not used, says nothing of the
// clock of the one before and after it.
func TestClockOfWhoIsPassedBy(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		fleet := redlocktest.Start(t, 2)
		own, other := fleet.Master(0), bent.Reply(fleet.Pools()[1], "SCRIPT EXISTS", redis.Error("NOPERM no"))
		pools := []*redis.Pool{fleet.Pools()[0], other}
		var to atomic.Int32
		cfg.Pool = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
			return pools[to.Load()].DialContext(ctx)
		}}
		n := started(t, cfg)
		own.Skew(5 * time.Second)
		waitUntil(t, heartbeat, n.isUnsteady)
		own.Skew(0) // it has ended leases nevertheless
		to.Store(1)
		own.KillClients()
		waitUntil(t, heartbeat, n.Down)
		to.Store(0)
		waitUntil(t, 2*heartbeat, n.isUp)
		wantUnsteady(t, "acquire", sendAndWait(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1)), 5*time.Second)
	})
}
