package main

// key is a state in as few bits as it needs. Whole keys are compared, no hashes: a case
// that is safe is safe, and not only very probably.
type key [4]uint64

// hash spreads a key over the table of a set.
func (k *key) hash() uint64 {
	h := k[0]*0x9E3779B97F4A7C15 ^ (k[1]+0x7F4A7C15)*0xC2B2AE3D27D4EB4F ^
		(k[2]+77)*0x165667B19E3779F9 ^ (k[3]+1234567)*0xD6E8FEB86659FD93
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h ^ h>>29
}

// set holds the states that were found, in the order they were found, which is the order
// of their distance from the first. It is a table with open addresses: a Go map of the
// same keys takes twice the memory and three times as long.
type set struct {
	table   []uint32 // 1 + index into keys, 0 where nothing is
	keys    []key
	parents []uint32 // from which each was found, an index into keys
}

func newSet() *set { return &set{table: make([]uint32, 1<<12)} }

// add adds k, found from parent, and is false if the set has it.
func (s *set) add(k key, parent int) bool {
	at := s.slot(&k)
	if s.table[at] != 0 {
		return false
	}
	s.keys = append(s.keys, k)
	s.parents = append(s.parents, uint32(parent))
	s.table[at] = uint32(len(s.keys))
	if len(s.keys)*3 > len(s.table)*2 {
		s.grow()
	}
	return true
}

// slot returns where k is in the table, or where it would be.
func (s *set) slot(k *key) uint64 {
	mask := uint64(len(s.table) - 1)
	at := k.hash() & mask
	for s.table[at] != 0 && s.keys[s.table[at]-1] != *k {
		at = (at + 1) & mask
	}
	return at
}

func (s *set) grow() {
	s.table = make([]uint32, 2*len(s.table))
	for i := range s.keys {
		s.table[s.slot(&s.keys[i])] = uint32(i + 1)
	}
}

// path returns the states on the way from the first to state i, without the first.
func (s *set) path(i int) []key {
	if i == 0 {
		return nil
	}
	return append(s.path(int(s.parents[i])), s.keys[i])
}
