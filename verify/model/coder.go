package main

import (
	"bytes"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// coder turns states into keys and back. One function for each part of a state does both: the methods that are named
// for a kind of number write what they are given and return it, or return what they read.
//
// A key has only what is left until an instant, and 0 for one that has passed. All that a master and its links have is
// one column, and the columns of masters that are alike are sorted. So states that differ in time, in names or in the
// order of such masters have the same key.
type coder struct {
	k       *Case
	w       *World
	reading bool
	fixed   bool // callers keep their places
	buf     []byte
	names   names
	blanks  []blank
	clock   clock.Instant // of the caller whose part it is
	columns [maxMasters]column
	order   [maxMasters]int // of the masters, as their columns are sorted
	callers [maxCallers]int // in their order
	places  [maxCallers]int // of callers in that
	key     []byte
}

// column says where in buf the parts of a master's column are, in their order.
type column [3]part

type part struct{ from, to int }

// blank is a place in buf for the rank of a number, which is known only when all numbers are.
type blank struct {
	at    int
	among *ranks
	v     int64
}

func newCoder(k *Case) *coder { return &coder{k: k} }

// write returns the key of a state, which is valid until the next call. Messages come first, since they name the rounds
// that callers still remember. Ranks are filled in at the end.
func (c *coder) write(w *World) []byte {
	c.w, c.reading = w, false
	c.queue()
	c.names.forget()
	c.buf, c.blanks = c.buf[:0], c.blanks[:0]
	for m := range c.k.Masters {
		c.columns[m][0] = c.part(c.master, m)
		c.columns[m][2] = c.part(c.links, m)
	}
	from := len(c.buf)
	c.head()
	head := part{from, len(c.buf)}
	for m := range c.k.Masters {
		c.columns[m][1] = c.part(c.known, m)
	}
	for _, b := range c.blanks {
		if b.among == &c.names.tokens {
			c.buf[b.at] = b.among.token(b.v)
		} else {
			c.buf[b.at] |= b.among.of(b.v)
		}
	}
	for m := range c.k.Masters {
		at := m
		for ; at > 0 && c.k.alike(m, at-1) && c.less(m, c.order[at-1]); at-- {
			c.order[at] = c.order[at-1]
		}
		c.order[at] = m
	}
	c.key = append(c.key[:0], c.at(head)...)
	for _, m := range c.order[:c.k.Masters] {
		for _, p := range c.columns[m] {
			c.key = append(c.key, c.at(p)...)
		}
	}
	return c.key
}

// queue puts callers that can change places in the order in which they began to wait, followed by those that have gone, in
// the order in which they went: which caller it was does not matter. In a tick, callers have their turns in that order,
// and those that have gone have none.
func (c *coder) queue() {
	for i := range c.k.Callers {
		at := i
		for ; at > 0 && !c.fixed && c.k.peers[at] && c.w.before(c.k, i, c.callers[at-1]); at-- {
			c.callers[at] = c.callers[at-1]
		}
		c.callers[at] = i
	}
	for at, i := range c.callers[:c.k.Callers] {
		c.places[i] = at
	}
}

// before reports whether caller i comes before caller j where they can change places.
func (w *World) before(k *Case, i, j int) bool {
	p, q := &w.Callers[i], &w.Callers[j]
	if p.Gone+q.Gone == 0 || k.returns(i) {
		return p.Since < q.Since
	}
	return q.Gone > 0 && p.Gone < q.Gone
}

// part codes a part of a master's column.
func (c *coder) part(code func(m int), m int) part {
	from := len(c.buf)
	code(m)
	return part{from, len(c.buf)}
}

func (c *coder) at(p part) []byte { return c.buf[p.from:p.to] }

// less reports whether the column of master m comes before that of master n. No part is the beginning of another.
func (c *coder) less(m, n int) bool {
	for i, p := range c.columns[m] {
		if way := bytes.Compare(c.at(p), c.at(c.columns[n][i])); way != 0 {
			return way < 0
		}
	}
	return false
}

// read makes the state from its key.
func (c *coder) read(key []byte, w *World) {
	*w = World{Now: begin}
	c.w, c.reading, c.buf = w, true, key
	for i := range c.callers {
		c.callers[i] = i
	}
	c.names.forget()
	c.head()
	for m := range c.k.Masters {
		c.master(m)
		c.known(m)
		c.links(m)
	}
	if len(c.buf) > 0 {
		panic("model: a key is too long")
	}
	c.buf = nil
}

func (c *coder) u8(v uint8) uint8 {
	if c.reading {
		v = c.buf[0]
		c.buf = c.buf[1:]
		return v
	}
	c.buf = append(c.buf, v)
	return v
}

// flags codes up to eight of them in a byte.
func (c *coder) flags(flags ...*bool) {
	var v uint8
	for i, f := range flags {
		v |= b2(*f) << i
	}
	if v = c.u8(v); !c.reading {
		return
	}
	for i, f := range flags {
		*f = v>>i&1 == 1
	}
}

// two codes two numbers below 16 in a byte.
func two[A, B ~int | ~int32 | ~uint8](c *coder, a *A, b *B) {
	v := c.u8(uint8(*a) | uint8(*b)<<4)
	*a, *b = A(v&15), B(v>>4)
}

func b2(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// small codes a number that fits into a byte.
func (c *coder) small(v int) int {
	if v < 0 || v > 255 {
		panic("model: a number does not fit into a byte")
	}
	return int(c.u8(uint8(v)))
}

// tick codes a moment in ticks that is to come.
func (c *coder) tick(at int64) int64 {
	left := c.small(int(max(0, at-c.w.Now)))
	if c.reading {
		at = c.w.Now + int64(left)
	}
	return at
}

// millis codes a moment in ms by a master's clock that is to come.
func (c *coder) millis(at int64) int64 {
	left := c.small(int(max(0, at-millis(c.w.Now)+millis(1)-1) / millis(1)))
	if c.reading {
		at = millis(c.w.Now + int64(left))
	}
	return at
}

// instant codes a moment that is to come. Whatever waits for it looks at ticks only.
func (c *coder) instant(at clock.Instant) clock.Instant {
	left := c.small(int((max(0, c.clock.Left(at)) + tick - 1) / tick))
	if c.reading {
		at = c.clock.Add(ticks(left))
	}
	return at
}

// grain is the unit of the end of a vote, which is a lease of whole ms less a hundredth of it.
const grain = 10 * time.Microsecond

// exact codes a moment that is to come, to the grain.
func (c *coder) exact(at clock.Instant) clock.Instant {
	left := max(0, c.clock.Left(at)) / grain
	if left >= 1<<16 {
		panic("model: a vote is too long")
	}
	left = time.Duration(c.u8(uint8(left>>8)))<<8 | time.Duration(c.u8(uint8(left)))
	if c.reading {
		at = c.clock.Add(left * grain)
	}
	return at
}

// ago codes a moment that has passed, up to most ticks ago.
func (c *coder) ago(at clock.Instant, most int) clock.Instant {
	ago := c.small(int(min(time.Duration(most), c.clock.Sub(at)/tick)))
	if c.reading {
		at = c.clock.Add(-ticks(ago))
	}
	return at
}

// together stands for all readers.
const together = 255

// owner codes an owner by its rank among those of its caller.
func (c *coder) owner(o twin.Owner) twin.Owner {
	if c.reading {
		switch v := c.u8(0); v {
		case 0:
			return 0
		case together:
			return twin.Readers
		default:
			return owner(int(v>>5), uint32(v&31))
		}
	}
	switch o {
	case 0:
		c.u8(0)
		return 0
	case twin.Readers:
		c.u8(together)
		return o
	}
	caller := callerOf(o)
	c.rank(uint8(c.places[caller])<<5, &c.names.owners[caller], int64(numberOf(o)))
	return o
}

// party codes the holder that a client was told of.
func (c *coder) party(h attempt.Holder) attempt.Holder {
	return c.k.holder(c.owner(twin.Owner(h)))
}

func (c *coder) since(v int64) int64 {
	if c.reading {
		return int64(c.u8(0))
	}
	c.rank(0, &c.names.since, v)
	return v
}

// rank codes a number by its rank among others, beside some bits; 0 has none.
func (c *coder) rank(bits uint8, among *ranks, v int64) {
	if v != 0 {
		among.add(v)
		c.blanks = append(c.blanks, blank{len(c.buf), among, v})
	}
	c.u8(bits)
}

// token codes a fencing token. Where tokens do not matter, all are 1.
func (c *coder) token(v int64) int64 {
	switch {
	case !c.k.Tokens:
		return 1
	case c.reading:
		return int64(c.u8(0))
	}
	c.rank(0, &c.names.tokens, v)
	return v
}

// Codes of rounds. A round of the current owner is coded by how many rounds ago it was.
const (
	forgotten = 9 + iota
	another   // of an owner that has gone, or one that has no say
)

// round codes the number of a round of owner o. A hand-off that names it has no effect if the owner has the lock.
func (c *coder) round(o twin.Owner, number uint32, handOff bool) uint32 {
	caller := callerOf(o)
	p := &c.w.Callers[caller]
	if !c.reading {
		ago := p.Round - number
		current := numberOf(o) == p.Last && (counts(&p.Attempt) || !handOff && (p.State == attempt.Settling || has(&p.Attempt)))
		switch {
		case !current:
			c.u8(another)
		case ago < maxRounds:
			c.names.rounds[caller] |= 1 << ago
			c.u8(uint8(ago) + 1)
		default:
			c.u8(forgotten)
		}
		return number
	}
	if v := c.u8(0); v != another {
		return p.Round + 1 - uint32(v)
	}
	return 2
}

// Numbers that only tell things apart become ranks in a key: owners for each caller, places in the queue, and fencing
// tokens. Rounds that nothing names any more are left out.

// ranks are numbers in their order. Their ranks begin with 1.
type ranks []int64

func (r *ranks) add(v int64) {
	i := len(*r)
	for ; i > 0 && (*r)[i-1] >= v; i-- {
		if (*r)[i-1] == v {
			return
		}
	}
	*r = slices.Insert(*r, i, v)
	if len(*r) >= 1<<5 {
		panic("model: too many names")
	}
}

// of returns the rank of a number.
func (r ranks) of(v int64) uint8 { return uint8(slices.Index(r, v) + 1) }

// spread is the largest difference that a key has between one token and the next. If a counter is further ahead of
// another, a few grants do not let that one overtake it, so a larger difference changes nothing.
const spread = 4

// token returns the number that stands for a token. The order of tokens stays, and so do small differences.
func (r ranks) token(v int64) uint8 {
	last, to := int64(0), int64(0)
	for _, x := range r {
		to += min(x-last, spread)
		last = x
		if x == v {
			return uint8(to)
		}
	}
	return 0
}

// names are those of a state.
type names struct {
	owners [maxCallers]ranks
	since  ranks
	tokens ranks
	rounds [maxCallers]uint8 // rounds of the current owner that are named, by how long ago
}

// forget makes room for the names of another state.
func (t *names) forget() {
	for c := range t.owners {
		t.owners[c], t.rounds[c] = t.owners[c][:0], 0
	}
	t.since, t.tokens = t.since[:0], t.tokens[:0]
}

// counts reports whether answers and hand-offs count for an attempt.
func counts(p *attempt.Attempt) bool {
	switch p.State {
	case attempt.Asking, attempt.Waiting, attempt.Minority:
		return true
	}
	return false
}

// has reports whether the client has the lock.
func has(p *attempt.Attempt) bool { return p.State == attempt.Held || p.State == attempt.Kept }

// maxRounds is how many rounds an attempt remembers.
const maxRounds = uint32(attempt.MaxRounds)

// arrange puts masters that are alike into another order: order has, for each place, the master that goes there.
func (w *World) arrange(k *Case, order []int) {
	from := *w
	w.Messages = messages{}
	for to, m := range order {
		w.Masters[to], w.Links[to] = from.Masters[m], from.Links[m]
		for i := range from.Messages.len() {
			if x := from.Messages.list[i]; int(x.Master) == m {
				x.Master = uint8(to)
				w.Messages.insert(w.Messages.len(), x)
			}
		}
	}
	for c := range k.Callers {
		p, was := &w.Callers[c], &from.Callers[c]
		for to, m := range order {
			if k.has(c, m) {
				p.masters[k.place(c, to)] = was.masters[k.place(c, m)]
				p.Lag.More[k.place(c, to)] = was.Lag.More[k.place(c, m)]
				p.Gained[to], p.Steady[to] = was.Gained[m], was.Steady[m]
			}
		}
		var sets []*attempt.Set
		for i := range p.rounds {
			r := &p.rounds[i]
			sets = append(sets, &r.Yes, &r.No, &r.Silent, &p.Marks[i].Denied)
		}
		for _, s := range sets {
			was := *s
			*s = 0
			for to, m := range order {
				if k.has(c, m) && was.Has(k.place(c, m)) {
					*s |= 1 << k.place(c, to)
				}
			}
		}
	}
}
