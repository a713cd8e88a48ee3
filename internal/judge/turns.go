package judge

import (
	"fmt"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// Turns is the check of first come, first served.
const Turns = "turns"

// If there are no stamps, a caller is certainly behind another only if it began to wait later by this much. Its place is
// the time when it began, by the median of the masters' clocks, which its client estimates from answers that took up to
// a round trip. A waiter for a permit stands at one slot first, and may be overtaken at others until it has come to four
// of them: for 1.2 s, and the time of its round trips.
const (
	behind       = 150 * time.Millisecond
	behindPermit = 2 * time.Second
)

// agrees is how much later the first of two callers that are let in together may be if it had to agree with the masters
// on its token and the other had not. A master that forgot its counter answers what is proposed to it, and then the
// others must raise theirs to that: a round trip, and one more if a master lacks the script.
const agrees = 250 * time.Millisecond

// losesPlace is for how long a process may not run before its waiters may lose their places in the queue: a waiter asks
// again after 200 ms, and a master forgets it after twice that.
const losesPlace = 200 * time.Millisecond

// turns looks at pairs of plain waits for a name, of which one was certainly behind the other: it must not be granted the
// name while the other still waits. Which of them was behind follows from the stamps by which the masters order waiters,
// if the library tells them, or else from when the calls began.
//
// Readers, and holders of permits, may get in together: one script lets in those at the head of the line, with a message
// for each, and they learn of it in any order. So the first of such a pair must still have waited for as long again, or
// for as long as it takes to agree on its token, if that was larger; time in which its process or a master did not run
// does not count.
//
// Nobody promises an order under faults: a master that restarts has forgotten its queue, and a client that is cut off has
// no place in it. So a pair is not judged if there was a fault while the first was known to stand in the queue, or in the
// second before that, in which its client may have missed what masters told it. If its place is not known, a fault counts
// from shortly before it began to wait. Nor is a pair judged if one of the two processes, or a master, did not run
// meanwhile. That loses nothing, so it does not matter if it was before.
func turns(r *record) Check {
	check := Check{Name: Turns}
	for _, l := range r.lines() {
		var waiting []*turn
		for _, second := range l.waits {
			r.moved(l, second, &check)
			waiting = slices.DeleteFunc(waiting, func(first *turn) bool { return first.ends <= second.call.At })
			for _, first := range waiting {
				r.pair(l, first, second, &check)
			}
			waiting = append(waiting, second)
		}
	}
	return check
}

// moved judges whether a call kept its stamp, whatever happened: each of its tries has to stand where the first stood.
func (r *record) moved(l *line, t *turn, check *Check) {
	stands := slices.DeleteFunc(slices.Clone(t.call.Places), func(p history.Event) bool { return p.Since == 0 })
	if len(stands) > 1 {
		check.Looked++
	}
	for _, p := range stands {
		if first := stands[0]; p.Since != first.Since {
			by := time.Duration(p.Since-first.Since) * time.Microsecond
			check.add(r, p.At, fmt.Sprintf("%s: the place of %s in the queue moved by %v while it waited", l.name, t.call.Who, by), t.call.Event, first, p)
			return
		}
	}
}

// pair judges two turns, of which the second was called later.
func (r *record) pair(l *line, first, second *turn, check *Check) {
	margin, together := behind, first.call.Do == history.RLock && second.call.Do == history.RLock
	if second.call.Do == history.Acquire {
		margin, together = behindPermit, true
	}
	stood := first.stoodBefore(second)
	if second.granted == history.Never || !stood && second.call.At <= first.call.At+margin {
		return
	}
	late := time.Duration(0)
	if together {
		late = margin
		if first.hold != nil && first.hold.Token > second.hold.Token {
			late = max(late, agrees)
		}
	}
	overtook := first.ends > second.granted+late
	if together {
		overtook = r.late(second.granted, late, first.ends, append([]string{first.call.Who}, r.Run.Masters...)...)
	}
	if overtook && !stood && second.call.Do != history.Lock && second.call.Do != history.LockFor && l.hidden(first, second, margin) {
		return
	}
	if !r.undisturbed(first, second, stood) {
		if overtook {
			check.Unjudged++
		}
		return
	}
	check.Looked++
	if overtook {
		r.overtaking(l, first, second, check)
	}
}

// stoodBefore reports whether t has the earlier stamp, and stood in the queue of each master before any majority could
// give second what it was granted. It is false for permits, whose waiters stand at one slot or another.
func (t *turn) stoodBefore(second *turn) bool {
	return t.call.Do != history.Acquire && t.call.Since < second.call.Since && t.call.Stands <= second.opens
}

// hidden reports whether the first of two callers stood behind another of its process that got in together with the
// second. Only the first in a client's own line stands in that of the masters (see docs/how-it-works.md, "Waiting"). So
// the one behind it comes to the masters' line only then, and cannot get in together with the second.
func (l *line) hidden(first, second *turn, margin time.Duration) bool {
	return slices.ContainsFunc(l.waits, func(other *turn) bool {
		return other.call.Who == first.call.Who && other.call.At < first.call.At && other.call.Do == second.call.Do &&
			other.ends > second.granted-margin
	})
}

// undisturbed reports whether there were no troubles of masters and of the two processes until the second was granted:
// since the first stood in the queue of each master, or if that is not known, since a while before it began to wait.
func (r *record) undisturbed(first, second *turn, stood bool) bool {
	waited := history.Span{From: first.call.At, To: second.granted}
	settled := history.Span{From: waited.From - r.Run.Lease - 2*time.Second, To: waited.To}
	loses := time.Duration(0)
	if stood {
		waited.From, settled.From, loses = first.call.Stands, first.call.Stands-time.Second, losesPlace
	}
	who := append([]string{first.call.Who, second.call.Who}, r.Run.Masters...)
	return !slices.ContainsFunc(r.troubles, func(t trouble) bool {
		return t.who == "" && t.Meets(settled) || t.Meets(waited) && t.To-t.From >= loses && slices.Contains(who, t.who)
	})
}

func (r *record) overtaking(l *line, first, second *turn, check *Check) {
	events := append([]history.Event{first.call.Event, second.call.Event, second.hold.Event}, slices.Concat(first.call.Places, second.call.Places)...)
	what := "was not granted it"
	if first.hold != nil {
		events = append(events, first.hold.Event)
		what = fmt.Sprintf("was granted it %v after that", round(first.granted-second.granted))
	} else if first.call.Result != nil {
		events = append(events, *first.call.Result)
	}
	check.add(r, second.granted, fmt.Sprintf("%s: %s was granted it after %v, but %s, which asked %v earlier, %s", l.name, second.call.Who,
		round(second.granted-second.call.At), first.call.Who, round(second.call.At-first.call.At), what), events...)
}
