package redlock

import "slices"

// line is the queue of one client's callers that wait for one name. Only the first of
// them, the contender, asks the masters.
type line struct {
	turns []*turn
	last  *MajorityError // why the contender's last try failed, nil if it had none
}

// turn is a caller's place in a line.
type turn struct {
	name  string
	owner *owner
	first chan struct{} // closed when it is the contender
	enter chan struct{} // told when its owner got the lock by another call
}

func (t *turn) isFirst() bool {
	select {
	case <-t.first:
		return true
	default:
		return false
	}
}

// join puts a caller at the end of the line for name.
func (c *Client) join(name string, o *owner) *turn {
	t := &turn{name: name, owner: o, first: make(chan struct{}), enter: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[name]
	if l == nil {
		l = new(line)
		c.lines[name] = l
	}
	l.turns = append(l.turns, t)
	if len(l.turns) == 1 {
		close(t.first)
	}
	return t
}

// leave takes a caller out of its line, from wherever it stands.
func (c *Client) leave(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[t.name]
	i := slices.Index(l.turns, t)
	l.turns = slices.Delete(l.turns, i, i+1)
	if len(l.turns) == 0 {
		delete(c.lines, t.name)
	} else if i == 0 {
		close(l.turns[0].first)
	}
}

// tell lets the line for name know why its contender's try failed.
func (c *Client) tell(name string, err *MajorityError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[name].last = err
}

// told returns what the line for name waits for, nil if it is a hold of the client.
func (c *Client) told(name string) *MajorityError {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds[name] != nil {
		return nil
	}
	return c.lines[name].last
}

// wakeOwner wakes those in the line that may now enter the hold of o.
func (l *line) wakeOwner(o *owner) {
	for _, t := range l.turns {
		if t.owner == o {
			select {
			case t.enter <- struct{}{}:
			default:
			}
		}
	}
}
