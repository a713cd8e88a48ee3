package script

import "strings"

// The name of a lock is its key, as in Redisson. What belongs to a lock carries the name in
// braces. A name that has braces itself is left as it is, with a colon appended: the keys of
// "{a}" must not be those of "a". Redisson's channel is the same for both.
const (
	fencePrefix   = "redlock_fence:"
	queuePrefix   = "redlock_wait:"
	turnPrefix    = "redlock_turn:"   // as acquire.lua, share.lua and handon.lua have it
	forcedPrefix  = "redlock_forced:" // as force.lua has it
	readPrefix    = "redlock_read:"   // as readers.lua has it
	channelPrefix = "redisson_lock__channel:"

	// Of a semaphore, as permit.lua and slotnames.lua have them. A lock and a semaphore of the same name
	// are two things.
	slotsPrefix     = "redlock_slots:"
	slotFencePrefix = "redlock_slotfence:"
	slotQueuePrefix = "redlock_slotwait:"
	slotEnds        = "ends" // what the key of the slots has behind it where their ends are
)

// prefixes are those of all keys of our own.
var prefixes = [...]string{
	fencePrefix, queuePrefix, turnPrefix, forcedPrefix, readPrefix, slotsPrefix, slotFencePrefix, slotQueuePrefix,
	clientPrefix, setsKey,
}

// Reserved returns the prefix of our own keys that name begins with, empty if there is none. Such a
// name could be a key that belongs to another lock.
func Reserved(name string) (prefix string) {
	for _, prefix := range prefixes {
		if strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}

func braced(name string) bool { return strings.Contains(name, "{") }

// FreedChannel is where Redisson's clients are told that the lock is free. freed.lua has it too.
func FreedChannel(name string) string {
	if braced(name) {
		return channelPrefix + name
	}
	return channelPrefix + "{" + name + "}"
}

// slotsOf is the key that has the slots of a semaphore.
func slotsOf(name string) string { return belonging(slotsPrefix, name) }

// ScanSemaphores is a Scan for the keys that have the slots of semaphores with names that match pattern:
// of names in braces, or of all others. SemaphoreOf reads those that it finds.
func ScanSemaphores(cursor uint64, pattern string, inBraces bool) *Command {
	if inBraces {
		return Scan(cursor, slotsPrefix+pattern+":", "zset")
	}
	return Scan(cursor, slotsPrefix+"{"+pattern+"}", "zset")
}

// SemaphoreOf returns the name of the semaphore whose slots are at key, empty if that is no such key.
func SemaphoreOf(key string) string {
	name, ok := strings.CutPrefix(key, slotsPrefix)
	switch {
	case !ok:
	case len(name) > 2 && name[0] == '{' && name[len(name)-1] == '}' && !braced(name[1:len(name)-1]):
		return name[1 : len(name)-1]
	case len(name) > 1 && name[len(name)-1] == ':' && braced(name):
		return name[:len(name)-1]
	}
	return ""
}

// belonging returns the key of name with this prefix, as names.lua has it.
func belonging(prefix, name string) string {
	if braced(name) {
		return prefix + name + ":"
	}
	return prefix + "{" + name + "}"
}
