package witness

import (
	"strings"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
)

// driver drives one contender of three masters, right or wrong.
type driver struct {
	*Witness
	c       attempt.Attempt
	owner   *script.Owner
	now     clock.Instant
	answers Receiver // to what was sent last
}

const lease = 3 * time.Second

var conf = &attempt.Config{Masters: 3, Times: attempt.Usual}

// step passes an event to the contender.
func (d *driver) step(ev attempt.Event) (out attempt.Effects) {
	ev.Trip, ev.Told = time.Millisecond, true
	d.c.Step(conf, d.now, &ev, &out)
	d.Stepped(&d.c, conf, d.now, &ev, &out)
	return out
}

// send sends a command. to does with an answer what the driver does.
func (d *driver) send(cmd *script.Command, at attempt.Set, to func(i int, a script.Answer)) {
	d.answers = d.Sending(cmd, at, receiver(to))
}

type receiver func(i int, a script.Answer)

func (r receiver) Answer(i int, a script.Answer) { r(i, a) }

// answered passes an answer to round n on.
func (d *driver) answered(n uint32) func(i int, a script.Answer) {
	return func(i int, a script.Answer) {
		d.step(attempt.Event{
			Kind: attempt.Answer, Master: i, Try: 1, Round: n, Outcome: attempt.Outcome(a.Outcome), Token: a.Token,
		})
	}
}

// yes is what a master answers that grants or confirms.
var yes = script.Answer{Outcome: script.Done, Token: 9}

// win asks for the lock, which two masters grant.
func (d *driver) win() {
	d.send(d.ask(1), 0b111, d.answered(1))
	d.answers.Answer(0, yes)
	d.answers.Answer(1, yes)
}

// renew sends a renewal, as round n.
func (d *driver) renew(n uint32) {
	d.step(attempt.Event{Kind: attempt.Renew})
	d.send(script.Renew(lease, []script.Renewal{{Owner: d.owner, Count: 1, Token: 9}}), 0b111, d.answered(n))
}

func (d *driver) ask(round uint64) *script.Command {
	return d.owner.AcquireOrRegister(lease, script.QueueEntry{Round: round, Since: 7, Lease: d.c.Rounds[len(d.c.Rounds)-1].Lease, Proposal: 9})
}

// TestWitness: it finds what a driver does otherwise than its machine wants, and nothing in one that does it.
func TestWitness(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(d *driver)
		want string // in what is found; empty: nothing is
	}{
		{"right", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(1))
			d.answers.Answer(0, yes)
			d.now = d.now.Add(time.Millisecond)
			d.answers.Answer(2, yes)
			d.answers.Answer(1, yes)
		}, ""},
		{"a renewal overtakes the ask", func(d *driver) {
			d.send(d.ask(1), 0b011, d.answered(1))
			d.answers.Answer(0, yes)
			d.now = d.now.Add(time.Millisecond)
			d.answers.Answer(1, yes)
			d.step(attempt.Event{Kind: attempt.Renew})
			d.send(script.Renew(lease, []script.Renewal{{Owner: d.owner, Count: 1, Token: 9}}), 0b111, func(int, script.Answer) {})
			d.send(d.ask(1), 0b100, d.answered(1))
			d.answers.Answer(2, yes)
		}, "which nobody wants"},
		{"a renewal is not sent", func(d *driver) {
			d.win()
			d.step(attempt.Event{Kind: attempt.Renew})
		}, "was not sent"},
		{"a renewal", func(d *driver) {
			d.win()
			d.renew(2)
			d.answers.Answer(0, yes)
		}, ""},
		{"a renewal that is forgotten is answered behind the end", func(d *driver) {
			d.win()
			for n := range uint32(2) {
				d.renew(2 + n)
				d.answers.Answer(0, yes)
				d.answers.Answer(1, yes)
			}
			d.step(attempt.Event{Kind: attempt.End})
			d.answered(2)(2, yes)
			d.send(d.owner.Release(9, 7), 0b111, d.answered(4))
		}, ""},
		{"a release enters it that was to ask", func(d *driver) {
			d.send(script.NewOwner("a", "c:r0").Release(5, 0).Entering(d.owner, script.QueueEntry{Round: 1, Since: 7, Lease: d.c.Rounds[1].Lease, Proposal: 9}), 0b111, d.answered(1))
		}, "which nobody wants"},
		{"one master is not asked", func(d *driver) { d.send(d.ask(1), 0b011, d.answered(1)) }, "was not sent"},
		{"a master is asked twice", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(1))
			d.send(d.ask(1), 0b001, d.answered(1))
		}, "which nobody wants"},
		{"it is asked to try", func(d *driver) { d.send(d.owner.Acquire(lease, 9), 0b111, d.answered(1)) }, "is sent as"},
		{"for another lease", func(d *driver) {
			d.send(d.owner.AcquireOrRegister(lease/2, script.QueueEntry{Round: 1, Since: 7, Lease: d.c.Rounds[1].Lease, Proposal: 9}), 0b111, d.answered(1))
		}, "is sent as"},
		{"with another stamp in the next round", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(1))
			for i := range 3 {
				d.answers.Answer(i, script.Answer{Outcome: script.Refused})
			}
			d.now = d.c.AskAt
			d.step(attempt.Event{Kind: attempt.Due})
			d.send(d.owner.AcquireOrRegister(lease, script.QueueEntry{Round: 2, Since: 8, Lease: d.c.Rounds[1].Lease, Proposal: 9}), 0b111, d.answered(2))
		}, "is sent as {since:8"},
		{"an answer counts for another round", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(2))
			d.answers.Answer(0, yes)
		}, "and not one of"},
		{"an answer is dropped", func(d *driver) {
			d.send(d.ask(1), 0b111, func(int, script.Answer) {})
			d.answers.Answer(0, yes)
		}, "it was not told"},
		{"an answer counts twice", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(1))
			d.answers.Answer(0, yes)
			d.answered(1)(0, yes)
		}, "and not one of"},
		{"the state is changed", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(1))
			d.c.Until = d.now.Add(time.Hour)
			d.answers.Answer(0, yes)
		}, "not {Want"},
		{"time goes back", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(1))
			d.now = d.now.Add(-time.Second)
			d.answers.Answer(0, yes)
		}, "goes back"},
		{"a release is not sent", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(1))
			d.answers.Answer(0, yes)
			d.step(attempt.Event{Kind: attempt.End})
		}, "was not sent"},
		{"a release hands nothing off", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(1))
			d.answers.Answer(0, yes)
			d.step(attempt.Event{Kind: attempt.End})
			d.send(d.owner.Yield(7), 0b111, nil)
		}, "is sent as"},
		{"a hand-off counts for another round", func(d *driver) {
			d.send(d.ask(1), 0b111, d.answered(1))
			heard := d.Message(1, script.HandOff{Owner: d.owner.ID, Round: 101, Token: 9})
			d.step(attempt.Event{Kind: attempt.HandedOff, Master: 1, Try: 1, Round: 2, Token: 9})
			heard()
		}, "and not one of"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var found []string
			Found = func(what string) { found = append(found, what) }
			t.Cleanup(func() { Found = nil })
			d := &driver{Witness: New(), owner: script.NewOwner("a", "c:r1").CountFrom(100), now: clock.Now()}
			d.c.Want, d.c.Masters = attempt.Want{Lease: lease, Wait: true}, make([]attempt.Master, 3)
			d.c.Rounds = make([]attempt.Round, 2)
			d.Owner(&d.c, d.owner.ID)
			d.step(attempt.Event{Kind: attempt.Start})
			test.do(d)
			d.Close()
			if all := strings.Join(found, "\n"); test.want == "" && all != "" || !strings.Contains(all, test.want) {
				t.Errorf("found %q, want %q", all, test.want)
			}
		})
	}
}
