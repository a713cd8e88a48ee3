package script

import "time"

// SharedHolder is the holder that an [Answer] names if readers have the lock.
const SharedHolder = "shared"

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
