package otelredlock

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// TestSpans: the spans of a lock that is held, waited for and handed off, and what they have in them.
func TestSpans(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		a, b := l.open(redlock.Config{}), l.open(redlock.Config{})
		ctx, request := l.tracers.Tracer("test").Start(t.Context(), "request")
		first := l.lock(ctx, a, "a")
		time.AfterFunc(time.Second, func() { check.OK(t, first.Unlock(t.Context())) })
		second := l.lock(ctx, b, "a")
		time.Sleep(time.Minute)
		l.unlock(second)
		request.End()

		calls, holds := l.named("redlock.lock"), l.named("redlock.hold")
		if len(calls) != 2 || len(holds) != 2 {
			t.Fatalf("%d calls and %d holds, want 2 of each", len(calls), len(holds))
		}
		client, internal := trace.SpanKindClient, trace.SpanKindInternal
		for i, want := range []struct {
			span tracetest.SpanStub
			kind trace.SpanKind
			long time.Duration
			hold *redlock.Hold // that it is of, or that it got
		}{
			{calls[0], client, 0, first},
			{calls[1], client, time.Second, second},
			{holds[0], internal, time.Second, first},
			{holds[1], internal, time.Minute, second},
		} {
			span := want.span
			if span.Parent.SpanID() != request.SpanContext().SpanID() || span.SpanKind != want.kind || span.Status.Code != codes.Unset {
				t.Errorf("span %d is of kind %v, with status %v, and its parent %v", i, span.SpanKind, span.Status, span.Parent.SpanID())
			}
			check.Equal(t, span.EndTime.Sub(span.StartTime), want.long, "span %d lasted", i)
			if owner, token := at(span, keyOwner), at(span, keyToken); owner != want.hold.Owner() || token != fmt.Sprint(want.hold.Token()) {
				t.Errorf("span %d has owner %s and token %s, want %s and %d", i, owner, token, want.hold.Owner(), want.hold.Token())
			}
		}
		var names strings.Builder
		for _, event := range calls[1].Events {
			names.WriteString(strings.TrimPrefix(event.Name, "redlock.") + " ")
		}
		for _, want := range []string{"asked voted ", " waiting ", " decided "} {
			check.That(t, strings.Contains(names.String(), want), "the second call has the events %q, want %q among them", &names, want)
		}
		check.Equal(t, len(holds[1].Events), 0, "events of the second hold, whose renewals succeed,")
	})
}

// TestLinks: a call that waited leads to the hold that it waited for, and to the one whose release
// passed the lock on, or whose lease ran out. Nobody waits for what is handed off to itself. Under a context without a
// span, a hold is in one trace with its call.
func TestLinks(t *testing.T) {
	for name, tt := range map[string]struct {
		clients int           // that the two holds are of
		lease   time.Duration // of the first; 0: it is unlocked
	}{
		"another client": {2, 0}, "the same": {1, 0}, "a lease that ran out": {2, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, l *lab) {
				both := []*redlock.Client{l.open(redlock.Config{}), l.open(redlock.Config{})}
				if tt.lease > 0 {
					check.OK(t, second(both[0].Lock(t.Context(), "a", redlock.Lease(tt.lease))))
				} else {
					first := l.lock(t.Context(), both[0], "a")
					time.AfterFunc(time.Second, func() { check.OK(t, first.Unlock(t.Context())) })
				}
				next := l.lock(t.Context(), both[tt.clients-1], "a")
				l.unlock(next)
				hold, calls := l.named("redlock.hold")[0], l.named("redlock.lock")
				check.Equal(t, hold.Parent.SpanID(), calls[0].SpanContext.SpanID(), "the hold's parent")
				var got []string
				for _, link := range calls[1].Links {
					got = append(got, link.Attributes[0].Value.AsString())
					check.Equal(t, link.SpanContext.SpanID(), hold.SpanContext.SpanID(), "where a link leads")
				}
				check.Equal(t, strings.Join(got, " "), "waited_for handed_off_by", "links")
				check.Equal(t, holders(calls[1]), at(hold, keyOwner), "the holders that the call names")
			})
		})
	}
}

// TestNoLinkAcrossPrograms: where another program held the lock in between, the release that passed it
// on is not ours.
func TestNoLinkAcrossPrograms(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		ours, theirs := l.open(redlock.Config{}), newLab(t, l.fleet, Config{}).open(redlock.Config{})
		l.unlock(l.lock(t.Context(), ours, "a"))
		hold := l.lock(t.Context(), theirs, "a")
		time.AfterFunc(time.Second, func() { check.OK(t, hold.Unlock(t.Context())) })
		l.unlock(l.lock(t.Context(), ours, "a"))
		call := l.named("redlock.lock")[1]
		check.Equal(t, len(call.Links), 0, "links of the call")
		check.Equal(t, holders(call), hold.Owner(), "the holders that the call names")
	})
}

// holders are those that the events of a call name, each once.
func holders(call tracetest.SpanStub) string {
	var owners []string
	for _, event := range call.Events {
		for _, a := range event.Attributes {
			if owner := a.Value.AsString(); a.Key == keyHolder && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
		}
	}
	return strings.Join(owners, " ")
}

// TestPassed: of names beyond a number, those that were locked first are forgotten.
func TestPassed(t *testing.T) {
	p := passed{last: map[place]handOver{}}
	for i := range 3 * mostPassed {
		p.add(place{name: fmt.Sprint(i % (2 * mostPassed))}, handOver{token: int64(i)})
		p.add(place{name: "again"}, handOver{token: int64(i)})
	}
	n := len(p.last)
	check.That(t, n == mostPassed && len(p.order) == mostPassed, "%d names, and %d in their order, want %d", n, len(p.order), mostPassed)
	last := 3*mostPassed - 1
	check.Equal(t, p.last[place{name: fmt.Sprint(last % (2 * mostPassed))}].token, int64(last), "the token of the last hold")
	for i, at := range p.order {
		if _, there := p.last[at]; !there {
			t.Fatalf("place %d of the order is not in the map", i)
		}
	}
}

// TestNothingStays: what ended is forgotten, however it ended.
func TestNothingStays(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		for range 3 {
			a, b := l.open(redlock.Config{}), l.open(redlock.Config{})
			l.unlock(l.lock(t.Context(), a, "a"))
			l.lock(t.Context(), a, "a")
			go b.Lock(t.Context(), "a") // until b is closed
			check.Err(t, "TryLock", second(b.TryLock(t.Context(), "a")), redlock.ErrTaken)
			check.OK(t, second(b.Lock(t.Context(), "b", redlock.Lease(time.Second))))
			time.Sleep(2 * time.Second)
			calls, holds, clients, callback := l.kept()
			check.That(t, calls == 1 && holds != 0 && clients == 2 && callback, "%d calls, %d holds, %d clients, callback: %t: there is too little to forget", calls, holds, clients, callback)
			each(l.fleet, 0, 3, (*redlocktest.Master).Kill)
			time.Sleep(time.Minute) // a hold is lost
			each(l.fleet, 0, 3, (*redlocktest.Master).RestartWithData)
			time.Sleep(2 * time.Second)
			a.Close()
			b.Close()
			synctest.Wait()
			if calls, holds, clients, callback := l.kept(); calls != 0 || holds != 0 || clients != 0 || callback {
				t.Errorf("%d calls, %d holds, %d clients are left, callback: %t", calls, holds, clients, callback)
			}
			check.Equal(t, l.total("master.state", "}")+l.total("hold.count", "}")+l.total("waiter.count", "}"), 0, "what gauges still show")
		}
	})
}

// kept is what the recorder remembers.
func (l *lab) kept() (calls, holds, clients int, callback bool) {
	r := l.recorder
	r.callbacks.Lock()
	defer r.callbacks.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls), len(r.holds), len(r.clients), r.callback != nil
}
