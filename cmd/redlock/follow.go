package main

import (
	"context"
	"time"
)

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
			d.record.lost(hold)
			d.room.leave()
			d.time.event("A's hold has ended, and A leaves")
			return s, context.Cause(hold.Context())
		case <-tick.C:
		}
		left := hold.Remaining()
		if left > s.left+rise {
			s.renewals++
			d.record.renewed(hold, left)
			d.time.event("renewed: %s were left", seconds(s.left))
			said = time.Now()
		} else if left < fresh && time.Since(said) > quietSpell {
			d.time.event("still not renewed")
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
