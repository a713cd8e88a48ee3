package otelredlock

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"example.com/redlock/redlocktrace"
)

// states are those that a master can be in. Only one that is up votes.
var states = []redlocktrace.State{
	redlocktrace.StateUp, redlocktrace.StateDown, redlocktrace.StateRefused, redlocktrace.StateGuarded, redlocktrace.StateUnsteady,
}

// client is what is known of a client.
type client struct {
	masters  map[string]*master
	overlaps map[string]bool // other sets of masters in use that overlap with its own
}

// master is one of them.
type master struct {
	reached  bool
	refused  bool
	guarded  bool
	unsteady bool
	run      string // the process that it was when it was last reached
}

// state returns the state that matters most for locks.
func (m *master) state() redlocktrace.State {
	switch {
	case m.refused:
		return redlocktrace.StateRefused
	case !m.reached:
		return redlocktrace.StateDown
	case m.unsteady:
		return redlocktrace.StateUnsteady
	case m.guarded:
		return redlocktrace.StateGuarded
	}
	return redlocktrace.StateUp
}

// change notes what the client says of the master.
func (m *master) change(e *redlocktrace.MasterChanged) {
	switch e.State {
	case redlocktrace.StateUp:
		m.reached, m.refused, m.guarded = true, false, false
		m.unsteady = m.unsteady && m.run == e.RunID // a new process has a clock that nobody knows yet
		m.run = e.RunID
	case redlocktrace.StateDown:
		m.reached, m.refused = false, false
	case redlocktrace.StateRefused:
		m.refused = true
	case redlocktrace.StateGuarded:
		m.guarded = true
	case redlocktrace.StateGranting:
		m.guarded = false
	case redlocktrace.StateUnsteady:
		m.unsteady = true
	case redlocktrace.StateSteady:
		m.unsteady = false
	case redlocktrace.StateBehind: // keeps leases longer, which is safe
	}
}

func (r *recorder) clientChanged(e redlocktrace.ClientChanged) {
	switch e.State {
	case redlocktrace.ClientStarted:
		c := &client{masters: map[string]*master{}, overlaps: map[string]bool{}}
		for _, name := range e.Masters {
			c.masters[name] = new(master)
		}
		r.mu.Lock()
		r.clients[e.Client] = c
		r.mu.Unlock()
	case redlocktrace.ClientMissed:
		r.forget(e.Client) // it may have ended unseen
	case redlocktrace.ClientClosed:
		r.forget(e.Client) // events may have been missed
		r.mu.Lock()
		delete(r.clients, e.Client)
		r.mu.Unlock()
	}
	r.metrics.missed.Add(context.Background(), int64(e.Missed), r.sets.of().add...)
	r.observe()
}

func (r *recorder) masterChanged(e redlocktrace.MasterChanged) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[e.Client]; c != nil && c.masters[e.Master] != nil {
		c.masters[e.Master].change(&e)
	}
}

func (r *recorder) setsOverlap(e redlocktrace.SetsOverlap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clients[e.Client]
	switch {
	case c == nil:
	case e.Err != nil:
		c.overlaps[e.Other] = true
	default:
		delete(c.overlaps, e.Other)
	}
}

// forget ends the calls and holds of a client, and no longer counts them.
func (r *recorder) forget(client string) {
	var calls []*call
	var holds []*hold
	r.mu.Lock()
	for id, c := range r.calls {
		if id.client == client {
			calls = append(calls, c)
			delete(r.calls, id)
		}
	}
	for owner, h := range r.holds {
		if h.client == client {
			holds = append(holds, h)
			delete(r.holds, owner)
		}
	}
	r.mu.Unlock()
	for _, c := range calls {
		if c.waiting {
			r.metrics.waiters.Add(context.Background(), -1, c.counted.add...)
		}
		c.end(time.Now())
	}
	for _, h := range holds {
		r.metrics.holds.Add(context.Background(), -1, h.counted.add...)
		h.end(time.Now())
	}
}

// observe makes the meter provider collect the states of masters for as long as there are clients: it keeps a callback, and
// what that refers to, until the callback is unregistered.
func (r *recorder) observe() {
	r.callbacks.Lock() // no other function waits for it
	defer r.callbacks.Unlock()
	r.mu.Lock()
	wanted := len(r.clients) > 0
	r.mu.Unlock()
	switch {
	case wanted && r.callback == nil:
		callback, err := r.meter.RegisterCallback(r.observed, r.metrics.state, r.metrics.overlaps)
		if err != nil {
			otel.Handle(err)
			return
		}
		r.callback = callback
	case !wanted && r.callback != nil:
		if err := r.callback.Unregister(); err != nil {
			otel.Handle(err)
		}
		r.callback = nil
	}
}

// observed reports how many clients see each master in each state. A state that none sees is 0, so that a graph shows when
// it ended.
func (r *recorder) observed(_ context.Context, o metric.Observer) error {
	seen, overlaps := map[string]map[redlocktrace.State]int64{}, int64(0)
	r.mu.Lock()
	for _, c := range r.clients {
		overlaps += int64(len(c.overlaps))
		for name, m := range c.masters {
			if seen[name] == nil {
				seen[name] = map[redlocktrace.State]int64{}
			}
			seen[name][m.state()]++
		}
	}
	r.mu.Unlock()
	o.ObserveInt64(r.metrics.overlaps, overlaps, metric.WithAttributeSet(r.sets.set()))
	for name, clients := range seen {
		for _, state := range states {
			set := r.sets.set(pair{keyMaster, name}, pair{keyState, string(state)})
			o.ObserveInt64(r.metrics.state, clients[state], metric.WithAttributeSet(set))
		}
	}
	return nil
}

func (r *recorder) answered(e redlocktrace.Answered) {
	o := r.sets.of(pair{keyMaster, e.Master}, pair{keyError, answerError(e.Err)})
	r.metrics.script.Record(context.Background(), e.Took.Seconds(), o.record...)
}

// answers are the codes with which errors of Redis, Valkey and our scripts begin. A master could make up any number of
// others, each of which would be a time series.
var answers = []string{
	"ASK", "BUSY", "CLUSTERDOWN", "CROSSSLOT", "DENIED", "ERR", "EXECABORT", "LOADING", "MASTERDOWN", "MISCONF",
	"MOVED", "NOAUTH", "NOPERM", "NOREPLICAS", "NOSCRIPT", "NOTLOCK", "OOM", "READONLY", "TRYAGAIN", "UNKILLABLE",
	"WRONGPASS", "WRONGTYPE",
}

// answerError is the class of an error that a master answered: the code that it begins with.
func answerError(err error) string {
	if err == nil {
		return ""
	}
	if code, _, _ := strings.Cut(err.Error(), " "); slices.Contains(answers, code) {
		return code
	}
	return "_OTHER" // as in OpenTelemetry's conventions
}
