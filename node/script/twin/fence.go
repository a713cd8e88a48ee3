package twin

// maxToken is the largest fencing token, see fence.lua.
const maxToken = 1<<53 - 2

// reach is how many tokens, below its counter, the owner of a client that keeps the lock has as well.
const reach = 999

// beginAnew puts what is proposed in the place of a counter that is no token.
func beginAnew(counter *int64, proposal int64) Reply {
	*counter = proposal
	return Reply{Outcome: Failed}
}

// above returns the larger of a counter and the token of a release, 0 if the next would be no token.
func above(counter, token int64) int64 {
	if last := max(counter, token); last < maxToken {
		return last
	}
	return 0
}
