package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/internal/history"
	"example.com/redlock/internal/picture"
	"example.com/redlock/redlock"
)

// record is the history of the demo, which --html draws. Both clients of the demo write to it, and if the
// story broke off, B's may still do when it is drawn.
type record struct {
	*history.Recorder
	last atomic.Int64 // number of a call, hold or fault

	mu    sync.Mutex
	lines []byte
}

// Write keeps a line of the Recorder.
func (r *record) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line...)
	return len(line), nil
}

// newRecord begins the record with what is set up. begun is when the story begins.
func newRecord(begun time.Time, masters []string) *record {
	r := &record{}
	r.Recorder = history.NewRecorder(r, "", func() time.Duration { return time.Since(begun) })
	r.Add(history.Event{What: history.RunBegan, Run: &history.Run{
		Title: "redlock demo: " + demoName, Began: begun, Locker: "redlock", Masters: masters,
		Lease: demoLease, MaxLease: demoLease, Guard: -1, Replay: "redlock demo", Tokens: true, Signal: true,
	}})
	for _, who := range []string{"A", "B"} {
		r.Add(history.Event{What: history.Started, Who: who})
	}
	return r
}

// number returns one that was not used before.
func (r *record) number() int { return int(r.last.Add(1)) }

// guest is a hold of the demo, and what the record calls it.
type guest struct {
	*redlock.Hold
	who    string
	number int
}

// lock has the client of who lock the name of the demo.
func (r *record) lock(ctx context.Context, client *redlock.Client, who string) (*guest, error) {
	call := r.number()
	r.Add(history.Event{What: history.Called, Who: who, Call: call, Do: history.Lock, Names: []string{demoName}})
	hold, err := client.Lock(ctx, demoName)
	if err != nil {
		r.Add(history.Event{What: history.Returned, Who: who, Call: call, Err: history.Unknown, Text: err.Error()})
		return nil, err
	}
	g := &guest{Hold: hold, who: who, number: r.number()}
	r.Add(history.Event{
		What: history.Granted, Who: who, Call: call, Hold: g.number, Name: demoName,
		Token: hold.Token(), Until: r.Now() + hold.Remaining(),
	})
	r.Add(history.Event{What: history.Returned, Who: who, Call: call})
	return g, nil
}

// unlock unlocks a hold.
func (r *record) unlock(ctx context.Context, g *guest) error {
	call := r.number()
	r.Add(history.Event{What: history.Called, Who: g.who, Call: call, Do: history.Unlock, Hold: g.number})
	err := g.Unlock(ctx)
	returned := history.Event{What: history.Returned, Who: g.who, Call: call}
	if err != nil {
		returned.Err, returned.Text = history.Unknown, err.Error()
	}
	r.Add(returned)
	return err
}

// renewed records that a hold's validity was seen to end later than before.
func (r *record) renewed(g *guest, left time.Duration) {
	now := r.Now()
	r.Add(history.Event{At: now, What: history.Alive, Who: g.who, Hold: g.number, Until: now + left})
}

// lost records that a hold's context ended.
func (r *record) lost(g *guest) {
	r.Add(history.Event{What: history.Lost, Who: g.who, Hold: g.number, Text: plain(context.Cause(g.Context()))})
}

// killed records the death of a master, and returns the number that mended takes.
func (r *record) killed(master string) int {
	id := r.number()
	r.Add(history.Event{What: history.Fault, ID: id, Fault: "kill", On: []string{master}})
	return id
}

func (r *record) mended(id int) { r.Add(history.Event{What: history.Mended, ID: id}) }

// draw writes the page of what has been recorded.
func (r *record) draw(out io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	events, err := history.Read(bytes.NewReader(r.lines))
	if err = errors.Join(r.Err(), err); err != nil {
		return err
	}
	h, err := history.Merge(events)
	if err != nil {
		return err
	}
	return picture.Write(out, h, nil)
}
