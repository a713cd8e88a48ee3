package protocol

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// ledger is what a deliberately simple observer knows of a contender: what was sent for it, and
// what came back. It keeps lists where the contender keeps sums.
type ledger struct {
	wild bool // events come that no driver would bring: not all is checked

	rounds []sentRound // by their numbers, from 1 on
	owner  ownership   // of the present owner
	raise  struct {
		to  int64
		yes Set // that have just this number
	}
}

type sentRound struct {
	Round
	try uint32
}

// ownership is what one owner may have.
type ownership struct {
	sent    Set      // masters that were sent anything for it
	open    [Max]int // commands that are not answered
	left    Set      // masters where something of it may be
	votes   [Max][]vote
	largest [Max]int64 // counter
}

type vote struct {
	until     clock.Instant
	handedOff bool
}

// vote returns what a master's vote is: the one that is valid for longest.
func (o *ownership) vote(i int) (v vote, ok bool) {
	if len(o.votes[i]) == 0 {
		return v, false
	}
	return slices.MaxFunc(o.votes[i], func(a, b vote) int { return cmp.Compare(a.until.Sub(b.until), 0) }), true
}

// read notes a fencing counter.
func (o *ownership) read(ev *Event) {
	o.largest[ev.Master] = max(o.largest[ev.Master], ev.Token)
}

// claims returns the masters that have to be told when the owner is given up.
func (o *ownership) claims() (at Set) {
	at = o.left
	for i, open := range o.open {
		if open > 0 {
			at |= 1 << i
		}
	}
	return at
}

// majority returns what a majority of the votes is worth at an instant: until when q of them are valid, and
// whether the one that ends then may be a hand-off, or may be a grant.
func (o *ownership) majority(conf *Config, now clock.Instant) (until clock.Instant, handedOff, granted, ok bool) {
	var best []vote
	for i := range conf.Masters {
		if v, voted := o.vote(i); voted && now.Left(v.until) > 0 {
			best = append(best, v)
		}
	}
	slices.SortFunc(best, func(a, b vote) int { return cmp.Compare(b.until.Sub(a.until), 0) })
	q := quorum.Majority(conf.Masters)
	if len(best) < q {
		return until, false, false, false
	}
	until = best[q-1].until
	for _, v := range slices.Concat(o.votes[:]...) {
		if v.until == until {
			handedOff, granted = handedOff || v.handedOff, granted || !v.handedOff
		}
	}
	return until, handedOff, granted, true
}

// wrongs takes note of one step, and returns what must not be.
func (l *ledger) wrongs(conf *Config, before, after *Contender, now clock.Instant, ev *Event, out *Effects) (wrong []string) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	contended := before.contends()
	voted := l.note(before, now, ev)

	// States.
	check(arrowOf(before.State, after.State), "%v became %v: no arrow says so", before.State, after.State)
	check((after.State == Failed) == (after.Verdict != NoVerdict), "%v with verdict %d", after.State, after.Verdict)
	if before.Over() {
		check(*after == *before, "something became of a contender that is %v", before.State)
		check(*out == Effects{Read: after.Token}, "a contender that is %v wants %+v", before.State, *out)
	}
	_, timed := after.Wake()
	started := after.State == Idle && after.Try > 0 // with a delay
	check(timed == (started || slices.Contains([]State{Queued, Waiting, Minority, Paused}, after.State)), "due at some time in %v: %v", after.State, timed)
	if at, timed := before.Wake(); ev.Kind == Due && (!timed || now.Left(at) > 0) {
		check(*after == *before && *out == Effects{Read: after.Token}, "something was due too early: %+v", *out)
	}

	switch after.State {
	case Queued, Waiting, Minority:
		check(after.Want.Wait, "%v, and does not wait", after.State)
	case Paused:
		check(!after.Want.Wait && !after.Want.Again, "%v, and waits or enters again", after.State)
	case Settling:
		check(!after.Want.Again, "%v, and has its token", after.State)
	}

	// Who is asked, and for what.
	check(out.Read == after.Token, "it has read %d, and says %d", after.Token, out.Read)
	entering := Set(0)
	if out.Enter {
		entering = out.Release
		if ev.Kind == Enter {
			entering = ev.At
		}
		check(out.Ask|entering == All(conf.Masters) && out.Ask&entering == 0, "a release at %b enters, and %b are asked", entering, out.Ask)
	}
	if out.Ask != 0 {
		switch command := out.Command; {
		case after.Want.Again:
			check(command == EnterAgain, "asks with command %d to enter again", command)
		case !after.Want.Wait:
			check(command == AskOnce, "asks with command %d, and does not wait", command)
		default:
			check(command == AskOrQueue || command == QueueOnly, "asks with command %d, and waits", command)
		}
	}
	if out.Ask != 0 || out.Enter {
		check(out.Round == before.Round+1 && out.Round == after.Round, "round %d follows round %d", out.Round, before.Round)
		check(out.Lease > 0 && out.Lease <= after.Want.Lease, "hand-off for %v of %v", out.Lease, after.Want.Lease)
	}
	check(out.Yield&^out.Release == 0 && (out.Yield == 0 || out.NewOwner), "hands off to nobody at %b of %b", out.Yield, out.Release)
	check(out.Raise == 0 || after.State == Settling, "a raise in %v", after.State)

	// What is given back is all that there may be, and no more.
	gaveUp := out.NewOwner || before.State != Failed && after.State == Failed
	check(out.NewOwner == (after.Try != before.Try && before.Try > 0), "new owner %v, try %d after %d", out.NewOwner, after.Try, before.Try)
	check(gaveUp || out.Release == 0, "a release at %b, and the owner goes on", out.Release)
	if gaveUp && !after.Want.Again {
		check(out.Release&^l.owner.sent == 0, "a release at %b, where only %b were asked", out.Release, l.owner.sent)
		if !l.wild {
			check(l.owner.claims()&^out.Release == 0, "a release at %b, but there may be something at %b", out.Release, l.owner.claims())
		}
	}
	check(!after.Want.Again || out.Release == 0, "a release at %b of a hold that was not won here", out.Release)

	// What is won.
	if contended && (after.State == Settling || after.State == Won) {
		until, handedOff, granted, majority := l.owner.majority(conf, now)
		check(majority && until == after.Until, "won until %v, but a majority is valid until %v", after.Until, until)
		check(after.Short && handedOff || !after.Short && granted, "won by a hand-off: %v", after.Short)
	}
	if voted && after.contends() {
		until, handedOff, _, majority := l.owner.majority(conf, now)
		check(!majority || handedOff && now.Left(until) < after.topUp(conf, ev.Trip), "a majority is valid for %v, and it is %v", now.Left(until), after.State)
	}
	if before.State != Won && after.State == Won && !after.Want.Again {
		agreed := l.raise.yes
		if before.State != Settling {
			agreed = l.agree(conf, now, after.Token)
			for _, read := range l.owner.largest {
				check(read <= after.Token, "token %d, where %d was read", after.Token, read)
			}
		}
		check(agreed.Len() >= quorum.Majority(conf.Masters), "token %d, on which %b agreed", after.Token, agreed)
	}
	if out.Raise != 0 {
		has := All(conf.Masters) &^ out.Raise
		check(has&^l.agree(conf, now, out.RaiseTo) == 0, "%b are not raised to %d", has, out.RaiseTo)
		check(!after.Want.Shared || before.State != Settling, "a reader raises twice")
		l.raise.to, l.raise.yes = out.RaiseTo, has
	}
	if before.State == Won && after.State == Taken {
		check(now.Left(after.Until) > 0, "taken when validity was over")
	}
	if (before.State == Won || before.State == Settling) && (after.State == Won || after.State == Settling || after.State == Taken) {
		left := now.Left(after.Until)
		until, _, _, majority := l.owner.majority(conf, now)
		doubted := ev.Kind == Doubt && before.Masters[ev.Master].Voted && (left <= 0 || majority && left <= now.Left(until))
		check(after.Until == before.Until || doubted, "the end of validity was moved to %v", after.Until)
		check(after.Short == before.Short, "short is %v", after.Short)
	}

	// What follows is for the next owner.
	if after.Try != before.Try {
		l.owner = ownership{}
	}
	l.send(after, out, now, entering)
	check(l.owner.claims()&^after.Claimed() == 0 || after.Over() || l.wild, "claims %b, but there may be something at %b", after.Claimed(), l.owner.claims())
	for i, m := range after.Masters {
		check(l.wild || m.Open >= 0, "%d commands are open at m%d", m.Open, i+1)
	}
	return wrong
}

// note notes what happened to the present owner, and reports whether that was a vote that counts.
func (l *ledger) note(before *Contender, now clock.Instant, ev *Event) (voted bool) {
	o, i := &l.owner, ev.Master
	if ev.Kind == Doubt {
		o.votes[i] = nil
	}
	if ev.Try != before.Try || ev.Try == 0 {
		return false
	}
	round := sentRound{}
	if n := int(ev.Round); n > 0 && n <= len(l.rounds) && l.rounds[n-1].try == ev.Try && len(l.rounds)-n < maxRounds {
		round = l.rounds[n-1]
	}
	switch ev.Kind {
	case Answer, Entered:
		o.open[i]--
		if ev.Outcome != Unsent && (ev.Outcome != No || before.Want.Wait || ev.Kind == Entered) {
			o.left |= 1 << i
		}
		if ev.Kind == Answer && ev.Outcome == Yes && round.try > 0 && !round.Queue {
			o.votes[i] = append(o.votes[i], vote{round.Sent.Add(clock.Validity(before.Want.Lease, 0)), false})
			o.read(ev)
			voted = before.contends()
		}
	case HandedOff:
		if !before.Want.Wait {
			return false
		}
		o.left |= 1 << i
		o.read(ev)
		if round.try > 0 {
			until := round.Sent.Add(clock.Validity(round.Lease, 0))
			o.votes[i] = append(o.votes[i], vote{until, true})
			voted = before.contends() && now.Left(until) > 0
		}
	case Raised:
		if ev.Outcome == Yes && before.State == Settling && ev.Round == uint32(before.Raises) {
			l.raise.yes |= 1 << i
		}
	}
	return voted
}

// send notes what was sent.
func (l *ledger) send(c *Contender, out *Effects, now clock.Instant, entering Set) {
	if out.Ask == 0 && !out.Enter {
		return
	}
	l.rounds = append(l.rounds, sentRound{
		Round{Number: out.Round, Sent: now, Lease: out.Lease, Queue: out.Command == QueueOnly}, c.Try,
	})
	for i := range c.Masters {
		if (out.Ask | entering).Has(i) {
			l.owner.open[i]++
			l.owner.sent |= 1 << i
		}
	}
}

// agree returns the masters with a vote that is valid whose largest counter is token.
func (l *ledger) agree(conf *Config, now clock.Instant, token int64) (at Set) {
	for i := range conf.Masters {
		v, voted := l.owner.vote(i)
		if voted && now.Left(v.until) > 0 && l.owner.largest[i] == token {
			at |= 1 << i
		}
	}
	return at
}

func arrowOf(from, to State) bool {
	return from == to || slices.ContainsFunc(Arrows, func(a Arrow) bool { return a.From == from && a.To == to })
}
