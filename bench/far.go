package main

import (
	"context"
	"fmt"
	"time"
)

// One caller, as in uncontended, while one master is far away.

// distance is the round trip to it: half of it there, and half of it back.
const distance = 20 * time.Millisecond

func farTrials() []trial {
	return append([]trial{{
		scenario: "far",
		setting:  "1",
		title:    fmt.Sprintf("one caller, fresh names, 1 of %d masters %v away (%v there, %v back)", mastersN, distance, distance/2, distance/2),
		among:    []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "limit"},
		measure:  measureFar,
	}}, remoteTrials()...)
}

// measureFar has the proxy in the way from the beginning, so that healthy and far differ
// by the distance alone, and not by what passing on costs.
func measureFar(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	addresses := e.fleet.addresses(c.masters)
	p, err := startProxy(addresses[len(addresses)-1])
	if err != nil {
		return nil, err
	}
	defer p.close()
	addresses[len(addresses)-1] = p.address()
	cl, err := openAt(ctx, c, addresses, times{lease, patience})
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	var trip time.Duration
	figures, err := besideHealthy(ctx, e, cl, fault{
		begin: func() error {
			sleep(ctx, distance)
			trip, err = p.moveTo(distance)
			return err
		},
		end: func() error {
			sleep(ctx, 2*distance) // until late answers are here
			return p.move(0)
		},
		turns: 4,
	})
	return append(figures, figure{"round trip to the far master", "ms", millis(trip)}), err
}
