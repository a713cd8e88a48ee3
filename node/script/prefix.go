package script

import (
	"strings"
)

// Prefix is what all names of a client begin with at its masters, and not in the client: names get it in the
// commands that are sent, and lose it in what masters publish and list. The records of clients have none, since all
// clients read them.
type Prefix string

// Words is [Command.Words], with the prefix in front of each name.
//
// Cost: two allocations for each name, unless the prefix is empty.
func (p Prefix) Words(words []any, c *Command, guarded bool) []any {
	first := len(words)
	words = c.Words(words, guarded)
	switch {
	case p == "" || c.Plain():
	case c.verb == renewing:
		for i, h := range c.holds {
			words[first+5+4*i] = p.Key(h.Key) // behind the lease, and whether it heals
		}
	default:
		words[first+3] = p.Key(c.name.(string))
	}
	return words
}

// Key returns the key of name, which may be that of a slot, or what [Slots] returns.
func (p Prefix) Key(name string) string {
	semaphore, slot := SlotOf(name)
	switch {
	case semaphore == "":
		return string(p) + name
	case slot < 0:
		return Slots(string(p) + semaphore)
	}
	return SlotKey(string(p)+semaphore, slot)
}

// Name returns the name whose key it is; ok is false if the client has no such name.
func (p Prefix) Name(key string) (name string, ok bool) {
	if p == "" {
		return key, true
	}
	if semaphore, slot := SlotOf(key); semaphore != "" {
		if name, ok = strings.CutPrefix(semaphore, string(p)); !ok || slot < 0 {
			return "", false
		}
		return SlotKey(name, slot), true
	}
	name, ok = strings.CutPrefix(key, string(p))
	return name, ok && Reserved(name) == "" // which a client without a prefix may have locked
}

// Reserved returns the prefix of our own keys that p begins with, or that begins with p; empty if there is none.
func (p Prefix) Reserved() string {
	for _, own := range prefixes {
		if p != "" && (strings.HasPrefix(own, string(p)) || strings.HasPrefix(string(p), own)) {
			return own
		}
	}
	return ""
}

// Pattern returns the pattern of the keys of names that match pattern, see [Scan].
func (p Prefix) Pattern(pattern string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(string(p)) + pattern
}
