package node

// maxSteps bounds the steps that commands which have gathered do in one call of the script, as long
// as no command has more by itself. A master does nothing else meanwhile: this is some 0.1 ms of
// work, and 0.2 ms where others wait for all of the locks. With more steps in a call a step becomes
// hardly cheaper.
const maxSteps = 16

// groupCalls puts neighbours in batch into flights, and returns how many: each is one call of the script,
// with one reply. What runs no script is a flight of its own.
func groupCalls(batch []*call) (flights int) {
	var first *call
	has := 0 // steps so far
	for _, c := range batch {
		n := c.cmd.Steps()
		if has == 0 || n == 0 || has+n > maxSteps || c.alone || first.alone {
			first, has, flights = c, 0, flights+1
			c.flight = 0
		}
		has += n
		first.flight++
		first.withSource = first.withSource || c.withSource
	}
	return flights
}

// send writes batch and flushes it. It ignores errors: redigo closes a connection that it fails
// to write to, which the reader notices.
func (l *link) send(batch []*call) {
	for len(batch) > 0 {
		flight := batch[:batch[0].flight]
		l.sendFlight(flight)
		batch = batch[len(flight):]
	}
	_ = l.conn.Flush()
}

func (l *link) sendFlight(flight []*call) {
	first := flight[0]
	if words := first.cmd.Plain(); words != nil {
		_ = l.conn.Send(words[0].(string), words[1:]...)
		return
	}
	for _, c := range flight {
		l.script.Add(c.cmd, c.guarded)
	}
	name := "EVALSHA"
	if first.withSource {
		name = "EVAL"
	}
	_ = l.conn.Send(name, l.script.Arguments(first.withSource)...)
	l.script.Reset()
}

// steps is how many steps a flight has.
func steps(flight []*call) (n int) {
	for _, c := range flight {
		n += c.cmd.Steps()
	}
	return n
}
