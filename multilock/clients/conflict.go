package clients

import (
	"context"
	"maps"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// settledAfter is for how long an established client must see a conflict before it reports it. When a master
// restarts, clients learn of its new run id within a beat of each other, 18 s at most.
const settledAfter = 25 * time.Second

// rival is a use that conflicts with that of this client.
type rival struct {
	found terms.Rival
	from  *Directory      // of the set whose master told
	seen  clock.Instant   // when it was seen first
	told  bool            // the log and the trace were
	named <-chan struct{} // closed once it is known who it is of, or that no master knows
}

// receiver takes the answers to what was sent at asked, when the client's terms were own. published says that the client
// was established then, and published its terms.
func (d *Directory) receiver(own *terms.Terms, asked clock.Instant, published bool) poll.Receiver {
	return func(i int, a script.Answer) {
		if !d.All.Begin() {
			return
		}
		// Goroutines: one, since what a master told takes time to read. It waits for nobody.
		go func() {
			defer d.All.End()
			d.sets.mu.Lock()
			defer d.sets.mu.Unlock()
			now := clock.Now()
			if d.toldLocked(i, a, own, asked) && published {
				d.standing.Kept(i, asked, now)
				until := d.standing.Until()
				d.until.Store(&until)
			}
			d.compareLocked(now)
		}()
	}
}

// toldLocked takes in what master i answered to a question that was sent at asked, when the client's terms were own. It
// reports whether the master answered at all, be it with a refusal.
func (d *Directory) toldLocked(i int, a script.Answer, own *terms.Terms, asked clock.Instant) bool {
	if a.Outcome != script.Done && a.Outcome != script.Failed {
		return false
	}
	d.deniedLocked(i, a)
	d.views[i] = terms.View{Master: own.Masters[i], At: asked}
	d.views[i].Uses, _ = script.ReadUses(a.Reply)
	return true
}

// compareLocked compares the client's terms with those of others, by what the masters of all its sets told last.
// It reports conflicts that are new, and that are over, and returns one, nil if there is none.
func (d *Directory) compareLocked(now clock.Instant) *rival {
	own, live := d.ownTermsLocked(now), make(map[string]*rival)
	for _, o := range d.sets.all {
		for _, found := range terms.Rivals(own, o.views, now) {
			r := d.rivals[found.Use.Text]
			if r == nil {
				r = &rival{seen: now}
			}
			if r.from != o || r.found.Use.By != found.Use.By {
				r.named = o.lookUp(found.Use.By)
			}
			r.found, r.from, live[found.Use.Text] = found, o, r
		}
	}
	for text, r := range d.rivals {
		if live[text] == nil && r.told {
			other := r.found.Use.Terms.String()
			d.traced(redlocktrace.SetsOverlap{Other: other})
			d.All.Log.Info("redlock: the conflict with other clients is over", "other", other)
		}
	}
	d.rivals = live
	for _, r := range live {
		if d.standing.Established(now) && now.Sub(r.seen) >= settledAfter {
			d.tellLocked(r)
		}
	}
	return d.firstLocked(false)
}

// firstLocked returns one of the conflicts, of those that were reported if told is true; nil if there is none.
func (d *Directory) firstLocked(told bool) *rival {
	for _, text := range slices.Sorted(maps.Keys(d.rivals)) {
		if r := d.rivals[text]; r.told || !told {
			return r
		}
	}
	return nil
}

// tellLocked tells the log and the trace of a conflict, once.
func (d *Directory) tellLocked(r *rival) {
	if r.told {
		return
	}
	r.told = true
	why := d.explainLocked(r)
	d.traced(redlocktrace.SetsOverlap{Other: r.found.Use.Terms.String(), Err: why})
	d.All.Log.Error("redlock: other clients use the masters in a way that conflicts with this one", "error", why)
}

// traced tells the trace of a conflict, or of its end.
func (d *Directory) traced(e redlocktrace.SetsOverlap) {
	if d.trace != nil {
		e.Client, e.Time = d.trace.Client, time.Now()
		tracer.Tell(d.trace, d.trace.Trace.SetsOverlap, e)
	}
}

// names waits until it is known who r is of, for longestLookUp at most.
func (d *Directory) names(r *rival) {
	enough, cancel := context.WithTimeout(context.Background(), longestLookUp)
	defer cancel()
	awaitAll(enough, r.named)
}

// explain returns the error of a conflict.
func (d *Directory) explain(r *rival) error {
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	return d.explainLocked(r)
}

func (d *Directory) explainLocked(r *rival) *terms.ConflictError {
	now := clock.Now()
	why := &terms.ConflictError{
		Reason: r.found.Reason, Own: *d.ownTermsLocked(now), Other: *r.found.Use.Terms, Refused: !d.standing.Established(now),
		Client: r.from.cache.client(r.found.Use.By), Master: r.from.All.Nodes[r.found.Master].Name(),
	}
	if why.Client != nil && why.Client.Record.Terms.Text() == r.found.Use.Text {
		why.Other = why.Client.Record.Terms // with the addresses
	}
	return why
}

// refusal returns what this client would be refused for, as far as masters have told; nil if it would not, or is
// established.
func (d *Directory) refusal() *rival {
	now := clock.Now()
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	if d.standing.Established(now) || !d.introduced() {
		return nil
	}
	return d.compareLocked(now)
}

// Guard returns the restart guard of those who take locks, as masters told in the last minute: the longest. It is that
// of this client if it is established, and where none is known.
//
// Cost: the first time one command to each master, none else.
func (d *Directory) Guard(ctx context.Context) time.Duration {
	if !d.introduced() {
		return d.id.Guard
	}
	d.lookOnce(ctx)
	now := clock.Now()
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	longest, known := d.id.Guard, d.standing.Established(now)
	for _, v := range d.views {
		for _, u := range v.Uses {
			guard := time.Duration(u.Guard) * time.Millisecond
			if now.Sub(v.At) <= script.RecordLife && (!known || guard > longest) {
				longest, known = guard, true
			}
		}
	}
	return longest
}

// lookOnce asks the masters how others use them, unless one has told already.
func (d *Directory) lookOnce(ctx context.Context) {
	if !d.heardAny() && ctx.Err() == nil && d.All.Begin() {
		patience, cancel := context.WithTimeout(ctx, longestLook)
		defer cancel()
		d.hear(ctx, terms.Look, patience)
		d.All.End()
	}
}

// heardAny reports whether a master has told how others use it.
func (d *Directory) heardAny() bool {
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	return slices.ContainsFunc(d.views, func(v terms.View) bool { return v.Master != script.Master{} })
}

// Conflict returns a [*terms.ConflictError] if other clients use the masters in a way that does not go together
// with that of this client; nil as far as none is known.
//
// Cost: nothing is sent.
func (d *Directory) Conflict() error {
	if r := d.refusal(); r != nil {
		return d.explain(r)
	}
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	if r := d.firstLocked(true); r != nil {
		return d.explainLocked(r)
	}
	return nil
}

// Ready waits until a majority of the masters would grant a lock, as far as is known without
// asking them: see [node.Node.Ready]. It returns nil then.
//
// Otherwise it returns a [*poll.MajorityError] that says what each of the others lacks: when ctx has
// ended, and at once when waiting does not help. If this client would be refused, it returns the ConflictError
// of package terms.
//
// Cost: nothing is sent, but the first time one command to each master.
func (d *Directory) Ready(ctx context.Context) error {
	var r *rival
	err := d.All.Await(ctx, func() *poll.MajorityError {
		if r = d.refusal(); r != nil {
			return nil // it is not waited for
		}
		return d.All.Unready("ready", "")
	})
	if err == nil && r == nil && d.introduced() {
		d.lookOnce(ctx)
		r = d.refusal()
	}
	if r != nil {
		d.names(r)
		return d.explain(r)
	}
	return err
}

// info returns what r says of client.
func (d *Directory) info(client string, r script.Record) *terms.ClientInfo {
	return &terms.ClientInfo{Record: r, ID: client, Seen: max(0, d.All.Now().Sub(time.UnixMilli(r.At)))}
}
