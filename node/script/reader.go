package script

import "time"

// What the commands of readers have that those of other owners have not. What they mean is said of
// the methods of Owner.

// SharedHolder is the holder that an [Answer] names if readers have the lock.
const SharedHolder = "shared"

// share is an ask of a reader, or of one that waits.
func (o *Owner) share(lease, proposal, since, short, round any) *Command {
	c := o.ask(shareStep)
	c.args = append(c.args, lease, proposal, since, short, round)
	return c
}

// Reader is one that has a lock together with others.
type Reader struct {
	Owner string
	Left  time.Duration // until its lease ends
}

// Crowd is who has a lock together, and who waits for it. Of either there are 32 at most.
type Crowd struct {
	Readers []Reader // those who have it the longest, the last of them last
	Waiters []Waiter // the first ones, in their order
}
