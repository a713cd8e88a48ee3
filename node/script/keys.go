package script

import (
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

// Layout is the number of what clients store at masters and say to each other there: the keys, their values and the
// messages. Clients publish it, and those of two numbers take no locks together, so it changes with the meaning of
// something that older clients read, and not when they may ignore what is new. docs/design/wire.md is the page of it.
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
