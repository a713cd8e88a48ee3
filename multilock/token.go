package multilock

import (
	"context"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// maxRaises is how often the masters are asked to agree on a fencing token before an attempt
// is given up. Once is enough unless somebody else raises the counters meanwhile.
const maxRaises = 3

// agree has the masters agree on a fencing token for what o was granted for lease. tokens
// are the counters of those whose votes are valid, 0 for the others, and are changed;
// least is the largest one that was read for this attempt. It returns the ballot of the
// last round if there is no majority for a token, and the context error if ctx ended first.
//
// A majority that answered the largest of them has agreed already, at no cost. Otherwise the
// others are raised to the largest. A master that has that number or a larger one
// refuses, since it may be somebody else's: then all are raised to one more than the
// largest. So no two holds have one token, and that of a later hold is larger.
//
// Cost: one script call on each master, and one round trip, for each raise.
// Source: docs/algorithm.md, "Fencing token".
func (m *Masters) agree(ctx context.Context, o *script.Owner, lease time.Duration, tokens []int64, least int64) (int64, *ballot, error) {
	token, ok := quorum.Agreed(len(m.nodes), tokens, least)
	if ok {
		return token, nil, nil
	}
	var last *ballot
	for round := range maxRaises {
		if round > 0 {
			token = max(token, slices.Max(tokens)) + 1 // what was answered before counts for nothing
		}
		r := m.raise(o, lease, token, tokens)
		cut := r.wait(ctx)
		if r.agreed() == quorum.Won {
			return token, nil, nil
		}
		last = &r.ballot
		if cut != nil {
			return 0, last, cut
		}
		for i, a := range r.answers {
			tokens[i] = max(tokens[i], a.Token)
		}
	}
	return 0, last, nil
}

// settle has the masters agree on the fencing token of what was won. It is false when they
// do not, and the bid goes on as if its caller had slept through it.
func (b *Bid) settle(ctx context.Context) bool {
	b.mu.Lock()
	if b.agreed {
		b.mu.Unlock()
		return true
	}
	tokens, least := b.tokens(nil)
	b.mu.Unlock()
	token, failed, _ := b.m.agree(ctx, b.owner, b.want.Lease, tokens, least)
	b.mu.Lock()
	defer b.mu.Unlock()
	if failed == nil {
		b.agreed, b.grant.Token = true, token
		return true
	}
	b.grant.Until = clock.Now() // no longer valid
	b.signal()
	return false
}

// raise is one round of agree.
type raise struct {
	poll
}

// raise asks those masters to raise their counters to token that did not answer it.
func (m *Masters) raise(o *script.Owner, lease time.Duration, token int64, tokens []int64) *raise {
	r := new(raise)
	r.init(nil, len(m.nodes), r)
	at := m.All()
	for i, t := range tokens {
		if t == token {
			r.answers[i] = script.Answer{Outcome: script.Done, Token: t}
			r.in |= 1 << i
			r.count++
			at &^= 1 << i
		}
	}
	m.send(o.Raise(lease, token), at, r)
	return r
}

// agreed counts the masters that have the token of this round.
func (r *raise) agreed() quorum.Result {
	done, refused, failed := r.tally()
	return quorum.Vote(len(r.answers), done, refused+failed)
}

func (r *raise) decided() bool { return r.agreed() != quorum.Pending }
