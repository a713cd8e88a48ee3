package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// What each of many clients costs the masters while it is idle, holds one lock, or waits for one.

func manyTrials() []trial {
	const n = 300
	return []trial{{
		scenario: "fleet",
		setting:  strconv.Itoa(n),
		title:    fmt.Sprintf("%d clients in one process; a master's CPU is that of its main thread, less what it uses without clients; its commands are also those that scripts run", n),
		among:    []string{"redlock", "redsync-ff"},
		measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
			return measureMany(ctx, e, c, n)
		},
	}}
}

// state is what many clients do at the same time.
type state struct {
	name   string
	begin  func() (end func() error, err error)
	during time.Duration
}

func measureMany(ctx context.Context, e *env, c contender, n int) (_ []figure, err error) {
	rest, err := e.use(ctx, 4*e.duration)
	if err != nil {
		return nil, err
	}
	clients, closeAll, err := e.openMany(ctx, c, n+1)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	clients, holder := clients[:n], clients[n]
	// waiting has each client wait for the name that it gets, all of which another client holds.
	waiting := func(names []string) func() (func() error, error) {
		return func() (func() error, error) {
			holds, err := takeAll(ctx, holder, names)
			short, cancel := context.WithCancel(ctx)
			outcomes := make([]<-chan outcome, n)
			for i, cl := range clients {
				outcomes[i] = waitFor(short, cl, names[i%len(names)])
			}
			return func() error {
				cancel()
				for _, outcome := range outcomes {
					if got := <-outcome; got.err == nil {
						err = errors.New("took a lock that is taken")
					}
				}
				return errors.Join(err, released(ctx, holds))
			}, err
		}
	}
	holding := func() (func() error, error) {
		holds := make([]hold, n)
		err := share(n, func(i int) (err error) {
			holds[i], err = clients[i].Lock(ctx, "holding:"+strconv.Itoa(i))
			return err
		})
		if err != nil {
			return nil, err
		}
		keeping, cancel := context.WithCancel(ctx)
		done := keep(keeping, holds, lease/3)
		return func() error {
			cancel()
			<-done
			return released(ctx, holds)
		}, nil
	}
	nothing := func() (func() error, error) { return func() error { return nil }, nil }

	var figures []figure
	for _, s := range []state{
		{"idle", nothing, 16 * time.Second}, // clients may look after their connections only now and then
		{"holding a name each", holding, lease / 3},
		{"waiting for a name each", waiting(numbered("many:", n)), 8 * e.duration},
		{"waiting for one name", waiting([]string{"many"}), 8 * e.duration},
	} {
		used, err := s.use(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		each := float64(n) * used.wall.Seconds()
		atMaster := each * float64(c.masters)
		idle := rest.masters.mainThread.Seconds() / rest.wall.Seconds() * used.wall.Seconds()
		figures = append(figures,
			figure{s.name + ": a master's CPU per client and second", "µs", 1e6 * (used.masters.mainThread.Seconds() - idle) / atMaster},
			figure{s.name + ": a master's commands per client and second", "", float64(used.masters.all()) / atMaster},
			figure{s.name + ": client CPU per client and second", "µs", micros(used.cpu) / each},
		)
	}
	return figures, nil
}

// use returns what is used in the state, once it has settled.
func (s state) use(ctx context.Context, e *env) (used usage, err error) {
	end, err := s.begin()
	if err != nil {
		return used, err
	}
	defer closing(end, &err)
	sleep(ctx, 4*e.duration)
	return e.use(ctx, s.during)
}
