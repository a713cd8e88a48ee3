package multilock

// Waiter is told what keeps its [Bid] waiting, beside other owners.
type Waiter interface {
	// Outage is called by Wait before it asks again, when too few masters answered for
	// anybody to have the lock, and once with nil when that is over.
	Outage(why *MajorityError)
}

// outage is what a bid has to tell its waiter.
type outage struct {
	why  *MajorityError // of the last ask, nil if enough masters answered
	news bool           // to be told
}

// takeStock notes what the last ask came to. It is called before the next one, when all the
// answers are in that come soon, so that they are told together. b.mu is held.
func (b *Bid) takeStock() {
	if b.want.Waiter == nil {
		return
	}
	before := b.outage.why
	b.outage.why = nil
	if b.told && b.unreachable() {
		b.outage.why = b.m.refused(b.want.Key, &b.ballot, nil)
	}
	b.outage.news = b.outage.why != nil || before != nil
}

// inVain tells the waiter what there is to tell, and reports whether it waits in vain.
func (b *Bid) inVain() bool {
	b.mu.Lock()
	o, vain := b.outage, b.told && !b.over && b.hopeless()
	b.outage.news = false
	b.mu.Unlock()
	if o.news && !vain {
		b.want.Waiter.Outage(o.why)
	}
	return vain
}
