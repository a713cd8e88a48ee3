package node

import (
	"context"
	"time"

	"example.com/redlock/clock"
)

// ClockFacts are what a master's clock showed, compared with ours.
type ClockFacts struct {
	Known  bool
	Offset time.Duration // how far it is ahead of our wall clock
	Within time.Duration // how far Offset may be wrong
	Over   time.Duration // for how long the two were compared
	Gained time.Duration // by how much it ran faster meanwhile, at least
	Lost   time.Duration // by how much it ran slower meanwhile, at least
}

// clockWatch compares a master's clock with ours over several samples. See [clockCheck] for what is
// certain.
type clockWatch struct {
	first, last, best sample
	wall              time.Time // when best was read, by our wall clock
}

func (w *clockWatch) add(s sample) {
	if w.first.told.IsZero() {
		w.first, w.best, w.wall = s, s, time.Now()
	}
	if s.read.Sub(s.sent) < w.best.read.Sub(w.best.sent) {
		w.best, w.wall = s, time.Now()
	}
	w.last = s
}

func (w *clockWatch) facts() ClockFacts {
	if w.first.told.IsZero() {
		return ClockFacts{}
	}
	within := w.best.read.Sub(w.best.sent) / 2
	passed := w.last.told.Sub(w.first.told)
	most, least := w.last.read.Sub(w.first.sent), w.last.sent.Sub(w.first.read)
	return ClockFacts{
		Known:  true,
		Offset: w.best.told.Sub(w.wall.Add(-within)),
		Within: within,
		Over:   most,
		Gained: max(0, passed-most),
		Lost:   max(0, least-passed),
	}
}

// compareClocks waits until the clocks have run side by side for long enough, and looks at them once
// more.
func (p *probe) compareClocks(ctx context.Context) error {
	defer func() { p.facts.Clock = p.clock.facts() }()
	if p.clock.first.told.IsZero() {
		return nil
	}
	if left := clock.Until(p.clock.first.sent.Add(watchClock)); left > 0 {
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err := p.trip()
	return err
}
