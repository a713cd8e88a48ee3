package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

const (
	scratchLease = 5 * time.Second
	scratchToken = 1 // in the past of any other token
)

// trial is one command of a trial, and the outcome that it should have.
type trial struct {
	what string
	cmd  *script.Command
	want script.Outcome
}

var errNoHold = errors.New("did not find the hold")

// owner returns the n-th owner that the probe makes up.
func (p *probe) owner(n int) string { return fmt.Sprintf("%s:r%d", p.client, n) }

// owners are all that the probe makes up.
func (p *probe) owners() (all []string) {
	for n := range manyOwners {
		all = append(all, p.owner(n))
	}
	return all
}

const manyOwners = 12

// trials lock the scratch name as clients do: each step finds what those before it left. Where waits is
// false nobody is subscribed, and so nothing is handed off.
func (p *probe) trials(waits bool) []trial {
	name, token := p.Scratch, int64(scratchToken)
	entry := script.QueueEntry{Round: 1, Since: 1, Lease: scratchLease, Proposal: token}
	handed, behind := script.Refused, script.Done
	if waits {
		handed, behind = script.Done, script.Refused
	}
	renew := func(o *script.Owner) *script.Command {
		return script.Renew(scratchLease, []script.Renewal{{Owner: o, Count: 1, Token: token}})
	}
	lock := func(n int) *script.Owner { return script.NewOwner(name, p.owner(n)) }
	reader := func(n int) *script.Owner { return script.NewReader(name, p.owner(n)) }
	permit := func(n int) *script.Owner { return script.NewPermit(name, p.owner(n), 1, 0) }
	return []trial{
		{"acquire", lock(0).Acquire(scratchLease, token), script.Done},
		{"wait in the queue", lock(1).AcquireOrRegister(scratchLease, entry), script.Refused},
		{"enter again", lock(0).Enter(scratchLease, 2), script.Done},
		{"leave", lock(0).Leave(1), script.Done},
		{"renew", renew(lock(0)), script.Done},
		{"raise the token", lock(0).Raise(scratchLease, token+1), script.Done},
		{"inspect", script.Inspect(name), script.Done},
		{"hand off", lock(0).Release(token+1, 0), script.Done},
		{"release", lock(1).Release(token+2, entry.Since), handed},

		{"share", reader(2).Acquire(scratchLease, token), script.Done},
		{"wait for readers", lock(3).AcquireOrRegister(scratchLease, entry), script.Refused},
		{"renew a reader", renew(reader(2)), script.Done},
		{"release a reader", reader(2).Release(token, 0), script.Done},
		{"read behind a writer", reader(4).AcquireOrRegister(scratchLease, entry), behind},
		{"release to readers", lock(3).Release(token, entry.Since), handed},
		{"release a reader", reader(4).Release(token, entry.Since), script.Done},

		{"acquire", lock(5).Acquire(scratchLease, token), script.Done},
		{"free by force", script.Force(name, token), script.Done},
		{"heal", renew(lock(6)), script.Done},
		{"release", lock(6).Release(token, 0), script.Done},

		{"take a permit", permit(7).Acquire(scratchLease, token), script.Done},
		{"wait for a permit", permit(8).AcquireOrRegister(scratchLease, entry), script.Refused},
		{"renew a permit", renew(permit(7)), script.Done},
		{"raise a permit's token", permit(7).Raise(scratchLease, token+1), script.Done},
		{"inspect permits", script.InspectPermits(name), script.Done},
		{"hand off a permit", permit(7).Release(token+1, 0), script.Done},
		{"release a permit", permit(8).Release(token+2, entry.Since), handed},
		{"take a permit", permit(9).Acquire(scratchLease, token), script.Done},
		{"free permits by force", script.ForcePermits(name, token), script.Done},
	}
}

// tryLocks carries the trials out, and waits for the messages of the hand-offs.
func (p *probe) tryLocks(ctx context.Context) error {
	listener, err := p.listen(ctx)
	if err != nil {
		p.facts.Channel = normalize(err)
	} else {
		defer listener.close()
		defer context.AfterFunc(ctx, listener.sever)()
	}
	all := p.trials(err == nil)
	var calls [][]any
	for _, t := range all {
		calls = append(calls, t.cmd.Words(nil, true, false))
	}
	replies, err := p.wire.ask(calls...)
	if err != nil {
		return err
	}
	for i, t := range all {
		if why := t.judge(replies[i]); why != nil {
			p.facts.Trials = append(p.facts.Trials, Refusal{What: t.what, Err: why})
		}
	}
	if listener != nil && len(p.facts.Trials) == 0 {
		p.facts.Channel = p.hear(listener)
	}
	return nil
}

// judge returns why a reply is not what it should be.
func (t *trial) judge(reply any) error {
	a := t.cmd.Decode(reply)
	switch {
	case a.Outcome == script.Failed:
		return a.Err
	case len(a.Errors) > 0:
		return a.Errors[0]
	case a.Outcome != t.want:
		return fmt.Errorf("was answered %v instead of %v", a.Outcome, t.want)
	case slices.Contains(a.Renewed, script.Absent) || slices.Contains(a.Renewed, script.Foreign):
		return errNoHold
	}
	return nil
}

// listen makes a connection that is subscribed to what is handed to the probe's owners.
func (p *probe) listen(ctx context.Context) (*wire, error) {
	w, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	replies, err := w.ask(
		[]any{"SUBSCRIBE", "redlock_wake:unused"},
		[]any{"UNSUBSCRIBE", "redlock_wake:unused"},
		[]any{"SUBSCRIBE", script.HandOffChannel(p.client)},
		[]any{"SUBSCRIBE", script.FreedChannel(p.Scratch)},
	)
	for _, reply := range replies {
		if refusal, refused := reply.(redis.Error); refused && err == nil {
			err = refusal
		}
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// hear waits for the message of a hand-off.
func (p *probe) hear(listener *wire) error {
	for {
		reply, err := redis.ReceiveWithTimeout(listener.conn, p.Patience)
		if err != nil {
			return fmt.Errorf("no message of a hand-off: %w", normalize(err))
		}
		channel, payload, _ := message(reply)
		if _, ok := script.DecodeHandOff(payload); ok && channel == script.HandOffChannel(p.client) {
			return nil
		}
	}
}

// timeScripts measures how long an acquire and a release take.
func (p *probe) timeScripts() (err error) {
	if len(p.facts.Trials) > 0 {
		return nil
	}
	n := manyOwners - 1
	o := script.NewOwner(p.Scratch, p.owner(n))
	acquire, release := o.Acquire(scratchLease, scratchToken).Words(nil, false, false), o.Release(scratchToken, 0).Words(nil, false, false)
	p.facts.Scripts, err = timed(func() (time.Duration, error) {
		sent := clock.Now()
		_, err := p.wire.ask(acquire, release)
		return clock.Since(sent), err
	})
	return err
}
