package main

import (
	"fmt"
	"strings"
)

// action is a kind of step.
type action uint8

// The actions of the lock, and then those that only the token has.
const (
	actTick action = iota
	actEndEarly
	actWrite
	actStartEmpty
	actStartSame
	actStartOlder
	actPromote
	actBegin
	actAskAgain
	actAgain
	actGrant
	actWait
	actPass
	actReadGrant
	actReadWaits
	actReadPass
	actHold
	actGiveUp
	actUnlock
	actFree
	actRenew
	actConfirm
	actConfirmShort
	actHeal
	actExtend
	actForgotten

	actLapse
	actLapseDisk
	actVoteEnds
	actGuardEnds
	actGrantLost
	actRaiseFirst
	actRaiseAgain
	actRaise
	actRefuse

	actions
)

// told is, for each action, in which families it must happen, by their first letters, and
// how a trace tells of it. A and B are the owners that it concerns, m is the master.
var told = [actions]struct{ in, text string }{
	actTick:         {"ehp", "-- a tick"},
	actEndEarly:     {"ehp", "m ends the lease early: its clock is fast"},
	actWrite:        {"ehpt", "m writes to its disk or replica"},
	actStartEmpty:   {"ehpt", "m RESTARTS EMPTY"},
	actStartSame:    {"ehp", "m RESTARTS with what it had"},
	actStartOlder:   {"ehpt", "m RESTARTS with what its disk has"},
	actPromote:      {"e", "m has its REPLICA take over"},
	actBegin:        {"ehpt", "A asks all masters"},
	actAskAgain:     {"p", "A asks again"},
	actAgain:        {"ep", "A asks all masters, as the same owner"},
	actGrant:        {"ehpt", "m grants to A"},
	actWait:         {"p", "m answers A that it waits"},
	actPass:         {"pt", "m passes the lock to B, in a script of A"},
	actReadGrant:    {"e", "A reads the grant of m"},
	actReadWaits:    {"p", "A reads of m that it waits"},
	actReadPass:     {"pt", "A reads the pass of m"},
	actHold:         {"ehpt", "A HOLDS"},
	actGiveUp:       {"ehpt", "A gives up, sends releases"},
	actUnlock:       {"ehpt", "A unlocks, sends releases"},
	actFree:         {"ehp", "m carries out the release of A"},
	actRenew:        {"ehp", "A sends renewals"},
	actConfirm:      {"ehpt", "m carries out the renewal of A"},
	actConfirmShort: {"ehp", "m carries out an old, shorter renewal of A"},
	actHeal:         {"hpt", "m carries out the renewal of A: SETS IT AGAIN"},
	actExtend:       {"ehp", "A is extended"},
	actForgotten:    {"ehp", "A is forgotten everywhere"},

	actLapse:      {"t", "m frees the lock: released, or lease over"},
	actLapseDisk:  {"t", "m has no lease on its disk any more"},
	actVoteEnds:   {"t", "A has no vote of m any more"},
	actGuardEnds:  {"t", "m is guarded no more"},
	actGrantLost:  {"t", "m grants to A, the answer is lost"},
	actRaiseFirst: {"t", "A sends a round of raising"},
	actRaiseAgain: {"t", "A sends another round of raising"},
	actRaise:      {"t", "m is raised by A"},
	actRefuse:     {"t", "m refuses to be raised by A"},
}

// String tells of a step, with the names of those it concerns.
func (s step) String() string {
	words := strings.Fields(told[s.action].text)
	for i, word := range words {
		bare := strings.TrimRight(word, ",:")
		mark := word[len(bare):]
		switch bare {
		case "A":
			words[i] = name(s.owner) + mark
		case "B":
			words[i] = name(s.other) + mark
		case "m":
			words[i] = fmt.Sprintf("m%d%s", s.master+1, mark)
		}
	}
	return strings.Join(words, " ")
}

// name is how a trace calls owner i.
func name(i int) string { return string(rune('A' + i)) }
