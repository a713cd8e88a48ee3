package multilock

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// What is between the machine and the masters: each effect becomes the command that it stands for, and each answer and
// message the event. A mistake here breaks a promise only if answers come in the one order that makes it matter.

// wantMessages fails unless a driver has put just these commands into its outbox, each to the masters in at.
func wantMessages(t *testing.T, name string, d *driver, at []Set, want ...*script.Command) {
	t.Helper()
	posted := d.out.messages
	d.out.messages = nil
	if len(posted) != len(want) {
		t.Errorf("%s: it sends %d commands, want %d", name, len(posted), len(want))
		return
	}
	for i, msg := range posted {
		got, want := msg.cmd.Words(nil, false), want[i].Words(nil, false)
		check.That(t, reflect.DeepEqual(got, want) && msg.at == at[i], "%s: it sends %q to %b, want %q to %b", name, got, msg.at, want, at[i])
	}
}

// A round becomes the command that it stands for, with its number, leases and tokens: no token that is proposed, or told
// with a release, is below what the caller has seen. It comes before the release of an owner that is given up for it.
func TestEffectsBecomeCommands(t *testing.T) {
	const short, at = 300 * time.Millisecond, Set(0b101)
	bubble(3, func(t *testing.T, fx *fixture) {
		d := newWaiting(fx.m)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.owner = d.newOwnerLocked()
		o, seen := d.owner, fx.m.All.Now().UnixMicro()+1000
		d.state.Token = seen
		entry := script.QueueEntry{Round: 7, Since: d.since, Lease: short, Proposal: seen + 1}
		deaf := entry
		deaf.Polls = true
		for _, tt := range []struct {
			name  string
			round attempt.Round
			tries bool // it does not wait
			deaf  bool
			want  *script.Command
		}{
			{"ask", attempt.Round{Command: attempt.Ask, Lease: short}, false, false, o.AcquireOrRegister(lease, entry)},
			{"ask, deaf", attempt.Round{Command: attempt.Ask, Lease: short}, false, true, o.AcquireOrRegister(lease, deaf)},
			{"ask, without waiting", attempt.Round{Command: attempt.Ask, Lease: short}, true, false, o.Acquire(lease, seen+1)},
			{"register", attempt.Round{Command: attempt.Register, Lease: short}, false, false, o.Register(entry)},
			{"raise", attempt.Round{Command: attempt.Raise, Token: 9}, false, false, o.Raise(lease, 9)},
			{"count", attempt.Round{Command: attempt.Count, Lease: short, Count: 3}, false, false, o.Enter(short, 3)},
			{"count what is left", attempt.Round{Command: attempt.Count, Count: 2}, false, false, o.Leave(2)},
			{"release", attempt.Round{Command: attempt.Release}, false, false, o.Release(seen, d.since)},
		} {
			tt.round.Number, d.state.Want.Wait = 7, !tt.tries
			fx.m.subs.work.Store(uint32(fx.m.All.Set()))
			if tt.deaf {
				fx.m.subs.work.Store(0b110) // the other one is up
			}
			r := d.roundLocked(&attempt.Effects{Send: at, Round: tt.round}, message{})
			check.That(t, r.try == d.state.Try && r.number == 7 && r.at == at && d.out.messages[0].to == r, "%s: its answers come to %+v", tt.name, r)
			wantMessages(t, tt.name, d, []Set{at}, tt.want)
		}
		yes, _, _ := d.raise.ballot.Tally()
		check.Equal(t, yes, 1, "masters that have the token already, and are not asked to raise to it")
		d.releaseLocked(o, &attempt.Effects{Release: 0b001, Yield: 0b110})
		gone := d.out.messages[0].to.(*round)
		wantMessages(t, "what is given up", d, []Set{0b001, 0b110}, o.Release(seen, d.since), o.Yield(d.since))
		check.Equal(t, gone.ballot.In, 0, "masters that need not answer before its owner is forgotten")
		*d.lastLocked() = attempt.Round{Command: attempt.Extend, Count: 2, Token: 9}
		all := new(renewals)
		all.addLocked(&round{d: d})
		if want := []script.Renewal{{Owner: o, Count: 2, Token: 9}}; !slices.Equal(all.holds, want) {
			t.Errorf("it renews %v, want %v", all.holds, want)
		}

		d.state.State, d.state.GiveBackAt = attempt.Minority, d.m.now()
		d.state.Masters[0] = attempt.Master{Voted: true, Reached: true, Until: d.m.now().Add(lease)}
		d.stepLocked(&attempt.Event{Kind: attempt.Due}) // it gives its vote back
		d.timer.Stop()
		if out := d.out.messages; len(out) < 2 || out[0].cmd.Releases() || !out[1].cmd.Releases() {
			t.Errorf("it sends %+v, want a round of the next owner, and behind it the release of this one", out)
		}
	})(t)
}

// What a master says comes to the machine as the answer or the message that it is: of that master, and of its round.
func TestAnswersBecomeEvents(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		for i := range 64 {
			who := fx.m.holder(script.Answer{Outcome: script.Refused, Holder: id(fmt.Sprint("x:r", i))})
			check.Equal(t, who&(attempt.Ours|attempt.Keeps), 0, "what is said of an owner of another client, which keeps nothing")
		}
		fx.seat("x", time.Hour, 0, 1, 2)
		d := asked(fx.another(t))
		fx.each((*redlocktest.Master).Freeze)
		d.step(&attempt.Event{Kind: attempt.Hint}) // so that it asks again
		rest(timeout / 2)
		defer d.giveUp()
		defer fx.each((*redlocktest.Master).Thaw)
		const nothing = ^attempt.Kind(0)
		n, owner := d.state.Round, d.owner
		if n < 2 {
			t.Fatal("it has not asked again")
		}
		d.state.Masters[1].Reached = false
		r, old := &round{d: d, try: 1, number: n - 1, command: attempt.Ask}, &round{d: d, number: n - 1, command: attempt.Ask}
		release := &round{d: newWaiting(d.m), command: attempt.Release, at: d.m.All.Set(), next: &round{d: d, try: 1}}
		release.begin(script.Unsent)
		no := script.Answer{Outcome: script.Refused, Holder: id("x"), Left: time.Second, Rank: 2, Token: 5}
		handOff := script.HandOff{Owner: owner.ID, Key: "k", Token: 9, Round: uint64(n-1) - owner.Round(script.HandOff{})}
		for _, tt := range []struct {
			name string
			say  func()
			want attempt.Event
		}{
			{"that a release that entered it was not sent", func() { release.Answer(1, script.Answer{Outcome: script.Unsent}) }, attempt.Event{
				Kind: attempt.Followed, Master: 1, Outcome: attempt.Unsent,
			}},
			{"a no to an owner that was given up", func() { old.Answer(1, no) }, attempt.Event{Kind: nothing}},
			{"a no", func() { r.Answer(1, no) }, attempt.Event{
				Kind: attempt.Answer, Master: 1, Outcome: attempt.No, Holder: d.m.holder(no), Left: time.Second, Ahead: 2, Token: 5,
			}},
			{"a no of the first", func() { r.Answer(0, no) }, attempt.Event{
				Kind: attempt.Answer, Outcome: attempt.No, Holder: d.m.holder(no), Left: time.Second, Ahead: 2, Token: 5,
			}},
			{"a silence", func() { r.Answer(2, script.Answer{Outcome: script.Unknown}) }, attempt.Event{
				Kind: attempt.Answer, Master: 2, Outcome: attempt.Unknown,
			}},
			{"what such a release was answered", func() { release.Answer(2, script.Answer{Outcome: script.Done}) }, attempt.Event{
				Kind: attempt.Followed, Master: 2, Outcome: attempt.Yes,
			}},
			{"a hand-off", func() { d.handedOff(2, handOff) }, attempt.Event{Kind: attempt.HandedOff, Master: 2, Token: 9}},
			{"a yes", func() { r.Answer(1, script.Answer{Outcome: script.Done, Token: 9}) }, attempt.Event{
				Kind: attempt.Answer, Master: 1, Outcome: attempt.Yes, Token: 9,
			}},
		} {
			want, out := d.state, attempt.Effects{}
			want.Entries, want.Masters, want.Rounds = slices.Clone(want.Entries), slices.Clone(want.Masters), slices.Clone(want.Rounds)
			tt.want.Try, tt.want.Trip, tt.want.Told = 1, d.m.All.RoundTrip(), d.m.canBeTold()
			if tt.want.Kind != attempt.Followed {
				tt.want.Round = n - 1
			}
			if tt.want.Kind != nothing {
				want.Step(&d.m.conf, d.m.now(), &tt.want, &out)
			}
			tt.say()
			synctest.Wait()
			if out.Drawn {
				want.AskAt, want.GiveBackAt = d.state.AskAt, d.state.GiveBackAt
			}
			check.That(t, reflect.DeepEqual(d.state, want), "%s: it comes to\n%+v, want\n%+v", tt.name, d.state, want)
		}
	})(t)
}
