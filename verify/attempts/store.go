package main

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// none is no state.
const none = ^uint32(0)

var seed = maphash.MakeSeed()

func hash(key []byte) uint64 { return maphash.Bytes(seed, key) }

// store keeps the states that were found by their keys, in the order in which they were found.
// Whole keys are compared, not hashes: what is safe is safe, and not only very probably. It is a
// table with open addresses over a few large slices: a Go map of the same keys takes twice the
// memory.
type store struct {
	chunks  [][]byte
	places  []uint64 // of each key: chunk, offset, length
	table   []uint32
	parents []uint32
}

const (
	chunkSize  = 16 << 20
	lengthBits = 12
	offsetBits = 24
)

func newStore() *store {
	s := &store{table: make([]uint32, 1<<12)}
	for i := range s.table {
		s.table[i] = none
	}
	return s
}

func (s *store) len() int { return len(s.places) }

// key returns the key of state id. It must not be changed.
func (s *store) key(id uint32) []byte {
	p := s.places[id]
	from := p >> lengthBits & (1<<offsetBits - 1)
	return s.chunks[p>>(lengthBits+offsetBits)][from : from+p&(1<<lengthBits-1)]
}

// put returns the state of that key and hash, and whether it is new: then parent is whence it was
// found.
func (s *store) put(key []byte, hash uint64, parent uint32) (id uint32, fresh bool) {
	at := s.slot(key, hash)
	if s.table[at] != none {
		return s.table[at], false
	}
	if len(key) >= 1<<lengthBits {
		panic("model: a key is too long")
	}
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(key) > chunkSize {
		s.chunks = append(s.chunks, make([]byte, 0, chunkSize))
		last++
	}
	place := uint64(last)<<(lengthBits+offsetBits) | uint64(len(s.chunks[last]))<<lengthBits | uint64(len(key))
	s.chunks[last] = append(s.chunks[last], key...)
	id = uint32(len(s.places))
	s.places = append(s.places, place)
	s.parents = append(s.parents, parent)
	s.table[at] = id
	if len(s.places)*2 > len(s.table) {
		s.grow()
	}
	return id, true
}

// slot returns where key is in the table, or would be.
func (s *store) slot(key []byte, hash uint64) uint64 {
	mask := uint64(len(s.table) - 1)
	at := hash & mask
	for s.table[at] != none && !bytes.Equal(s.key(s.table[at]), key) {
		at = (at + 1) & mask
	}
	return at
}

func (s *store) grow() {
	s.table = make([]uint32, 2*len(s.table))
	for i := range s.table {
		s.table[i] = none
	}
	mask := uint64(len(s.table) - 1)
	for id := range s.places {
		at := hash(s.key(uint32(id))) & mask
		for s.table[at] != none {
			at = (at + 1) & mask
		}
		s.table[at] = uint32(id)
	}
}

// path returns the states on the way from the first to id, both included.
func (s *store) path(id uint32) []uint32 {
	var path []uint32
	for ; id != none; id = s.parents[id] {
		path = append(path, id)
	}
	slices.Reverse(path)
	return path
}
