package node

import (
	"strings"
	"time"
)

// The name of a lock is its key, as in Redisson. What belongs to a lock carries the
// name in braces, as Redisson writes it, unless the name has braces of its own.
const (
	fencePrefix   = "redlock_fence:"
	queuePrefix   = "redlock_wait:"
	turnPrefix    = "redlock_turn:"
	channelPrefix = "redisson_lock__channel:"
)

func fenceKey(name string) string { return prefixed(fencePrefix, name) }

func channel(name string) string { return prefixed(channelPrefix, name) }

func prefixed(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + name
	}
	return prefix + "{" + name + "}"
}

// keys is what belongs to a lock that acquire.lua and release.lua have to do with.
type keys struct{ fence, queue, turn, channel string }

// keysOf returns the keys of name, cut out of one string.
func keysOf(name string) keys {
	left, right := "{", "}"
	if strings.Contains(name, "{") {
		left, right = "", ""
	}
	var b strings.Builder
	tail := len(left) + len(name) + len(right)
	b.Grow(len(fencePrefix) + len(queuePrefix) + len(turnPrefix) + len(channelPrefix) + 4*tail)
	for _, prefix := range [...]string{fencePrefix, queuePrefix, turnPrefix, channelPrefix} {
		b.WriteString(prefix)
		b.WriteString(left)
		b.WriteString(name)
		b.WriteString(right)
	}
	all := b.String()
	cut := func(prefix string) (key string) {
		key, all = all[:len(prefix)+tail], all[len(prefix)+tail:]
		return key
	}
	return keys{fence: cut(fencePrefix), queue: cut(queuePrefix), turn: cut(turnPrefix), channel: cut(channelPrefix)}
}

// fenceTTL is how long a fencing counter outlives its last use. Proposals follow the
// masters' clocks, so a counter only has to bridge what is wrong with those; without any
// expiry, names that are used once would pile up for ever.
func fenceTTL(lease time.Duration) time.Duration { return lease + time.Hour }
