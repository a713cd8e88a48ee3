package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/internal/history"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// story plays what happens, in order. An error breaks it off; what it has shown is in d.claims.
func (d *demo) story(ctx context.Context) error {
	hold, err := d.take(ctx)
	if err != nil {
		return fmt.Errorf("client A: %w", err)
	}
	d.holder = hold
	d.event("A has the lock on all five masters, with token %d", hold.Token())
	next := d.contend(ctx)
	d.event("B asks for it too, and waits")
	if err := d.minorityDies(ctx, hold); err != nil {
		return err
	}
	if err := d.majorityDies(ctx, hold); err != nil {
		return err
	}
	return d.handOver(ctx, hold, next)
}

// take locks for A, on all five masters. Lock returns at the third yes; if B then asked a master that
// A's request had not reached yet, A would have fewer masters than the story needs. On a busy machine a request may
// time out before a master is connected: the next renewal reaches that one, too.
func (d *demo) take(ctx context.Context) (*guest, error) {
	hold, err := d.record.lock(ctx, d.a, "A")
	if err != nil {
		return nil, err
	}
	within(ctx, demoLease, func() bool {
		return !slices.ContainsFunc(d.fleet.Masters(), func(m *redlocktest.Master) bool { return m.Holder(demoName) != hold.Owner() })
	})
	return hold, nil
}

// outcome is the result of B's one call of Lock.
type outcome struct {
	hold *guest
	err  error
	asked,
	got time.Time
}

// contend makes B wait for the lock.
//
// Goroutines: one. It ends when Lock returns, at the latest with ctx. Nobody has to wait for it, since the channel has
// room for its outcome.
func (d *demo) contend(ctx context.Context) <-chan outcome {
	next := make(chan outcome, 1)
	asked := time.Now()
	go func() {
		hold, err := d.record.lock(ctx, d.b, "B")
		next <- outcome{hold: hold, err: err, asked: asked, got: time.Now()}
	}()
	return next
}

// minorityDies kills two masters of five and expects the hold to go on.
func (d *demo) minorityDies(ctx context.Context, hold *guest) error {
	if _, err := d.follow(ctx, hold, func(s seen) bool { return s.renewals == 1 }); err != nil {
		return err
	}
	before := hold.Until()
	d.kill(3)
	d.kill(4)
	s, err := d.follow(ctx, hold, func(s seen) bool { return s.renewals == 2 })
	if err != nil {
		return err
	}
	d.claim(
		s.renewals >= 2 && hold.Until().After(before) && hold.Context().Err() == nil,
		"With two of five masters dead the hold goes on.",
		"renewed %d times since then; its end moved by %s", s.renewals, seconds(hold.Until().Sub(before)))
	return nil
}

// majorityDies kills a third master and brings it back in time.
func (d *demo) majorityDies(ctx context.Context, hold *guest) error {
	token := hold.Token()
	dead := d.kill(2)
	// An answer that the master gave before it died may still be read.
	if _, err := d.follow(ctx, hold, func(s seen) bool { return s.took > demoLease/20 }); err != nil {
		return err
	}
	before := hold.Until()
	d.event("no majority: A's hold is still valid, but cannot be renewed")
	s, err := d.follow(ctx, hold, func(s seen) bool { return s.left <= demoRescue })
	if err != nil {
		return err
	}
	d.claim(
		s.renewals == 0 && hold.Remaining() < demoLease/2 && !hold.Until().After(before.Add(rise)),
		"Without a majority a hold is not renewed: it only runs out.",
		"%d renewals; it was down to %s, and a healthy hold is never below %s", s.renewals, seconds(s.left), seconds(demoLease*2/3-demoLease/50))

	d.revive(d.fleet.Master(2))
	d.record.add(history.Event{What: history.Mended, ID: dead})
	d.event("m3 is started again, with its data")
	s, err = d.follow(ctx, hold, func(s seen) bool { return s.renewals == 1 })
	guests, _ := d.record.visits()
	d.claim(
		err == nil && s.renewals >= 1 && hold.Context().Err() == nil && hold.Token() == token,
		"The third master came back before validity ended: the same hold goes on.",
		"%d renewal after m3 came back; context alive: %t; same token: %t", s.renewals, hold.Context().Err() == nil, hold.Token() == token)
	d.claim(
		slices.Equal(guests, []string{"A"}),
		"B waited all the time and never got in.",
		"let in so far: %v", guests)
	return err
}

// handOver ends A's hold, after which B gets the lock.
func (d *demo) handOver(ctx context.Context, hold *guest, next <-chan outcome) error {
	// By then B has also asked m3, which was away.
	if _, err := d.follow(ctx, hold, func(s seen) bool { return s.took > demoLease/6 }); err != nil {
		return err
	}
	token := hold.Token()
	left := time.Now()
	unlocked := d.record.unlock(ctx, hold)
	d.holder = nil
	if unlocked == nil {
		d.event("A unlocks")
	} else {
		d.event("A unlocks: %s", plain(unlocked))
	}
	b := <-next
	if b.err != nil {
		return fmt.Errorf("client B: %w", b.err)
	}
	d.holder = b.hold
	d.event("B has the lock, with token %d, %s after A left it", b.hold.Token(), b.got.Sub(left).Round(time.Millisecond))
	d.claim(
		unlocked == nil && !b.got.Before(left),
		"A's unlock hands the lock to B, which waited in a single call.",
		"B waited %s in all, the last %s of that after A had left", seconds(b.got.Sub(b.asked)), b.got.Sub(left).Round(time.Millisecond))
	d.claim(
		b.hold.Token() > token,
		"B's fencing token is larger: a resource that checks it refuses what A sent too late.",
		"%d > %d", b.hold.Token(), token)
	if err := d.record.unlock(ctx, b.hold); err != nil {
		return fmt.Errorf("client B: %w", err)
	}
	d.holder = nil
	d.event("B unlocks")
	guests, most := d.record.visits()
	d.claim(
		most == 1 && slices.Equal(guests, []string{"A", "B"}),
		"A and B were never inside at the same time.",
		"let in, in order: %v; at most %d at once", guests, most)
	return d.nothingLeft(ctx)
}

// nothingLeft checks the masters that are up. Unlock returned when a majority had answered, so the
// others get a moment.
func (d *demo) nothingLeft(ctx context.Context) error {
	up, holders := 0, ""
	gone := within(ctx, 2*time.Second, func() bool {
		up, holders = 0, ""
		for _, m := range d.fleet.Masters() {
			if m.Alive() {
				up++
				holders += m.Holder(demoName)
			}
		}
		return holders == ""
	})
	seen, err := redlockadmin.Of(d.b).Inspect(ctx, demoName)
	d.claim(
		gone && err == nil && !seen.Held,
		"The lock is free again, and nothing of it is left on any master that is up.",
		"holders on %d masters that are up: %q; Inspect says held: %t", up, holders, seen.Held)
	return err
}

// kill kills a master and returns the number of that in the record.
func (d *demo) kill(i int) int {
	m := d.fleet.Master(i)
	m.Kill()
	d.event("%s is killed", m.Name())
	return d.record.add(history.Event{What: history.Fault, Fault: "kill", On: []string{m.Name()}})
}

// seen is what follow has seen so far.
type seen struct {
	took     time.Duration
	renewals int
	left     time.Duration // validity left
}

const (
	// rise is how far validity must jump up to count as a renewal rather than as noise between two
	// readings of the clock.
	rise = demoLease / 20

	// quietSpell is how long follow prints nothing before it says that the hold is still not renewed.
	quietSpell = demoLease / 10

	// fresh is how much a hold that is being renewed always has left.
	fresh = demoLease * 3 / 5
)

// follow prints how a hold's validity changes, until done returns true. It fails when the hold or ctx
// ends.
func (d *demo) follow(ctx context.Context, hold *guest, done func(seen) bool) (seen, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	s := seen{left: hold.Remaining()}
	said := start
	for {
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-hold.Context().Done():
			cause := context.Cause(hold.Context())
			d.record.add(history.Event{What: history.Lost, Who: hold.who, Hold: hold.number, Text: plain(cause)})
			d.event("A's hold has ended, and A leaves")
			return s, cause
		case <-tick.C:
		}
		left := hold.Remaining()
		if left > s.left+rise {
			s.renewals++
			d.record.add(history.Event{What: history.Alive, Who: hold.who, Hold: hold.number, Until: d.record.now() + left})
			d.event("renewed: %s were left", seconds(s.left))
			said = time.Now()
		} else if left < fresh && time.Since(said) > quietSpell {
			d.event("still not renewed")
			said = time.Now()
		}
		s.left, s.took = left, time.Since(start)
		if done(s) {
			return s, nil
		}
	}
}

// within waits up to limit until what returns true, and reports whether it did.
func within(ctx context.Context, limit time.Duration, what func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !what() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
