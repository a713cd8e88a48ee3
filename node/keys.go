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

func queueKey(name string) string { return prefixed(queuePrefix, name) }

func turnKey(name string) string { return prefixed(turnPrefix, name) }

func channel(name string) string { return prefixed(channelPrefix, name) }

func prefixed(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + name
	}
	return prefix + "{" + name + "}"
}

// fenceTTL is how long a fencing counter outlives its last use. Proposals follow the
// wall clock, so a counter only has to bridge the skew between clients; without any
// expiry, names that are used once would pile up for ever.
func fenceTTL(lease time.Duration) time.Duration { return lease + time.Hour }
