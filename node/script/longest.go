package script

// Longest is how many bytes the reply to c may have, as it is sent, with 4 more for each element of a list. An
// error is not counted: it may be longer than a reply that is none.
//
// The bounds are ample: a reply that is longer comes from something else than a master.
func (c *Command) Longest() int {
	switch c.verb {
	case plain:
		return Longest(c.args[0].(string))
	case renewing:
		return longestStep * (1 + len(c.holds))
	case inspecting:
		if c.slots > 0 {
			return 128 + 3*32*c.slots // three numbers for each
		}
		return maxTold * longestStep // half for a reader, half for one who waits
	}
	return longestStep
}

// longestStep is more than the reply to a script that takes one step of one owner: who has the lock, and for how
// long. For a hold that is renewed it may be an error.
const longestStep = 512

// Longest is the same of a plain command, by its first word.
func Longest(name string) int {
	switch name {
	case "PING", "TIME", "SET", "DEL", "TYPE", "PTTL":
		return 128
	case "INFO", // Redis 7.0 has 5 kB, and 8 tells the sizes of keys in each database
		"ACL",      // of a user with many rules
		"GETRANGE": // a record
		return 64 << 10
	case "SLOWLOG": // 32 entries of 32 words of 128 bytes
		return 256 << 10
	case "EVAL": // how clients use a master
		return 2 * longestUses
	case "SCAN": // some hundred names of whatever is there
		return 1 << 20
	case "HRANDFIELD": // whatever is there
		return 16 << 10
	}
	return 4 << 10
}
