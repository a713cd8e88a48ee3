package clients

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// settledAfter is for how long a client that takes locks must see others publish terms that conflict with
// its own before it believes them. When a master restarts, clients learn of its new run id within a beat of
// each other, 18 s at most, and publish the old one until then.
const settledAfter = 25 * time.Second

// otherTerms are terms of other clients that conflict with those of this one.
type otherTerms struct {
	why   terms.ConflictError
	first [poll.Max]int64 // when each master was told of them first, in ms by its clock; 0: it does not know them
	seen  clock.Instant   // when they were seen first
	last  clock.Instant   // when they were published last, as far as is known
	found bool            // no restart explains them, and the log was told
}

// heard takes what a master knows of those who use it.
func (d *Directory) heard(i int, a script.Answer) {
	d.denied(i, a)
	if a.Outcome != script.Done {
		return
	}
	texts.mu.Lock()
	uses, shown, ok := texts.ReadUses(a.Reply)
	texts.mu.Unlock()
	if ok {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.compareLocked(i, uses, clock.Now(), shown)
	}
}

// texts remembers what terms say, for all clients of this process.
var texts struct {
	mu sync.Mutex
	script.Texts
}

// published takes what a master answers to the terms of this client: what it knows of those who use it,
// but not who they are. That is asked where their terms conflict with those of this one.
func (d *Directory) published(i int, a script.Answer) {
	d.heard(i, a)
	d.mu.Lock()
	var unnamed bool
	for _, o := range d.others {
		unnamed = unnamed || o.first[i] > 0 && o.why.Client == nil
	}
	d.mu.Unlock()
	if unnamed && a.Outcome == script.Done {
		d.Nodes[i].Send(script.LookAtUses(), poll.Receiver(d.heard), i)
	}
}

// compareLocked compares the terms of others, as master i knows them, with this client's own. shown is what
// the master's clock shows now.
func (d *Directory) compareLocked(i int, uses []script.Use, now clock.Instant, shown int64) {
	own := d.ownTermsLocked()
	d.at[i].heard, d.at[i].first = true, 0
	if d.stands == user {
		d.at[i].first = shown - d.ageLocked() // until they are there
	}
	for _, o := range d.others {
		o.first[i] = 0
	}
	for _, u := range uses {
		text := u.Text
		if text == d.told {
			d.at[i].first = u.First
			continue
		}
		if reason := terms.Conflict(&own, &u.Terms); reason != nil {
			o := d.others[text]
			if o == nil {
				o = &otherTerms{seen: now, last: now.Add(-time.Hour)}
				if d.others == nil {
					d.others = make(map[string]*otherTerms)
				}
				d.others[text] = o
			}
			o.first[i] = u.First
			if published := now.Add(-time.Duration(max(0, shown-u.Last)) * time.Millisecond); published.Sub(o.last) > 0 {
				o.last = published
			}
			o.why.Reason, o.why.Own, o.why.Other, o.why.Master = reason, own, u.Terms, d.Nodes[i].Name()
			if u.Record != nil {
				o.why.Client = d.info(u.Client, *u.Record)
			}
		}
	}
	d.judgeLocked(&own, now)
}

// judgeLocked tells the log of terms that conflict with own, and of those that no longer do.
func (d *Directory) judgeLocked(own *terms.Terms, now clock.Instant) {
	for _, text := range slices.Sorted(maps.Keys(d.others)) {
		o := d.others[text]
		if now.Sub(o.last) > script.RecordLife || terms.Conflict(own, &o.why.Other) == nil {
			delete(d.others, text)
			if o.found {
				d.traced(redlocktrace.SetsOverlap{Other: o.why.Other.String()})
				d.Log.Info("redlock: the conflict with other clients is over", "other", o.why.Other.String())
			}
			continue
		}
		from := o.seen
		if from.Sub(d.changed) < 0 {
			from = d.changed
		}
		// Who was refused has compared its terms by itself, and a restart changes no route.
		explained := o.why.Reason != terms.ErrRoute && !o.why.Other.Refused && o.last.Sub(from) < settledAfter
		if o.found || d.stands != user || explained {
			continue
		}
		d.foundLocked(o)
	}
	d.admitted.Store(d.stands == user && d.rivalLocked(now) == nil)
}

// foundLocked tells the log and the trace of a conflict, once.
func (d *Directory) foundLocked(o *otherTerms) {
	if o.found {
		return
	}
	o.found = true
	why := d.explainLocked(o)
	d.traced(redlocktrace.SetsOverlap{Other: why.Other.String(), Err: why})
	d.Log.Error("redlock: other clients use the masters in a way that conflicts with this one", "error", why)
}

// traced tells the trace of a conflict, or of its end.
func (d *Directory) traced(e redlocktrace.SetsOverlap) {
	if d.trace != nil {
		e.Client, e.Time = d.trace.Client, time.Now()
		tracer.Tell(d.trace, d.trace.SetsOverlap, e)
	}
}

// explainLocked returns the error of a conflict.
func (d *Directory) explainLocked(o *otherTerms) *terms.ConflictError {
	why := o.why
	why.Refused = d.behindLocked(o)
	return &why
}

// behindLocked reports whether this client came second, so that it takes no lock: o was published
// before its own terms, at the masters that know both. Who was refused itself comes before nobody.
//
// Of two that publish their terms and then look, one comes second at least: at each master one was
// first, and the other sees it there. Wherever both are seen, they agree on who has the earliest entry.
func (d *Directory) behindLocked(o *otherTerms) bool {
	if o.why.Other.Refused {
		return false
	}
	const never = math.MaxInt64
	mine, theirs := int64(never), int64(never)
	for i := range d.at {
		if d.at[i].first > 0 && o.first[i] > 0 {
			mine, theirs = min(mine, d.at[i].first), min(theirs, o.first[i])
		}
	}
	if mine == theirs {
		return d.stands != user && mine == never || mine != never && o.why.Other.Text() < d.told
	}
	return theirs < mine
}

// rivalLocked returns the conflict because of which this client takes no lock, nil if there is none. A
// client that takes locks believes only what no restart explains. Of several, it is one whose client is
// known: others may be of a client that is no more.
func (d *Directory) rivalLocked(now clock.Instant) (rival *otherTerms) {
	for _, text := range slices.Sorted(maps.Keys(d.others)) {
		o := d.others[text]
		if now.Sub(o.last) <= script.RecordLife && (o.found || d.stands != user) && d.behindLocked(o) {
			if rival = o; o.why.Client != nil {
				break
			}
		}
	}
	return rival
}

// refusal returns why this client takes no lock, nil if it may.
func (d *Directory) refusal() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o := d.rivalLocked(clock.Now()); o != nil {
		return d.explainLocked(o)
	}
	return nil
}

// Conflict returns a [*terms.ConflictError] if other clients use the masters in a way that does not go together
// with that of this client, whoever came first; nil as far as none is known.
//
// Cost: nothing is sent.
func (d *Directory) Conflict() error {
	if err := d.refusal(); err != nil {
		return err
	}
	now := clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, text := range slices.Sorted(maps.Keys(d.others)) {
		if o := d.others[text]; o.found && now.Sub(o.last) <= script.RecordLife {
			return d.explainLocked(o)
		}
	}
	return nil
}

// info returns what r says of client.
func (d *Directory) info(client string, r script.Record) *terms.ClientInfo {
	return &terms.ClientInfo{
		ID: client, Name: r.Name, Host: r.Host, Program: r.Program, Version: r.Version, PID: r.PID,
		Since: time.UnixMilli(r.Since), Seen: max(0, d.Now().Sub(time.UnixMilli(r.At))),
		Holds: r.Holds, Waits: r.Waits, Terms: r.Terms,
	}
}
