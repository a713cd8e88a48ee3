package judge

import (
	"fmt"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// Loss is the check that no hold goes on after its validity, and that its holder learns of a loss in time.
const Loss = "loss"

const (
	// lateSignal is how long after the end of validity a loss may be recorded, since timers and the goroutine that records
	// it take time. If the process did not run for longer, it has recorded that.
	lateSignal = 30 * time.Millisecond
	// asking is how much earlier than it is a history may have the end of validity, since asking for it takes time.
	asking = time.Millisecond
)

// loss checks of each hold that its holder was told of the end, or gave it back, no later than lateSignal after the end
// of the validity that it knew of; that the hold was never seen to be valid after that; and that it was not valid again
// after it was lost. Time in which the process did not run does not count.
func loss(r *record) Check {
	check := Check{Name: Loss}
	for _, h := range r.Holds {
		check.Looked++
		last := *h.Looks[len(h.Looks)-1]
		end, what, events := r.end(h), "not told at all", []history.Event{last}
		switch {
		case h.Lost != nil && h.Lost.At == end:
			what, events = "told", append(events, *h.Lost)
		case h.Unlock != nil:
			what, events = "not told before it unlocked", append(events, h.Unlock.Event)
		}
		if r.late(h.Until, lateSignal, end, h.Who) {
			check.add(r, end, fmt.Sprintf("%s: %s's hold was valid until %v, of which it was %s, %v later",
				h.Key(), h.Who, round(h.Until), what, round(end-h.Until)), events...)
		}
		beyond := slices.IndexFunc(h.Looks, func(look *history.Event) bool {
			return look.What == history.Alive && look.At > look.Until+asking
		})
		if beyond >= 0 {
			look := *h.Looks[beyond]
			check.add(r, look.At, fmt.Sprintf("%s: %s's hold had not ended %v after its validity",
				h.Key(), h.Who, round(look.At-look.Until)), look)
		}
		if h.Lost != nil && last.At > h.Lost.At {
			check.add(r, last.At, fmt.Sprintf("%s: %s's hold was lost, and had not ended %v later",
				h.Key(), h.Who, round(last.At-h.Lost.At)), *h.Lost, last)
		}
	}
	return check
}

// end returns when a hold ended for its holder: it unlocked, was told of the loss, or ended itself.
func (r *record) end(h *history.Hold) time.Duration {
	end := r.ran(h.Who)
	if h.Unlock != nil {
		end = min(end, h.Unlock.At)
	}
	if h.Lost != nil {
		end = min(end, h.Lost.At)
	}
	return end
}
