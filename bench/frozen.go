package main

import (
	"context"
	"fmt"
	"strconv"
)

// One caller, as in uncontended, while some masters hang: SIGSTOP, with their connections open.

func frozenTrials() []trial {
	var trials []trial
	for n := 1; n <= mastersN/2; n++ {
		trials = append(trials, trial{
			scenario: "frozen",
			setting:  strconv.Itoa(n),
			title:    fmt.Sprintf("one caller, fresh names, %d of %d masters frozen", n, mastersN),
			among:    []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "limit"},
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureFrozen(ctx, e, c, n)
			},
		})
	}
	return trials
}

func measureFrozen(ctx context.Context, e *env, c contender, n int) (_ []figure, err error) {
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	defer closing(e.fleet.thaw, &err) // before the client closes, since that may wait for answers
	return besideHealthy(ctx, e, cl, fault{
		begin: func() error { return e.fleet.freeze(n) },
		end:   e.fleet.thaw,
		turns: 1, // clients take a while to trust a master again
	})
}
