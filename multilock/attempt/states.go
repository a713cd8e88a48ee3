package attempt

// State is where an [Attempt] stands.
type State uint8

const (
	// Idle: nobody has been asked.
	Idle State = iota
	// Asking: the first round is under way, and may still win.
	Asking
	// Waiting: a round was lost, or a release entered it. It stands in the queue of the masters that it reached.
	Waiting
	// Minority: it has votes, too few of them, which it gives back at GiveBackAt.
	Minority
	// Paused: several owners split the votes of a lock that is free, or another client may only keep it. The
	// votes that it had are given back; it asks again at AskAt.
	Paused
	// Settling: a majority of the votes is valid, and the masters agree on the fencing token.
	Settling
	// Held: its entries have the lock, until Until.
	Held
	// Kept: the last entry gave the lock back, and the client keeps it for the next, until GiveBackAt.
	Kept
	// Ended: Why says why. Nothing is left at the masters but what is being released.
	Ended

	states
)

func (s State) String() string {
	return [states]string{"idle", "asking", "waiting", "minority", "paused", "settling", "held", "kept", "ended"}[s]
}

// Arrow is a transition that an [Attempt] may make, and what for.
type Arrow struct {
	From, To State
	Why      string
}

// Arrows are all of them. A step that leaves the state as it is needs no arrow.
var Arrows = []Arrow{
	{Idle, Asking, "start"},
	{Idle, Waiting, "start, entered by a release"},
	{Idle, Ended, "given up"},

	{Asking, Waiting, "round lost"},
	{Asking, Minority, "some votes, or a hand-off"},
	{Asking, Paused, "votes split, or the lock may only be kept (TryLock)"},
	{Asking, Settling, "majority"},
	{Asking, Held, "majority, one token"},
	{Asking, Ended, "refused (TryLock), hopeless, or given up"},

	{Waiting, Minority, "some votes, or a hand-off"},
	{Waiting, Settling, "majority"},
	{Waiting, Held, "majority, one token"},
	{Waiting, Ended, "given up, or hopeless"},

	{Minority, Waiting, "backed off, or asked again"},
	{Minority, Settling, "majority"},
	{Minority, Held, "majority, one token"},
	{Minority, Ended, "given up, or hopeless"},

	{Paused, Asking, "pause over"},
	{Paused, Ended, "given up"},

	{Settling, Held, "token agreed"},
	{Settling, Waiting, "no token or too late, so backed off"},
	{Settling, Ended, "no token or too late (TryLock), or given up"},

	{Held, Kept, "given back, and kept"},
	{Held, Ended, "given back, lost, or validity over"},

	{Kept, Held, "taken over"},
	{Kept, Ended, "wanted by others, kept for long enough, or lost"},
}

// Why is why an attempt has ended.
type Why uint8

const (
	// NotEnded: it goes on.
	NotEnded Why = iota
	// Released: the lock was given back.
	Released
	// Expired: the validity of the hold is over.
	Expired
	// Lost: so few masters have the hold that somebody else may have the lock.
	Lost
	// GivenUp: the caller gave up before it had the lock.
	GivenUp
	// Refused: too few masters granted the lock in the one round that was wanted.
	Refused
	// Hopeless: so many masters report what does not pass by itself that no majority is left.
	Hopeless
	// Late: a majority granted the lock, and the lease was used up by then.
	Late
	// NoToken: too few masters agreed on a fencing token.
	NoToken

	whys
)

func (w Why) String() string {
	return [whys]string{
		"not ended", "released", "expired", "lost", "given up", "refused", "hopeless", "late", "no token",
	}[w]
}
