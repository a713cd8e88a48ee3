package script

import "regexp"

// Traces returns every key that commands of these owners may leave at a master for the lock and the
// semaphore called name. Whoever tries the commands on a name of its own deletes them afterwards.
func Traces(name string, owners ...string) []string {
	k := belongings(name, fencePrefix, queuePrefix)
	slots := slotKeysOf(name)
	rest := belongings(name, turnPrefix, forcedPrefix, readPrefix)
	all := append([]string{name}, k[0], k[1], rest[0], rest[2], slots.slots, slots.queue, slots.fence)
	for _, owner := range owners {
		all = append(all, k[1]+owner, slots.queue+owner, rest[1]+owner)
	}
	return all
}

// Families returns one key for each kind of key that the scripts use for a lock called name, by the pattern
// of all such keys in an ACL rule. That of the lock itself is name.
func Families(name string) map[string]string {
	of := map[string]string{name: name}
	for _, prefix := range prefixes {
		if prefix == clientPrefix || prefix == setsKey {
			continue
		}
		of[prefix+"*"] = belongings(name, prefix)[0]
	}
	return of
}

// RecordFamilies does the same for the keys by which clients know of each other.
func RecordFamilies() map[string]string {
	return map[string]string{clientPrefix + "*": clientKey("doctor"), setsKey: setsKey}
}

// TypeOf returns of which type a key is that begins as one of our own, see [Reserved].
func TypeOf(key string) string {
	switch Reserved(key) {
	case readPrefix:
		return "zset"
	case slotsPrefix, slotFencePrefix, setsKey:
		return "hash"
	case queuePrefix, slotQueuePrefix:
		// The last ask of an owner stands behind the queue's own key.
		if owner.MatchString(key) {
			return "string"
		}
		return "zset"
	}
	return "string"
}

// owner is what an owner ends in.
var owner = regexp.MustCompile(`:r\d+$`)
