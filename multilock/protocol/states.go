package protocol

// State is where a [Contender] stands.
type State uint8

const (
	// Idle contenders have asked nobody anything. One that was started with a delay asks at AskAt,
	// unless a release of the same client enters it before.
	Idle State = iota
	// Asking: the first round is under way, and may still win.
	Asking
	// Queued: a release of the same client entered it into the queue of the masters, so that
	// the lock can be handed to it. It has lost no round yet.
	Queued
	// Waiting: a round was lost. It stands in the queue of the masters that it reached.
	Waiting
	// Minority: it has votes, too few of them, which it gives back at BackOffAt.
	Minority
	// Paused: several contenders split the votes of a lock that is free, or another client may only keep
	// it. The votes that it had are given back; it asks again at AskAt.
	Paused
	// Settling: a majority of the votes is valid, and the masters agree on the fencing token.
	Settling
	// Won: the lock is the caller's until Until, if it takes it by then.
	Won
	// Taken: the caller has the lock. The hold goes on from here.
	Taken
	// Failed: Verdict says why. Nothing is left at the masters but what is being released.
	Failed

	states
)

func (s State) String() string {
	return [states]string{
		"idle", "asking", "queued", "waiting", "minority", "paused", "settling", "won", "taken", "failed",
	}[s]
}

// Arrow is a transition that a [Contender] may make, and what for.
type Arrow struct {
	From, To State
	Why      string
}

// Arrows are all of them. A step that leaves the state as it is needs no arrow.
var Arrows = []Arrow{
	{Idle, Asking, "start"},
	{Idle, Queued, "entered by a release"},
	{Idle, Failed, "given up"},

	{Asking, Waiting, "round lost"},
	{Asking, Minority, "some votes, or a hand-off"},
	{Asking, Paused, "votes split, or the lock may only be kept (TryLock)"},
	{Asking, Settling, "majority"},
	{Asking, Won, "majority, one token"},
	{Asking, Failed, "refused (TryLock), in vain, or given up"},

	{Queued, Waiting, "round lost"},
	{Queued, Minority, "some votes, or a hand-off"},
	{Queued, Settling, "majority"},
	{Queued, Won, "majority, one token"},
	{Queued, Failed, "given up, or in vain"},

	{Waiting, Minority, "some votes, or a hand-off"},
	{Waiting, Settling, "majority"},
	{Waiting, Won, "majority, one token"},
	{Waiting, Failed, "given up, or in vain"},

	{Minority, Waiting, "backed off, or asked again"},
	{Minority, Settling, "majority"},
	{Minority, Won, "majority, one token"},
	{Minority, Failed, "given up, or in vain"},

	{Paused, Asking, "pause over"},
	{Paused, Failed, "given up"},

	{Settling, Won, "token agreed"},
	{Settling, Waiting, "no token or too late, so backed off"},
	{Settling, Failed, "no token or too late (TryLock), or given up"},

	{Won, Taken, "taken in time"},
	{Won, Waiting, "taken too late, so backed off"},
	{Won, Failed, "taken too late (TryLock), or given up"},
}

// Verdict is why a contender has failed.
type Verdict uint8

const (
	// NoVerdict: it has not failed.
	NoVerdict Verdict = iota
	// GivenUp: the caller gave up.
	GivenUp
	// Refused: too few masters granted the lock in the one round that was wanted.
	Refused
	// InVain: so many masters report what does not pass by itself that no majority is left.
	InVain
	// Gone: a majority no longer has the hold that was to be entered again.
	Gone
	// Late: a majority granted the lock, and the lease was used up by then.
	Late
	// NoToken: too few masters agreed on a fencing token.
	NoToken
)
