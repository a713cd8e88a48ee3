package clients

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// settledAfter is for how long an established client must see others publish terms that conflict with its own
// before it reports them. When a master restarts, clients learn of its new run id within a beat of each other,
// 18 s at most, and publish the old one until then.
const settledAfter = 25 * time.Second

// rival is a use that conflicts with that of this client.
type rival struct {
	terms.Rival
	seen  clock.Instant   // when it was seen first
	last  clock.Instant   // when it was published last, as far as is known
	told  bool            // the log and the trace were
	named <-chan struct{} // closed once it is known who it is of, or that no master knows
}

// texts remembers what terms say, for all clients of this process.
var texts struct {
	mu sync.Mutex
	script.Texts
}

// view returns what a master told that was asked at asked, when it was m.
func view(m *script.Master, a script.Answer, asked clock.Instant) terms.View {
	v := terms.View{Told: a.Outcome == script.Done || a.Outcome == script.Failed, At: asked}
	if a.Outcome == script.Done {
		texts.mu.Lock()
		defer texts.mu.Unlock()
		v.Uses, _ = texts.ReadUses(a.Reply)
		v.Master = *m
	}
	return v
}

// receiver takes what masters answer that were asked at asked, as own is. text is what was published there,
// empty if nothing was.
func (d *Directory) receiver(own *terms.Terms, text string, asked clock.Instant) poll.Receiver {
	return func(i int, a script.Answer) {
		if !d.Begin() {
			return
		}
		// Goroutines: one, since what a master told takes time to read. It waits for nobody.
		go func() {
			defer d.End()
			d.denied(i, a)
			views := make([]terms.View, len(d.Nodes))
			views[i] = view(&own.Masters[i], a, asked)
			now := clock.Now()
			d.mu.Lock()
			defer d.mu.Unlock()
			if views[i].Told && text != "" {
				d.at[i].kept = text
				if d.standing.Kept(i, asked, now) {
					until := d.standing.Until()
					d.until.Store(&until)
				}
			}
			d.sawLocked(views, own, now)
		}()
	}
}

// sawLocked takes in what masters told: those of views that did. It reports conflicts that are new, and that
// are over.
func (d *Directory) sawLocked(views []terms.View, own *terms.Terms, now clock.Instant) {
	all := make([]terms.View, len(d.Nodes))
	if seen := d.views.Load(); seen != nil {
		copy(all, *seen)
	}
	for i, v := range views {
		if v.Told {
			all[i] = v
		}
	}
	d.views.Store(&all)
	live := make(map[string]bool)
	for _, found := range d.rivalsLocked(own, now) {
		if found.State != script.Established {
			continue
		}
		r := d.rivals[found.Text]
		if r == nil {
			r = &rival{seen: now, last: now.Add(-script.RecordLife)}
			if d.rivals == nil {
				d.rivals = make(map[string]*rival)
			}
			d.rivals[found.Text] = r
			if found.Master >= 0 {
				r.named = d.lookUp(found.By)
			}
		}
		r.Rival, live[found.Text] = found, true
		if published := now.Add(-found.Since); published.Sub(r.last) > 0 {
			r.last = published
		}
	}
	for _, text := range slices.Sorted(maps.Keys(d.rivals)) {
		r := d.rivals[text]
		from := r.seen
		if from.Sub(d.changed) < 0 {
			from = d.changed
		}
		switch {
		case !live[text]:
			delete(d.rivals, text)
			if r.told {
				d.traced(redlocktrace.SetsOverlap{Other: r.Terms.String()})
				d.Log.Info("redlock: the conflict with other clients is over", "other", r.Terms.String())
			}
		case d.standing.Established(now) && (r.Reason == terms.ErrRoute || r.last.Sub(from) >= settledAfter):
			d.tellLocked(r)
		}
	}
}

// rivalsLocked returns the uses that conflict with own, as far as masters have told.
func (d *Directory) rivalsLocked(own *terms.Terms, now clock.Instant) []terms.Rival {
	views := d.views.Load()
	if views == nil {
		return nil
	}
	return terms.Rivals(own, d.text, d.standing.By, *views, d.elsewhere(), now)
}

// elsewhere returns what the masters of the client's other sets told.
func (d *Directory) elsewhere() (all []terms.View) {
	for _, o := range d.all() {
		if views := o.views.Load(); o != d && views != nil {
			all = append(all, *views...)
		}
	}
	return all
}

// seenLocked returns what the masters told in the last second, nil if that was not a majority of them.
func (d *Directory) seenLocked(now clock.Instant) []terms.View {
	seen := d.views.Load()
	if seen == nil {
		return nil
	}
	views, n := make([]terms.View, len(d.Nodes)), 0
	for i, v := range *seen {
		if v.Told && now.Sub(v.At) < fresh {
			views[i] = v
			n++
		}
	}
	if !d.Majority(n) {
		return nil
	}
	return views
}

// tellLocked tells the log and the trace of a conflict, once.
func (d *Directory) tellLocked(r *rival) {
	if r.told {
		return
	}
	r.told = true
	why := d.explainLocked(&r.Rival, !d.standing.Established(clock.Now()))
	d.traced(redlocktrace.SetsOverlap{Other: r.Terms.String(), Err: why})
	d.Log.Error("redlock: other clients use the masters in a way that conflicts with this one", "error", why)
}

// traced tells the trace of a conflict, or of its end.
func (d *Directory) traced(e redlocktrace.SetsOverlap) {
	if d.trace != nil {
		e.Client, e.Time = d.trace.Client, time.Now()
		tracer.Tell(d.trace, d.trace.SetsOverlap, e)
	}
}

// names waits until it is known who the rivals are of, for longestLookUp at most.
func (d *Directory) names() {
	var asked []<-chan struct{}
	for _, o := range d.all() {
		o.mu.Lock()
		for _, r := range o.rivals {
			asked = append(asked, r.named)
		}
		o.mu.Unlock()
	}
	enough, cancel := context.WithTimeout(context.Background(), longestLookUp)
	defer cancel()
	awaitAll(enough, asked...)
}

// all returns the directories of all sets that the client has.
func (d *Directory) all() []*Directory {
	if d.others == nil {
		return []*Directory{d}
	}
	return slices.Collect(maps.Values(d.others))
}

// refused reports that the client was refused because of r.
func (d *Directory) refused(r *terms.Rival) {
	d.names()
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.rivals[r.Text]; found != nil {
		d.tellLocked(found)
	}
}

// explain returns the error of a conflict.
func (d *Directory) explain(r *terms.Rival, refused bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.explainLocked(r, refused)
}

func (d *Directory) explainLocked(r *terms.Rival, refused bool) *terms.ConflictError {
	why := &terms.ConflictError{
		Reason: r.Reason, Own: *d.ownTermsLocked(clock.Now()), Other: *r.Terms,
		Master: "a master of another set", Refused: refused,
	}
	for _, o := range d.all() {
		if c := o.cache.client(r.By); c != nil {
			why.Client = c
		}
	}
	if why.Client != nil && why.Client.Terms.Text() == r.Text {
		why.Other = why.Client.Terms // with the addresses
	}
	if r.Master >= 0 {
		why.Master = d.Nodes[r.Master].Name()
	}
	return why
}

// refusal returns why this client would be refused, as far as masters have told; nil if it would not, or is
// established.
func (d *Directory) refusal() error {
	now := clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.standing.Established(now) || !d.introduced() {
		return nil
	}
	for _, r := range d.rivalsLocked(d.ownTermsLocked(now), now) {
		if r.State == script.Established {
			return d.explainLocked(&r, true)
		}
	}
	return nil
}

// Conflict returns a [*terms.ConflictError] if other clients use the masters in a way that does not go together
// with that of this client; nil as far as none is known.
//
// Cost: nothing is sent.
func (d *Directory) Conflict() error {
	if err := d.refusal(); err != nil {
		return err
	}
	now := clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	var first *rival
	for _, r := range d.rivals {
		if r.told && now.Sub(r.last) <= script.RecordLife && (first == nil || cmp.Less(r.Text, first.Text)) {
			first = r
		}
	}
	if first == nil {
		return nil
	}
	return d.explainLocked(&first.Rival, false)
}

// info returns what r says of client.
func (d *Directory) info(client string, r script.Record) *terms.ClientInfo {
	return &terms.ClientInfo{
		ID: client, Name: r.Name, Host: r.Host, Program: r.Program, Version: r.Version, PID: r.PID,
		Since: time.UnixMilli(r.Since), Seen: max(0, d.Now().Sub(time.UnixMilli(r.At))),
		Holds: r.Holds, Waits: r.Waits, Terms: r.Terms,
	}
}
