package main

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"example.com/redlock/internal/history"
	"example.com/redlock/internal/picture"
	"example.com/redlock/redlock"
)

// record is the history of the demo, which --html draws. Both clients of the demo write to it. If the story broke off, that
// of B may still do so while the history is drawn.
type record struct {
	begun time.Time

	mu     sync.Mutex
	events []history.Event
}

// newRecord begins the record with what is set up.
func newRecord(masters []string) *record {
	r := &record{begun: time.Now()}
	r.add(history.Event{What: history.RunBegan, Run: &history.Run{
		Title: "redlock demo: " + demoName, Began: r.begun, Masters: masters,
		Lease: demoLease, MaxLease: demoLease, Guard: -1, Replay: "redlock demo",
	}})
	for _, who := range []string{"A", "B"} {
		r.add(history.Event{What: history.Started, Who: who})
	}
	return r
}

// now is the time since the record began.
func (r *record) now() time.Duration { return time.Since(r.begun) }

// add adds an event of now. It returns the number of the call, hold or fault that begins with it.
func (r *record) add(e history.Event) (number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number = len(r.events)
	switch e.At = r.now(); e.What {
	case history.Called:
		e.Call = number
	case history.Granted:
		e.Hold = number
	case history.Fault:
		e.ID = number
	}
	r.events = append(r.events, e)
	return number
}

// guest is a hold of the demo, with its number in the record.
type guest struct {
	*redlock.Hold
	who    string
	number int
}

// lock locks the name of the demo for who, with that one's client.
func (r *record) lock(ctx context.Context, client *redlock.Client, who string) (*guest, error) {
	call := r.add(history.Event{What: history.Called, Who: who, Do: history.Lock, Names: []string{demoName}})
	hold, err := client.Lock(ctx, demoName)
	g := &guest{Hold: hold, who: who}
	if err == nil {
		g.number = r.add(history.Event{
			What: history.Granted, Who: who, Call: call, Name: demoName, Token: hold.Token(), Until: r.now() + hold.Remaining(),
		})
	}
	return g, r.returned(who, call, err)
}

// unlock unlocks a hold.
func (r *record) unlock(ctx context.Context, g *guest) error {
	call := r.add(history.Event{What: history.Called, Who: g.who, Do: history.Unlock, Hold: g.number})
	return r.returned(g.who, call, g.Unlock(ctx))
}

// returned notes that a call has returned err.
func (r *record) returned(who string, call int, err error) error {
	e := history.Event{What: history.Returned, Who: who, Call: call}
	if err != nil {
		e.Err, e.Text = history.Unknown, err.Error()
	}
	r.add(e)
	return err
}

// visits returns the holders of the lock so far, in order, and how many at most had it at the same time, as far as they
// knew.
func (r *record) visits() (who []string, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inside := 0
	for _, e := range r.events {
		switch {
		case e.What == history.Granted:
			inside++
			who = append(who, e.Who)
		case e.What == history.Lost, e.What == history.Called && e.Do == history.Unlock:
			inside--
		}
		most = max(most, inside)
	}
	return slices.Compact(who), most
}

// draw writes the page of what has been recorded.
func (r *record) draw(out io.Writer) error {
	r.mu.Lock()
	h, err := history.Merge(r.events)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return picture.Write(out, h, nil)
}
