package main

import (
	"fmt"
	"os"
	"time"

	"example.com/redlock/internal/history"
	"example.com/redlock/internal/picture"
	"example.com/redlock/multilock/attempt"
)

// film makes a history of the way to what a case has found, as that of a trial is, from one state after the other.
type film struct {
	k      *Case
	before *World // nil: there is none yet
	events []history.Event
	calls  [maxCallers]int // how many there were of each caller
	faults map[string]int  // that are under way
	count  int             // of all
}

// shot takes the next state.
func (f *film) shot(w *World) {
	last := f.before
	if last == nil {
		last = new(World)
		run := &history.Run{Title: "search, case " + f.k.Name, Lease: ticks(f.k.Lease), MaxLease: ticks(f.k.Lease)}
		for m := range f.k.Masters {
			run.Masters = append(run.Masters, fmt.Sprint("m", m))
		}
		f.add(w, history.Event{What: history.RunBegan, Run: run})
		for c := range f.k.Callers {
			f.add(w, history.Event{What: history.Started, Who: who(c)})
		}
	}
	for c := range f.k.Callers {
		f.caller(w, &last.Callers[c], &w.Callers[c], c)
	}
	for m := range f.k.Masters {
		p := &w.Masters[m]
		name := fmt.Sprint("m", p.Name)
		f.fault(w, "guard", p.Guard > w.Now, name)
		f.fault(w, "dead", p.Dead, name)
		for c := range f.k.Callers {
			f.fault(w, "freeze", w.Links[m][f.k.client(c)].Frozen, name, who(c))
		}
	}
	f.before = w
}

func who(c int) string { return fmt.Sprint("C", c) }

func (f *film) add(w *World, e history.Event) {
	e.At = time.Duration(w.Now-begin) * tick
	f.events = append(f.events, e)
}

// caller tells what has become of a caller.
func (f *film) caller(w *World, last, p *Caller, c int) {
	e := history.Event{Who: who(c), Do: history.Lock, Names: []string{"lock"}, Shared: p.Want.Shared}
	if e.Shared {
		e.Do = history.RLock
	}
	tell := func(what history.What, e history.Event) {
		e.What, e.Call = what, f.calls[c]
		f.add(w, e)
	}
	held := func(p *Caller) bool { return p.live() || p.kept() }
	asks := func(p *Caller) bool { return p.contends() || held(p) }
	if !asks(last) && asks(p) {
		f.calls[c]++
		tell(history.Called, e)
	}
	hold := history.Event{Who: e.Who, Hold: f.calls[c], Name: "lock", Shared: p.Want.Shared, Token: p.Token, Until: f.at(p)}
	switch {
	case !held(last) && held(p):
		tell(history.Granted, hold)
		tell(history.Returned, history.Event{Who: e.Who})
	case last.contends() && !p.contends() && !held(p):
		tell(history.Returned, history.Event{Who: e.Who, Err: history.Ended})
	case last.live() && p.live() && last.Until != p.Until:
		tell(history.Alive, hold)
	}
	if last.live() && !p.live() {
		switch {
		case p.Crashed:
		case p.over() && p.Why != attempt.Released:
			hold.Text = p.Why.String()
			tell(history.Lost, hold)
		default:
			f.calls[c]++
			tell(history.Called, history.Event{Who: e.Who, Do: history.Unlock, Hold: hold.Hold, Names: e.Names})
			tell(history.Returned, history.Event{Who: e.Who})
		}
	}
	for _, change := range []struct {
		before, now bool
		what, over  history.What
	}{
		{last.Crashed, p.Crashed, history.Killed, history.Started},
		{last.Asleep, p.Asleep, history.Stopped, history.Continued},
	} {
		switch {
		case !change.before && change.now:
			f.add(w, history.Event{What: change.what, Who: e.Who})
		case change.before && !change.now && !p.Crashed:
			f.add(w, history.Event{What: change.over, Who: e.Who})
		}
	}
}

// at is when validity ends, on the clock of the picture.
func (f *film) at(p *Caller) time.Duration { return p.Until.Sub(instant(begin - int64(p.Behind))) }

// fault tells of a fault that begins or ends.
func (f *film) fault(w *World, kind string, on bool, at ...string) {
	key := fmt.Sprint(kind, at)
	id, was := f.faults[key]
	switch {
	case on && !was:
		f.count++
		f.faults[key] = f.count
		f.add(w, history.Event{What: history.Fault, Fault: kind, ID: f.count, On: at})
	case was && !on:
		delete(f.faults, key)
		f.add(w, history.Event{What: history.Mended, Fault: kind, ID: id})
	}
}

// draw draws the way to what is wrong, in a file.
func (f *film) draw(file, wrong string) error {
	h, err := history.Merge(f.events)
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	last := h.Events[max(0, len(h.Events)-lastEvents):]
	return picture.Write(out, h, []history.Violation{{Check: "search", At: last[len(last)-1].At, Text: wrong, Events: last}})
}

// lastEvents are marked as what led to what is wrong.
const lastEvents = 6
