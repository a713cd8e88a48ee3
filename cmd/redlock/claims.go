package main

import (
	"fmt"
	"io"
	"sync"
)

// claims is the list of what the demo claims to show, with what was measured.
type claims struct {
	list []claim
}

type claim struct {
	text  string
	held  bool
	facts string // what was measured
}

// check adds a claim. facts is a format, and args are its arguments.
func (c *claims) check(held bool, text, facts string, args ...any) {
	c.list = append(c.list, claim{text: text, held: held, facts: fmt.Sprintf(facts, args...)})
}

// allHeld reports whether there are want claims and every one of them held. A story that broke off has
// fewer, and has not shown everything.
func (c *claims) allHeld(want int) bool {
	for _, one := range c.list {
		if !one.held {
			return false
		}
	}
	return len(c.list) == want
}

// print writes each claim on a line, with the facts on the line below.
func (c *claims) print(out io.Writer, ink palette) {
	for _, one := range c.list {
		mark := ink.good("✓")
		if !one.held {
			mark = ink.bad("✗")
		}
		fmt.Fprintf(out, " %s %s\n   %s\n", mark, one.text, ink.faint(one.facts))
	}
}

// room is what the lock guards in the demo. It counts who is inside, and knows nothing about locks.
type room struct {
	mu     sync.Mutex
	inside int
	most   int      // the largest number that were ever inside at once
	guests []string // who came in, in order
}

func (r *room) enter(who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside++
	r.most = max(r.most, r.inside)
	r.guests = append(r.guests, who)
}

func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inside--
}

// log returns who has come in so far, in order, and the largest number that were inside at once.
func (r *room) log() (guests []string, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.guests...), r.most
}
