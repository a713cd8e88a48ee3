package script

import (
	"regexp"
	"strconv"
	"strings"
)

// The name of a lock is its key, as in Redisson. What belongs to a lock carries the name in
// braces. A name that has braces itself is left as it is, with a colon appended: the keys of
// "{a}" must not be those of "a". Redisson's channel is the same for both.
const (
	fencePrefix   = "redlock_fence:"
	queuePrefix   = "redlock_wait:"
	turnPrefix    = "redlock_turn:"   // as acquire.lua and handon.lua have it
	forcedPrefix  = "redlock_forced:" // as force.lua has it
	readPrefix    = "redlock_read:"   // as readers.lua has it
	channelPrefix = "redisson_lock__channel:"

	// Of the locks that are the slots of a semaphore. A lock and a semaphore of the same name are two
	// things.
	slotPrefix = "redlock_slot:" // as freed.lua has it
)

// Layout is the version of what clients store at masters and say to each other there: the keys, their values and the
// messages. Clients publish it, and those of different versions take no locks together. So it changes when something that
// older clients read changes its meaning, and not for an addition that they may ignore. docs/design/wire.md has all of it.
const Layout = 1

// prefixes are those of all keys of our own.
var prefixes = [...]string{
	fencePrefix, queuePrefix, turnPrefix, forcedPrefix, readPrefix, slotPrefix, clientPrefix, setsKey,
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

// FreedChannel is where Redisson's clients are told that the lock is free, and, of what [Slots] returns,
// those who wait for another slot. freed.lua has it too.
func FreedChannel(name string) string {
	if semaphore, _ := SlotOf(name); semaphore != "" {
		return channelPrefix + Slots(semaphore)
	}
	if braced(name) {
		return channelPrefix + name
	}
	return channelPrefix + "{" + name + "}"
}

// MaxPermits is how many permits a semaphore may have: a master looks at all of them in one script call.
const MaxPermits = 1000

// Slots is what the names of a semaphore's slots begin with: the number of the slot follows. All keys of
// a semaphore have the same hash tag.
func Slots(semaphore string) string { return belonging(slotPrefix, semaphore) + ":" }

// SlotKey returns the name of a slot of a semaphore.
func SlotKey(semaphore string, slot int) string { return Slots(semaphore) + strconv.Itoa(slot) }

// FreedKey returns which lock a message on the FreedChannel of key is about. If key is what [Slots] returns, that
// is a slot of the semaphore, or key where the message names none.
func FreedKey(key, message string) string {
	if semaphore, slot := SlotOf(key); semaphore != "" && slot < 0 {
		if _, slot = SlotOf(key + message); slot >= 0 {
			return key + message
		}
	}
	return key
}

// SlotOf returns of which semaphore the lock at key is a slot, and which; an empty name and -1 if it is
// none. The slot is -1 of what [Slots] returns.
func SlotOf(key string) (semaphore string, slot int) {
	if !strings.HasPrefix(key, slotPrefix) {
		return "", -1
	}
	end := strings.LastIndexByte(key, ':')
	name, number := key[len(slotPrefix):max(end, len(slotPrefix))], key[end+1:]
	switch {
	case len(name) > 2 && name[0] == '{' && name[len(name)-1] == '}' && !braced(name[1:len(name)-1]):
		name = name[1 : len(name)-1]
	case len(name) > 1 && name[len(name)-1] == ':' && braced(name):
		name = name[:len(name)-1]
	default:
		return "", -1
	}
	if number == "" {
		return name, -1
	}
	slot, err := strconv.Atoi(number)
	if err != nil || slot < 0 || slot >= MaxPermits || strconv.Itoa(slot) != number {
		return "", -1
	}
	return name, slot
}

// ScanSlots is a Scan for the slots that somebody has of semaphores with names that match pattern: of names
// in braces, or of all others. SlotOf reads those that it finds.
func ScanSlots(cursor uint64, pattern string, inBraces bool) *Command {
	if inBraces {
		return Scan(cursor, slotPrefix+pattern+"::*", "hash")
	}
	return Scan(cursor, slotPrefix+"{"+pattern+"}:*", "hash")
}

// belonging returns the key of name with this prefix, as names.lua has it.
func belonging(prefix, name string) string {
	if slot, ok := strings.CutPrefix(name, slotPrefix); ok {
		return prefix + slot
	}
	if braced(name) {
		return prefix + name + ":"
	}
	return prefix + "{" + name + "}"
}

// Traces returns every key that commands of these owners may leave at a master for the lock called name. A probe, which tries
// the commands on a name of its own, deletes them afterwards.
func Traces(name string, owners ...string) []string {
	queue := belonging(queuePrefix, name)
	all := []string{name, belonging(fencePrefix, name), queue, belonging(turnPrefix, name), belonging(readPrefix, name)}
	for _, owner := range owners {
		all = append(all, queue+owner, belonging(forcedPrefix, name)+owner)
	}
	return all
}

// Families returns one key of each kind that the scripts use for a lock called name. Each is found under the pattern by which
// an ACL rule permits such keys of all names that begin with start, as name does. No pattern matches a
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
