package multilock

import (
	"time"

	"example.com/redlock/clock"
)

// visit is the next renewal of a hold. Watchdog.mu guards it.
type visit struct {
	at    clock.Instant // as the hold has it
	lease time.Duration
	from  time.Time // from when it may be made
	due   time.Time
	index int // in the heap
}

// unscheduled is the index of what is not in the heap.
const unscheduled = -1

// schedule is a heap of holds by their visits, the earliest first.
type schedule []*Hold

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(i, j int) bool { return s[i].visit.due.Before(s[j].visit.due) }

func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].visit.index, s[j].visit.index = i, j
}

func (s *schedule) Push(v any) {
	h := v.(*Hold)
	h.visit.index = len(*s)
	*s = append(*s, h)
}

func (s *schedule) Pop() any {
	last := len(*s) - 1
	h := (*s)[last]
	h.visit.index = unscheduled
	(*s)[last] = nil
	*s = (*s)[:last]
	return h
}
