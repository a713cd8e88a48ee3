package main

import "fmt"

// far are the delays, one way, of masters that are nearer than a round is from the next, as far, and
// further away: with a pause of 6 ticks.
var far = []int{1, 2, 3, 4, 5}

// allCases is the table.
func allCases() []*Case {
	var all []*Case
	add := func(name string, k Case) {
		k.Name = name
		if k.Guard == 0 {
			k.Guard = k.Lease + 1
		}
		if k.Timeout == 0 {
			k.Timeout = 4*k.Delay + 2
		}
		all = append(all, k.ready())
	}
	for _, d := range far {
		near := Case{Masters: 3, Callers: 2, Delay: d, Lease: 24, Pause: 6, Starts: true}
		add(fmt.Sprintf("far/two/%d", d), near)
		k := near
		k.Dead = 1
		add(fmt.Sprintf("far/two, a master is dead/%d", d), k)
		k = near
		k.Callers, k.Starts = 3, false
		add(fmt.Sprintf("far/three/%d", d), k)
		k.Dead = 1
		add(fmt.Sprintf("far/three, a master is dead/%d", d), k)
		k.Dead, k.Near = 0, true
		add(fmt.Sprintf("far/three, each near a master/%d", d), k)
		k = near
		k.Trip = 2 * d
		add(fmt.Sprintf("far/two, distance known/%d", d), k)
		k.Callers, k.Starts = 3, false
		add(fmt.Sprintf("far/three, distance known/%d", d), k)
		k = near
		k.Callers, k.Starts, k.Masters, k.Nightly = 3, false, 4, d > 3
		add(fmt.Sprintf("far/three, four masters/%d", d), k)
		k = near
		k.Tries = 1
		add(fmt.Sprintf("far/one waits, one tries/%d", d), k)
		k = near
		k.Tries, k.Callers, k.Starts = 2, 3, false
		add(fmt.Sprintf("far/one waits, two try/%d", d), k)
		k = near
		k.Unplaced = true
		add(fmt.Sprintf("far/two without a place/%d", d), k)
		k = near
		k.Line, k.Callers = 2, 3
		add(fmt.Sprintf("far/two in line, one beside/%d", d), k)
	}
	for _, f := range faultNames {
		one := Case{Masters: 3, Callers: 2, Delay: 1, Lease: 12, Pause: 6, Starts: true, Faults: 1, Kinds: f.kind, Late: 3}
		add(f.name+"/two", one)
	}
	return all
}

// faultNames are all kinds of faults.
var faultNames = []struct {
	kind fault
	name string
}{
	{freezeLink, "freeze"},
	{loseHandOff, "lose"},
	{breakConn, "break"},
	{doubled, "double"},
	{restart, "restart"},
	{older, "older"},
	{crash, "crash"},
	{giveUp, "give up"},
	{force, "force"},
	{sleep, "sleep"},
	{slow, "slow"},
	{late, "late"},
}
