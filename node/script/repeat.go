package script

// Repeat is what is needed to send a release or a Leave again. Whoever sent it was told that it
// was not answered, and has stopped waiting. So a release that enters somebody is sent again without the
// next owner, which registers by itself, or has given up since.
//
// It is smaller than a Command, since there are many: all releases of one lease, while a master is
// away.
type Repeat struct {
	Key, Owner    string
	token         int64
	yield, waited bool
	mode          Mode
	count         int // of a Leave; else 0
}

// Repeat returns what is needed to send c again, which must be a command that Repeats.
func (c *Command) Repeat() Repeat {
	r := Repeat{Key: c.key, Owner: c.owner, mode: c.mode, waited: c.waits}
	if c.verb == leaving {
		r.count = c.args[2].(int)
		return r
	}
	token, ok := c.args[1].(int64)
	r.token, r.yield = token, !ok
	return r
}

// Command makes the release, or Leave, again.
func (r Repeat) Command() *Command {
	o := NewOwner(r.Key, r.Owner)
	if r.mode == Shared {
		o = NewReader(r.Key, r.Owner)
	}
	if r.count > 0 {
		return o.Leave(r.count)
	}
	var token any = r.token
	if r.yield {
		token = nothing
	}
	return o.release(token, r.waited)
}
