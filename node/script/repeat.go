package script

// Repeat is what is needed to send a release or a Leave again. Whoever sent it was told that it
// was not answered, and has stopped waiting. So a ReleaseTo is sent again without the next owner,
// which registers by itself, or has given up since.
//
// It is smaller than a Command, since there are many: all releases of one lease, while a master is
// away.
type Repeat struct {
	Key, Owner   string
	token, since int64
	yield        bool
	count        int // of a Leave; else 0
}

// Repeat returns what is needed to send c again, which must be a command that Repeats.
func (c *Command) Repeat() Repeat {
	r := Repeat{Key: c.key, Owner: c.owner}
	if c.script == enterScript {
		r.count = c.args[countArg].(int)
		return r
	}
	token, ok := c.args[tokenArg].(int64)
	r.token, r.yield, r.since = token, !ok, c.args[tokenArg+1].(int64)
	return r
}

// Command makes the release, or Leave, again.
func (r Repeat) Command() *Command {
	switch o := NewOwner(r.Key, r.Owner); {
	case r.count > 0:
		return o.Leave(r.count)
	case r.yield:
		return o.Yield(r.since)
	default:
		return o.Release(r.token, r.since)
	}
}
