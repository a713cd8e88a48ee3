package main

import (
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// channel is one of the ways between a client and a master. Each keeps the order of its messages.
type channel uint8

const (
	up    channel = iota // commands
	down                 // answers
	post                 // hand-offs
	ghost                // commands of a connection that has broken, or that were doubled

	channels
)

// kind is what a message is about.
type kind uint8

const (
	ask kind = iota
	release
	raise
	renew
	handOff
	count  // set the hold count
	wanted // somebody else wants what an owner has whose client keeps locks
)

// Message is a command, an answer, or a hand-off. An answer still has what the client knows of its command.
type Message struct {
	Master, Client uint8
	Channel        channel
	Due            uint8 // ticks to go

	Kind    kind
	Command attempt.Command // of an ask
	Yield   bool            // of a release: hand the lock off to nobody
	Shared  bool            // for a reader
	Owner   twin.Owner
	Since   int64
	Round   uint32     // of a release: that of Next
	Lease   uint8      // in ticks: of a count, and else that of a hand-off
	Next    twin.Owner // of a release: whom it enters into the queue
	Behind  int64      // place of Next in the queue
	Token   int64
	Count   uint8 // hold count to set

	Outcome attempt.Outcome // of an answer
	Holder  twin.Owner
	Left    int64 // in ms
	Ahead   uint8 // who stand before the owner in the queue
}

// messages are all that are under way, by link and channel, each in order.
type messages struct {
	ends [places]uint8 // of each channel, where its messages end in list
	list [maxMessages]Message
}

// maxQueue is how many messages a channel has room for.
const maxQueue = 15

const places = maxMasters * maxCallers * int(channels)

func (b *messages) len() int { return int(b.ends[places-1]) }

// each returns the messages of a channel, first to last: those from i up to j.
func (b *messages) each(master, client int, ch channel) (i, j int) {
	at := (master*maxCallers+client)*int(channels) + int(ch)
	if at > 0 {
		i = int(b.ends[at-1])
	}
	return i, int(b.ends[at])
}

// remove takes out the i-th message.
func (b *messages) remove(i int) Message {
	x := b.list[i]
	copy(b.list[i:b.len()-1], b.list[i+1:b.len()])
	for at := x.place(); at < places; at++ {
		b.ends[at]--
	}
	return x
}

// insert puts x in front of the i-th message.
func (b *messages) insert(i int, x Message) {
	copy(b.list[i+1:b.len()+1], b.list[i:b.len()])
	b.list[i] = x
	for at := x.place(); at < places; at++ {
		b.ends[at]++
	}
}

func (x *Message) place() int {
	return (int(x.Master)*maxCallers+int(x.Client))*int(channels) + int(x.Channel)
}

// put puts x at the end of its channel: it arrives after delay ticks, and not before those that
// are in front of it.
func (w *World) put(x Message, delay int) {
	b := &w.Messages
	i, j := b.each(int(x.Master), int(x.Client), x.Channel)
	if b.len() == maxMessages || j-i == maxQueue {
		w.cut = true
		return
	}
	x.Due = uint8(delay)
	if j > i {
		x.Due = max(x.Due, b.list[j-1].Due)
	}
	b.insert(j, x)
}

// due reports whether the first message of a channel has arrived, and where it is.
func (w *World) due(m, client int, ch channel) (i int, ok bool) {
	i, j := w.Messages.each(m, client, ch)
	if i == j || w.Messages.list[i].Due > 0 {
		return 0, false
	}
	return i, ch == ghost || !w.Links[m][client].Frozen || ch == down && w.Messages.list[i].silence()
}

// silence reports whether the answer does not come from the master: the client gave up the command by itself.
func (x *Message) silence() bool {
	return x.Outcome == attempt.Unsent || x.Outcome == attempt.Unknown
}

// unheard reports whether nobody waits for the answer.
func (x *Message) unheard() bool { return x.Kind == release && x.Next == 0 }

// about returns the owner that an answer or a message is about: of a release, the one that it enters.
func (x *Message) about() twin.Owner {
	if x.Kind == release {
		return x.Next
	}
	return x.Owner
}

// send sends a command of a client.
func (w *World) send(k *Case, x Message) {
	m, client := int(x.Master), int(x.Client)
	x.Channel = up
	switch {
	case w.Links[m][client].Down:
		w.owe(x)
		w.unanswered(x, attempt.Unsent)
	case w.Masters[m].Dead:
		w.unanswered(x, attempt.Unsent)
	default:
		w.put(x, k.delay(client, m))
	}
}

// owe sends a release again as soon as the link works. The owner that it should have entered asks by itself.
func (w *World) owe(x Message) {
	if x.Kind == release {
		x.Channel, x.Outcome = up, attempt.Unsent
		x.Next, x.Behind, x.Round, x.Lease = 0, 0, 0, 0
		w.put(x, 1)
	}
}

// unanswered tells the client that a command was not answered.
func (w *World) unanswered(x Message, why attempt.Outcome) {
	if x.unheard() {
		return
	}
	x.Channel, x.Outcome, x.Holder, x.Left = down, why, 0, 0
	if x.Kind == ask {
		x.Since, x.Lease = 0, 0 // the client knows
	}
	w.put(x, 0)
}

// breakLink ends the connection of a link. The client does not know what becomes of the commands that were under way: a
// master that goes on may carry them out at any time. Releases are sent again.
func (w *World) breakLink(m, client int, goesOn bool) {
	var lost []Message
	for _, ch := range []channel{down, up} {
		for i, j := w.Messages.each(m, client, ch); i < j; j-- {
			x := w.Messages.remove(i)
			if ch == up && goesOn {
				y := x
				y.Channel = ghost
				w.put(y, 0)
			}
			if ch == up || !x.silence() {
				x.Outcome = attempt.Unknown
			}
			lost = append(lost, x)
		}
	}
	for _, x := range lost {
		if x.Outcome == attempt.Unknown {
			w.owe(x)
		}
		w.unanswered(x, x.Outcome)
	}
}
