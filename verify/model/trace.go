package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script/twin"
)

// noteText notes what happens, if a trace is wanted. What else may happen goes on from the same notes.
func (w *World) noteText(format string, args ...any) {
	if w.log != nil {
		w.log = append(slices.Clip(w.log), fmt.Sprintf(format, args...))
	}
}

var kinds = [...]string{"ask", "release", "raise", "renew", "hand-off", "leave", "wanted"}

var commands = [...]string{"once", "or queue", "queue only", "again"}

var outcomes = [...]string{"unsent", "unknown", "error", "no", "yes"}

var founds = [...]string{"nothing", "hold", "absent"}

func (ch channel) String() string {
	return [...]string{"commands", "answers", "hand-offs", "ghosts"}[ch]
}

func name(o twin.Owner) string {
	switch o {
	case 0:
		return "nobody"
	case twin.Readers:
		return "readers"
	}
	return fmt.Sprintf("C%d.%d", callerOf(o), numberOf(o))
}

// holderName names who has a lock.
func holderName(h protocol.Holder) string { return name(whose(h &^ protocol.Keeps)) }

func (x *Message) String() string {
	s := fmt.Sprintf("%s %s", kinds[x.Kind], name(x.Owner))
	switch x.Kind {
	case ask:
		s += fmt.Sprintf(" #%d %s", x.Round, commands[x.Command])
	case release:
		if x.Yield {
			s += " yield"
		}
		if x.Next != 0 {
			s += fmt.Sprintf(" and enter %s #%d", name(x.Next), x.Round)
		}
	case wanted:
		return fmt.Sprintf("%s is wanted", name(x.Owner))
	case handOff:
		s += fmt.Sprintf(" #%d", x.Round)
	case raise, renew:
		s += fmt.Sprintf(" (%d)", x.Round)
	}
	if x.Shared {
		s += " shared"
	}
	if x.Token > 1 {
		s += fmt.Sprintf(" token %d", x.Token)
	}
	if x.Channel == down {
		s += ": "
		if x.Kind == renew {
			s += founds[x.Found]
		} else {
			s += outcomes[x.Outcome]
		}
		if x.Holder != 0 {
			s += fmt.Sprintf(", %s has it for %d", holderName(x.Holder), x.Left/millis(1))
		}
	}
	return s
}

var events = [...]string{
	protocol.Start: "starts", protocol.Enter: "is entered", protocol.Answer: "gets answer", protocol.Entered: "gets entered",
	protocol.HandedOff: "gets hand-off", protocol.Raised: "gets raised", protocol.Hint: "gets hint", protocol.Due: "looks",
	protocol.Doubt: "doubts a vote", protocol.Take: "takes", protocol.GiveUp: "GIVES UP",
}

func (w *World) noteStep(k *Case, c int, ev protocol.Event) {
	if w.log == nil {
		return
	}
	s, master := fmt.Sprintf("C%d %s", c, events[ev.Kind]), w.Masters[k.masters(c)[ev.Master]].Name
	switch ev.Kind {
	case protocol.Answer:
		s += fmt.Sprintf(" of m%d to #%d: %s", master, ev.Round, outcomes[ev.Outcome])
		if ev.Holder != 0 {
			s += fmt.Sprintf(", %s has it for %d", holderName(ev.Holder), ev.Left/tick)
		}
	case protocol.HandedOff:
		s += fmt.Sprintf(" of m%d for #%d", master, ev.Round)
	case protocol.Entered, protocol.Raised:
		s += fmt.Sprintf(" of m%d: %s", master, outcomes[ev.Outcome])
	}
	if ev.Try != w.Callers[c].Contender.Try && ev.Master != 0 {
		s += " (try of before)"
	}
	w.noteText("%s -> %s", s, w.caller(k, c))
}

var holdEvents = [...]string{
	protocol.HoldWon: "won", protocol.HoldWatch: "watch", protocol.HoldEnd: "end", protocol.HoldDowngrade: "DOWNGRADES",
	protocol.HoldRenew: "renews", protocol.HoldSent: "sent renewal", protocol.HoldRenewed: "renewed", protocol.HoldExtended: "extended",
	protocol.HoldFailed: "renewal failed", protocol.HoldDoubt: "may be forgotten", protocol.HoldLost: "found lost", protocol.HoldDue: "validity over",
	protocol.HoldEnter: "enters again", protocol.HoldEntered: "entered", protocol.HoldDenied: "denied", protocol.HoldLeft: "UNLOCKS",
}

func (w *World) noteHold(k *Case, c int, ev protocol.HoldEvent) {
	if w.log != nil {
		w.noteText("C%d hold: %s -> %s", c, holdEvents[ev.Kind], w.caller(k, c))
	}
}

func (w *World) left(at clock.Instant) string {
	return fmt.Sprintf("%.1f", float64(instant(w.Now).Left(at))/float64(tick))
}

// caller tells how a caller stands.
func (w *World) caller(k *Case, c int) string {
	p := &w.Callers[c]
	s := fmt.Sprintf("%s %v", name(w.current(c)), p.Contender.State)
	switch {
	case p.Crashed:
		return s + " crashed"
	case p.Held:
		s += fmt.Sprintf(" HOLD %v until %s token %d", p.Hold.State, w.left(p.Hold.Until), p.Token)
		if p.Hold.Shared {
			s += " shared"
		}
		if p.Hold.Due {
			s += " renew in " + w.left(p.Hold.RenewAt)
		}
	case p.contends():
		s += fmt.Sprintf(" #%d next in %s", p.Contender.Round, w.left(p.Contender.AskAt))
		if p.Contender.State == protocol.Minority {
			s += " back off in " + w.left(p.Contender.BackOffAt)
		}
		for i, m := range k.masters(c) {
			if x := &p.Contender.Masters[i]; x.Voted {
				s += fmt.Sprintf(" m%d:%s", w.Masters[m].Name, w.left(x.Until))
			}
		}
	}
	if p.Asleep {
		s += " asleep"
	}
	if p.Behind != 0 {
		s += fmt.Sprintf(" %d behind", p.Behind)
	}
	return s
}

// master tells what a master has.
func (w *World) master(k *Case, m int) string {
	p := &w.Masters[m]
	var s strings.Builder
	for o, until := range p.leases() {
		fmt.Fprintf(&s, "%s for %d, ", name(o), *until/millis(1)-w.Now)
	}
	if p.Lock.Counter > 1 {
		fmt.Fprintf(&s, "counter %d, ", p.Lock.Counter)
	}
	for _, e := range filled(p.Lock.Queue[:]) {
		fmt.Fprintf(&s, "queue %s #%d (stale in %d), ", name(e.Owner), e.Round, e.Stale/millis(1)-w.Now)
	}
	if p.Guard > w.Now {
		fmt.Fprintf(&s, "guarded for %d, ", p.Guard-w.Now)
	}
	return strings.TrimSuffix(s.String(), ", ")
}

// tell writes a step of a trace.
func (w *World) tell(to io.Writer, k *Case, step int, happened []string) {
	fmt.Fprintf(to, "  %d\n", step)
	for _, line := range happened {
		fmt.Fprintf(to, "      %s\n", line)
	}
	var now []string
	for c := range k.Callers {
		now = append(now, w.caller(k, c))
	}
	for name := range k.Masters {
		for m := range k.Masters {
			if int(w.Masters[m].Name) == name {
				now = append(now, fmt.Sprintf("m%d: %s", name, w.master(k, m)))
			}
		}
	}
	for i := range w.Messages.len() {
		x := &w.Messages.list[i]
		now = append(now, fmt.Sprintf("C%d-m%d %v in %d: %v", x.Client, w.Masters[x.Master].Name, x.Channel, x.Due, x))
	}
	fmt.Fprintf(to, "    %s\n", strings.Join(now, "\n    "))
}
