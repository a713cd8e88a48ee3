package script

import (
	"strconv"
	"strings"
)

// Values that scripts and Go share. In a script, the name in capitals stands for the value.
const (
	// TokenRange is how many fencing tokens the owner of a client that keeps locks gets: its counter has the last.
	TokenRange = 1000

	// MaxToken is the largest fencing token. Lua, as other languages, keeps numbers beyond it only roughly: two
	// holds would have the same. A counter that is larger is an error of its master, which overwrites it.
	MaxToken = 1<<53 - 2

	// keepMark follows the client's uuid in an owner whose client may keep the lock when it is done.
	keepMark = ":k"
	uuidSize = 36

	// longestOwner is how many bytes an owner may have: our largest number has 20 digits, and so has Redisson's smallest with
	// its sign.
	longestOwner = uuidSize + len(":r18446744073709551615")

	// maxTold is how many of the readers of a lock, and of those who wait for it, a look tells.
	maxTold = 32

	turnLasts = 20 // ms in which Redisson's clients come first

	maxUses     = 64       // ways to use a master that it keeps
	longestUses = 64 << 10 // bytes of what it keeps of them
	longestUse  = 2 * RecordLife
)

// constants are the names in scripts, none a part of another, each with what stands for it there.
var constants = func() []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		"TOKEN_RANGE", number(TokenRange),
		"FENCE_END", number(MaxToken + 1),
		"KEEP_MARK", "'" + keepMark + "'",
		"MARK_FIRST", number(uuidSize + 1),
		"MARK_LAST", number(uuidSize + int64(len(keepMark))),
		"UUID_SIZE", number(uuidSize),
		"OWNER_SIZE", number(int64(longestOwner)),
		"MAX_TOLD", number(maxTold),
		"TURN_LASTS", number(turnLasts),
		"MAX_USES", number(maxUses),
		"USES_BYTES", number(longestUses),
		"USE_LIFE", number(longestUse.Milliseconds()),
	}
}()

var withConstants = strings.NewReplacer(constants...)
