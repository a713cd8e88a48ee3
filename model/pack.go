package main

import "slices"

// Most masters and owners that a state has room for.
const (
	maxMasters = 5
	maxOwners  = 3
)

// coder writes small numbers into a word, or reads them from it, so that one function
// lists the fields of a struct for both ways.
type coder struct {
	word    uint64
	at      int // bits that are written, or read
	reading bool
}

// field codes v in some bits. A field of no bits is one that a case has no use for.
func (c *coder) field(v *uint8, bits int) {
	if c.reading {
		*v = uint8(c.word >> c.at & (1<<bits - 1))
	} else {
		if *v>>bits != 0 {
			panic("model: a number does not fit into its field")
		}
		c.word |= uint64(*v) << c.at
	}
	c.at += bits
}

// grid is a state as words: one for the whole, one for each owner and each master, and
// one for each owner at each master.
type grid struct {
	whole   uint64
	owners  [maxOwners]uint64
	masters [maxMasters]uint64
	seats   [maxOwners][maxMasters]uint64
}

// shape says how much of a grid is in use, and how many bits its words have.
type shape struct {
	owners, masters                            int
	wholeBits, ownerBits, masterBits, seatBits int
	orders                                     [][]int // of the owners
}

func newShape(owners, masters, wholeBits, ownerBits, masterBits, seatBits int) *shape {
	bits := wholeBits + owners*ownerBits + masters*(masterBits+owners*seatBits)
	if bits > 64*len(key{}) {
		panic("model: a state does not fit into a key")
	}
	return &shape{owners, masters, wholeBits, ownerBits, masterBits, seatBits, orders(owners)}
}

// pack returns the key of g. Masters are all alike, and so are owners: states that differ
// only in their names get the same key, the smallest that any order of the names gives. It
// is enough to sort the masters for each order of the owners, and of those the orders in
// which the owners' own words are sorted.
func (sh *shape) pack(g *grid) key {
	var best key
	first := true
	for _, order := range sh.orders {
		if !g.sorted(order) {
			continue
		}
		if k := sh.packIn(g, order); first || less(&k, &best) {
			best, first = k, false
		}
	}
	return best
}

// sorted reports whether the owners' words are sorted in the given order of them.
func (g *grid) sorted(order []int) bool {
	for at := 1; at < len(order); at++ {
		if g.owners[order[at]] < g.owners[order[at-1]] {
			return false
		}
	}
	return true
}

// packIn packs g with the owners in the given order.
func (sh *shape) packIn(g *grid, order []int) key {
	var columns [maxMasters][1 + maxOwners]uint64
	for m := range sh.masters {
		column := &columns[m]
		column[0] = g.masters[m]
		for to, from := range order {
			column[1+to] = g.seats[from][m]
		}
		for at := m; at > 0 && lower(&columns[at], &columns[at-1]); at-- {
			columns[at], columns[at-1] = columns[at-1], columns[at]
		}
	}
	var t tape
	t.put(g.whole, sh.wholeBits)
	for _, from := range order {
		t.put(g.owners[from], sh.ownerBits)
	}
	for m := range sh.masters {
		t.put(columns[m][0], sh.masterBits)
		for i := range sh.owners {
			t.put(columns[m][1+i], sh.seatBits)
		}
	}
	return t.key
}

// unpack returns a state that has key k.
func (sh *shape) unpack(k key) (g grid) {
	t := tape{key: k}
	g.whole = t.get(sh.wholeBits)
	for i := range sh.owners {
		g.owners[i] = t.get(sh.ownerBits)
	}
	for m := range sh.masters {
		g.masters[m] = t.get(sh.masterBits)
		for i := range sh.owners {
			g.seats[i][m] = t.get(sh.seatBits)
		}
	}
	return g
}

// tape is a key that is written or read from one end to the other.
type tape struct {
	key key
	at  int
}

func (t *tape) put(v uint64, bits int) {
	if bits == 0 {
		return
	}
	word, bit := t.at/64, t.at%64
	t.key[word] |= v << bit
	if bit+bits > 64 {
		t.key[word+1] |= v >> (64 - bit)
	}
	t.at += bits
}

func (t *tape) get(bits int) uint64 {
	if bits == 0 {
		return 0
	}
	word, bit := t.at/64, t.at%64
	v := t.key[word] >> bit
	if bit+bits > 64 {
		v |= t.key[word+1] << (64 - bit)
	}
	t.at += bits
	return v & (1<<bits - 1)
}

func less(a, b *key) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func lower(a, b *[1 + maxOwners]uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// orders returns all orders of n things.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, order := range orders(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(order), at, n-1))
		}
	}
	return all
}
