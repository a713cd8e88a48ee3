package script

import "regexp"

// Traces returns every key that commands of these owners may leave at a master for the lock called name.
// A caller that tries the commands on a name of its own deletes them afterwards.
func Traces(name string, owners ...string) []string {
	queue := belonging(queuePrefix, name)
	all := []string{name, belonging(fencePrefix, name), queue, belonging(turnPrefix, name), belonging(readPrefix, name)}
	for _, owner := range owners {
		all = append(all, queue+owner, belonging(forcedPrefix, name)+owner)
	}
	return all
}

// Families returns one key for each kind of key that the scripts use for a lock called name, by the pattern
// that an ACL rule has for such keys of all names that begin with start, as name does. No pattern matches a
// key of another name, unless that begins with a brace and start.
func Families(name, start string) map[string]string {
	of := map[string]string{start + "*": name}
	for _, prefix := range prefixes {
		if prefix == clientPrefix || prefix == setsKey {
			continue
		}
		of[prefix+opening(name, start)+"*"] = belonging(prefix, name)
	}
	of[slotPrefix+opening(name, start)+"*"] = Slots(name) + "0"
	return of
}

// FreedChannels does the same for the channels of locks and of semaphores of such names.
func FreedChannels(name, start string) map[string]string {
	of := map[string]string{channelPrefix + opening(name, start) + "*": FreedChannel(name)}
	if start != "" { // else the pattern of locks matches the channels of semaphores
		of[channelPrefix+slotPrefix+opening(name, start)+"*"] = FreedChannel(Slots(name))
	}
	return of
}

// opening is how what belongs to name begins behind its prefix, up to start. With no start it is empty: the
// pattern is to match the keys of all names, whether they have braces or not.
func opening(name, start string) string {
	if start == "" || braced(name) {
		return start
	}
	return "{" + start
}

// RecordFamilies does the same for the keys by which clients know of each other.
func RecordFamilies() map[string]string {
	return map[string]string{clientPrefix + "*": clientKey("doctor"), setsKey + "*": setsKey}
}

// TypeOf returns of which type a key is that begins as one of our own, see [Reserved].
func TypeOf(key string) string {
	switch Reserved(key) {
	case readPrefix:
		return "zset"
	case slotPrefix:
		return "hash"
	case setsKey:
		if key != setsKey {
			return "zset" // the clients that have certain terms
		}
	case queuePrefix:
		// The last ask of an owner stands behind the queue's own key.
		if owner.MatchString(key) {
			return "string"
		}
		return "zset"
	}
	return "string"
}

// owner is what an owner ends in.
var owner = regexp.MustCompile(`:[rk]\d+$`)
