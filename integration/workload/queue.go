package workload

import (
	"example.com/redlock/internal/history"
	"example.com/redlock/redlocktrace"
)

// place is where a call that waits stands in the queue of the masters.
type place struct {
	call  int // in the history
	since int64
	try   int             // 0: it has not asked yet
	at    map[string]bool // the masters that have told this try that it stands there; nil: all have
}

// TraceQueue returns a trace that tells the history of the places of calls. It tells no sooner than it is so,
// and once of each try.
func TraceQueue(tell func(history.Event)) *redlocktrace.Trace {
	masters, places := 0, map[uint64]*place{} // by ID; one function at a time is called
	return &redlocktrace.Trace{
		ClientChanged: func(e redlocktrace.ClientChanged) { masters = max(masters, len(e.Masters)) },
		CallStarted: func(e redlocktrace.CallStarted) {
			if call := CallOf(e.Context); call > 0 && e.Wait {
				places[e.ID] = &place{call: call}
			}
		},
		Asked: func(e redlocktrace.Asked) {
			p := places[e.ID]
			if p == nil || e.Since.IsZero() {
				return
			}
			if p.try != e.Try && (p.try == 0 || e.Permits == 0) { // who wants a permit has several tries at a time
				p.try, p.at, p.since = e.Try, map[string]bool{}, e.Since.UnixMicro()
				tell(history.Event{What: history.Queues, Call: p.call, Since: p.since})
			}
		},
		Voted: func(e redlocktrace.Voted) {
			p := places[e.ID]
			if p == nil || p.at == nil || e.Vote != redlocktrace.VoteRefused || e.Try != p.try {
				return
			}
			if p.at[e.Master] = true; len(p.at) == masters {
				tell(history.Event{What: history.Stands, Call: p.call, Since: p.since})
				p.at = nil
			}
		},
		Decided: func(e redlocktrace.Decided) {
			if p := places[e.ID]; p != nil && e.Decision == redlocktrace.DecisionNoToken {
				tell(history.Event{What: history.Queues, Call: p.call})
			}
		},
		CallDone: func(e redlocktrace.CallDone) { delete(places, e.ID) },
	}
}
