package main

import (
	"context"
	"fmt"
	"time"
)

// One caller, as in uncontended, while one master is far away.

// distance is the round trip to that master, half of it in each direction.
const distance = 20 * time.Millisecond

func farTrials() []trial {
	return append([]trial{{
		scenario: "far",
		setting:  "1",
		title:    fmt.Sprintf("one caller, fresh names, 1 of %d masters %v away (%v each way)", mastersN, distance, distance/2),
		among:    []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "limit"},
		measure:  measureFar,
	}}, remoteTrials()...)
}

// measureFar uses the proxy for the healthy half too, so that healthy and far differ only in distance
// and not in the cost of the proxy.
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
			sleep(ctx, 2*distance) // until late answers have arrived
			p.move(0)
			return nil
		},
		turns: 4,
	})
	return append(figures, figure{"round trip to the far master", "ms", millis(trip)}), err
}
