package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// contender is a way to lock: a library with its settings.
type contender struct {
	name    string
	masters int      // how many it uses
	plain   []string // commands that it sends besides scripts

	open func(addresses []string, lease time.Duration) (client, error)
}

// client is one contender's client, as one process would have it.
type client interface {
	// Lock waits until name is held.
	Lock(ctx context.Context, name string) (hold, error)
	Close() error
}

// hold is a lock that is held. Unlock returns an error when it was no longer held.
type hold interface {
	Unlock(ctx context.Context) error
}

// renewer is a hold that its user has to renew: Extend gives it another lease.
type renewer interface {
	Extend(ctx context.Context) error
}

// Settings that all contenders share.
const (
	lease    = 30 * time.Second
	patience = 500 * time.Millisecond // for one master's answer
)

// errLost is the error of an Unlock that came too late.
var errLost = errors.New("was no longer held")

// open opens n clients and warms them up: their connections are open and their scripts are loaded, so no
// trial measures how they start. The function it returns closes them.
func (e *env) open(ctx context.Context, n int, lease time.Duration) ([]client, func() error, error) {
	var clients []client
	closeAll := func() (err error) {
		for _, cl := range clients {
			err = errors.Join(err, cl.Close())
		}
		return err
	}
	for range n {
		cl, err := e.contender.open(e.fleet.addresses(e.contender.masters), lease)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		clients = append(clients, cl)
		for i := range 20 {
			if err := cycle(ctx, cl, fmt.Sprintf("warm:%p:%d", cl, i)); err != nil {
				return nil, nil, errors.Join(fmt.Errorf("warming up: %w", err), closeAll())
			}
		}
	}
	return clients, closeAll, nil
}

// cycle locks and unlocks name.
func cycle(ctx context.Context, cl client, name string) error {
	h, err := cl.Lock(ctx, name)
	if err != nil {
		return err
	}
	return h.Unlock(ctx)
}
