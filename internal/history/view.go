package history

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Never is the time of what did not happen in the run.
const Never = time.Duration(math.MaxInt64)

// View has the calls, holds, faults and processes of a history, each in the order of time.
type View struct {
	Run       Run
	Calls     []*Call
	Holds     []*Hold
	Faults    []*Trouble
	Pauses    []*Trouble // in which a process or a master did not run, in the order of their events
	Processes []*Process
	Writes    []Write
	Over      time.Duration // when the last faults were mended; Never: the history does not say
	End       time.Duration // of the last event

	holds     map[number]*Hold
	processes map[string]*Process
}

// number is that of a call or hold.
type number struct {
	who string
	n   int
}

// Hold returns hold number n of a client process, or nil.
func (v *View) Hold(who string, n int) *Hold { return v.holds[number{who, n}] }

// Process returns a client process, or nil.
func (v *View) Process(who string) *Process { return v.processes[who] }

// Call is a call of a client.
type Call struct {
	Event                  // that it began
	Returned time.Duration // Never: it did not
	Result   *Event        // nil: it did not return
	Holds    []*Hold       // that it was granted
	Since    int64         // its place in the queue; 0: it asked for none
	Stands   time.Duration // when it surely had that at each master; Never
	Places   []Event       // that say so
}

// Hold is a hold of a name, or of a slot of a semaphore.
type Hold struct {
	Event               // the grant
	By    *Call         // that was granted it
	Looks []*Event      // Granted, Alive: its context had not ended, in order
	Until time.Duration // when its validity was to end, as told last

	Downgraded time.Duration // when Downgrade was called; Never
	Unlock     *Call         // the first; nil: it was not called
	Lost       *Event        // nil: it was not seen to be lost
}

// Alive returns when the hold's context was last seen not to have ended.
func (h *Hold) Alive() time.Duration { return h.Looks[len(h.Looks)-1].At }

// Key names what can have one holder: a name, or a slot of a semaphore.
func (e *Event) Key() string {
	if e.Slot > 0 {
		return fmt.Sprintf("%s, slot %d", e.Name, e.Slot)
	}
	return e.Name
}

// Trouble is a fault, a stretch in which a process was stopped from outside, or a stall.
type Trouble struct {
	Event                      // Fault, Stopped or Stall
	Began, Ended time.Duration // Never: it has not ended
	End          *Event        // Mended, Continued or Killed; nil: it has not ended, or is a stall
}

// Phase says in which part of a fault masters lose what they have granted, though they do not restart; 0: in none.
type Phase int

const (
	Throughout Phase = 1 + iota // from when it begins until it is mended
	Mending                     // while it is mended: a clock that was behind jumps ahead. Until then leases last longer
)

// Forgot returns the stretch in which masters may have lost what they had granted, though they did not restart, and
// whether there is one.
func (t *Trouble) Forgot() (Span, bool) {
	if !t.Forgets && t.End != nil && t.End.Forgets {
		return Span{From: t.End.From, To: t.End.At}, true
	}
	return Span{From: t.Began, To: t.Ended}, t.Forgets
}

// end ends what goes on.
func (t *Trouble) end(e *Event) {
	if t != nil && t.Ended == Never {
		t.Ended, t.End = e.At, e
	}
}

// Process is the life of a client process.
type Process struct {
	Who    string
	Skew   time.Duration
	Keep   time.Duration
	Began  time.Duration
	Ended  time.Duration // it exited or was killed; Never
	Killed bool
}

// Write is a write of a holder.
type Write struct {
	Event
	Stale bool // a write with a larger token came before: what looks at tokens refuses this one
}

// Span is a stretch of time.
type Span struct{ From, To time.Duration }

// Overlap returns how much of s is within other.
func (s Span) Overlap(other Span) time.Duration {
	return max(0, min(s.To, other.To)-max(s.From, other.From))
}

// Meets reports whether s and other have a moment in common, ends included.
func (s Span) Meets(other Span) bool { return s.From <= other.To && s.To >= other.From }

// View sorts the history.
func (h *History) View() (*View, error) {
	s := sorter{
		View:   &View{Run: h.Run, Over: Never, holds: map[number]*Hold{}, processes: map[string]*Process{}},
		calls:  map[number]*Call{},
		faults: map[int]*Trouble{},
		stops:  map[string]*Trouble{},
		tokens: map[string]int64{},
	}
	for i := range h.Events {
		if err := s.add(&h.Events[i]); err != nil {
			return nil, fmt.Errorf("event %d, %s of %s at %v: %w", i+1, h.Events[i].What, h.Events[i].Who, h.Events[i].At, err)
		}
	}
	return s.View, nil
}

// sorter is a view in the making.
type sorter struct {
	*View
	calls  map[number]*Call
	faults map[int]*Trouble
	stops  map[string]*Trouble // the last of each process
	tokens map[string]int64    // by key, the largest of the writes so far
}

func (s *sorter) add(e *Event) error {
	s.End = e.At
	switch e.What {
	case Called:
		c := &Call{Event: *e, Returned: Never, Stands: Never}
		if e.Hold == 0 && len(e.Names) == 0 && e.Do != CloseClient {
			return errors.New("it is a call of nothing")
		}
		if s.calls[number{e.Who, e.Call}] != nil {
			return fmt.Errorf("there is a call %d already", e.Call)
		}
		s.calls[number{e.Who, e.Call}] = c
		s.Calls = append(s.Calls, c)
		return s.asksOf(c)
	case Returned:
		c := s.calls[number{e.Who, e.Call}]
		if c == nil || c.Result != nil {
			return fmt.Errorf("no call %d is under way", e.Call)
		}
		c.Returned, c.Result = e.At, e
	case Queues, Stands:
		c := s.calls[number{e.Who, e.Call}]
		if c == nil {
			return fmt.Errorf("there is no call %d", e.Call)
		}
		switch c.Since = e.Since; {
		case e.What == Stands:
			c.Stands = min(c.Stands, e.At)
		case e.Since == 0:
			c.Stands = Never
		}
		c.Places = append(c.Places, *e)
	case Granted:
		c := s.calls[number{e.Who, e.Call}]
		if c == nil || s.Hold(e.Who, e.Hold) != nil {
			return fmt.Errorf("call %d is not there, or hold %d is already", e.Call, e.Hold)
		}
		hold := &Hold{Event: *e, By: c, Looks: []*Event{e}, Until: e.Until, Downgraded: Never}
		s.holds[number{e.Who, e.Hold}] = hold
		c.Holds = append(c.Holds, hold)
		s.Holds = append(s.Holds, hold)
	case Alive, Lost:
		hold := s.Hold(e.Who, e.Hold)
		if hold == nil {
			return fmt.Errorf("there is no hold %d", e.Hold)
		}
		if e.What == Lost {
			hold.Lost = e
			break
		}
		hold.Looks, hold.Until = append(hold.Looks, e), e.Until
	case Wrote:
		s.Writes = append(s.Writes, Write{*e, e.Token < s.tokens[e.Key()]})
		s.tokens[e.Key()] = max(s.tokens[e.Key()], e.Token)
	case Fault:
		f := &Trouble{Event: *e, Began: e.At, Ended: Never}
		s.faults[e.ID] = f
		s.Faults = append(s.Faults, f)
	case Mended:
		if s.faults[e.ID] == nil {
			return fmt.Errorf("there is no fault %d", e.ID)
		}
		s.faults[e.ID].end(e)
	case Over:
		s.Over = e.At
	case Stopped:
		s.stops[e.Who] = &Trouble{Event: *e, Began: e.At, Ended: Never}
		s.Pauses = append(s.Pauses, s.stops[e.Who])
	case Stall:
		s.Pauses = append(s.Pauses, &Trouble{Event: *e, Began: e.From, Ended: e.At})
	case Continued:
		s.stops[e.Who].end(e)
	case Started:
		p := &Process{Who: e.Who, Skew: e.Skew, Keep: e.Keep, Began: e.At, Ended: Never}
		s.processes[e.Who] = p
		s.Processes = append(s.Processes, p)
	case Killed, Exited:
		s.stops[e.Who].end(e)
		if p := s.Process(e.Who); p != nil {
			p.Ended, p.Killed = e.At, e.What == Killed
		}
	}
	return nil
}

// asksOf notes what a call does to its hold.
func (s *sorter) asksOf(c *Call) error {
	if c.Hold == 0 {
		return nil
	}
	hold := s.Hold(c.Who, c.Hold)
	if hold == nil {
		return fmt.Errorf("there is no hold %d", c.Hold)
	}
	switch c.Do {
	case Unlock:
		if hold.Unlock == nil { // a second one has nothing to give back
			hold.Unlock = c
		}
	case Downgrade:
		hold.Downgraded = min(hold.Downgraded, c.At)
	}
	return nil
}
