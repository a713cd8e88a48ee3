package twin

// Outcome is what a master answers.
type Outcome uint8

const (
	Failed  Outcome = iota // the key is no lock
	Refused                // no
	Done                   // yes
)

// Renewed is what became of a hold that was to be renewed. The values are those of renew.lua, but
// for NotLock.
type Renewed int8

const (
	NotLock  Renewed = -2 // the key is no lock
	Foreign  Renewed = -1 // another owner has it
	Absent   Renewed = 0  // nobody has it
	Extended Renewed = 1
	Healed   Renewed = 2 // nobody had it: set again
)

// Reply is the answer to a command, and what its script published.
type Reply struct {
	Outcome Outcome
	Renewed Renewed // Renew

	Holder Owner // who has the lock: of what was refused, and Inspect
	Left   int64 // how long still, in ms, or Never
	Count  int32 // hold count: Inspect
	Token  int64 // fencing counter: an acquire that is done, Raise, Inspect
	Rank   int   // how many stand before the owner in the queue: Acquire, where refused

	HandOffs [MaxQueue]HandOff // of which somebody has heard, in their order; the rest is zero
	Wanted   Owner             // whose client was told that somebody else wants the lock that it keeps; 0: nobody's
	Told     bool              // Redisson's clients have heard that the lock is free
}

// handOff notes one if somebody hears of it.
func (r *Reply) handOff(hears Hears, to HandOff) {
	if !hears(to.Owner) {
		return
	}
	i := 0
	for r.HandOffs[i].Owner != 0 {
		i++
	}
	r.HandOffs[i] = to
}

// HandOff is the message to a waiter that the lock is his: that round of his asks is answered, with
// that fencing token. With round and token 0 the lock is not his, and he is to look again when
// Redisson's turn is over.
type HandOff struct {
	Owner Owner
	Mode  Mode
	Round uint32
	Token int64
}

// Hears says who gets what is published at this moment: whether the client of an owner has
// subscribed to its channel at this master, and whether any of the clients of [Redisson] has to
// theirs.
type Hears func(Owner) bool

// refused is the answer of a lock that somebody else has.
func refused(holder Owner, left int64) Reply {
	return Reply{Outcome: Refused, Holder: holder, Left: left}
}
