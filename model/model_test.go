package main

import (
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestModel searches the cases, and prints the table with -v. One case:
//
//	go run ./model -run '^pass/valid from the receipt' -trace
func TestModel(t *testing.T) {
	var table strings.Builder
	cases := choose(allCases(), regexp.MustCompile(wanted), false)
	if len(cases) == 0 {
		t.Fatal("no case was chosen")
	}
	if !report(&table, cases, runtime.GOMAXPROCS(0), false, wanted == "") {
		t.Errorf("\n%s", &table)
	} else {
		t.Logf("\n%s", &table)
	}
}

// TestEachRuleIsBroken: there is a case for each rule that breaks it and nothing else.
func TestEachRuleIsBroken(t *testing.T) {
	var broken []string
	for _, c := range allCases() {
		if !c.nightly {
			name, _, _ := strings.Cut(c.broken, " ")
			broken = append(broken, name)
		}
	}
	for _, rules := range []reflect.Type{reflect.TypeFor[LockRules](), reflect.TypeFor[TokenRules]()} {
		for field := range rules.Fields() {
			if name := field.Name; !slices.Contains(broken, name) {
				t.Errorf("no case breaks %s.%s alone", rules.Name(), name)
			}
		}
	}
}

// TestNames: a case is known by its family and name.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range allCases() {
		name := string(c.family) + "/" + c.name
		if seen[name] {
			t.Errorf("two cases are called %q", name)
		}
		seen[name] = true
	}
}

// TestComplaint: a table that can not fail proves nothing.
func TestComplaint(t *testing.T) {
	holds := [actions]int{actHold: 1}
	for name, test := range map[string]struct {
		shows string
		found found
		want  string
	}{
		"as it must be":       {twoHolders, found{wrong: twoHolders, done: true}, ""},
		"safe":                {safe, found{done: true, fired: holds}, ""},
		"a mutant that lives": {twoHolders, found{done: true, fired: holds}, `shows no violation, want "two holders"`},
		"another violation":   {twoHolders, found{wrong: holdCameBack, done: true}, `shows "a hold that had ended came back", want "two holders"`},
		"not safe":            {safe, found{wrong: twoHolders, done: true}, `shows "two holders", want no violation`},
		"not finished":        {safe, found{states: 7, fired: holds}, "did not finish within 7 states"},
		"safe for no reason":  {safe, found{done: true}, "nobody ever holds the lock"},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdict{testCase: testCase{shows: test.shows}, found: test.found}
			if got := v.complaint(); got != test.want {
				t.Errorf("complaint() = %q, want %q", got, test.want)
			}
		})
	}
}

// TestDead: an action that never happens is named.
func TestDead(t *testing.T) {
	var all verdict
	for a := range all.fired {
		all.fired[a] = 1
	}
	var verdicts []verdict
	for _, f := range []family{exclusion, heal, handOff, tokens} {
		v := all
		v.family = f
		verdicts = append(verdicts, v)
	}
	if got := dead(verdicts); len(got) > 0 {
		t.Errorf("dead() = %q, want none", got)
	}
	verdicts[1].fired[actHeal] = 0
	if got, want := dead(verdicts), []string{`heal: "m carries out the renewal of A: SETS IT AGAIN"`}; !slices.Equal(got, want) {
		t.Errorf("dead() = %q, want %q", got, want)
	}
}

// TestLimit: a search that is too large says so.
func TestLimit(t *testing.T) {
	if f := search(newLock(lockProtocol(), three()), 100); f.done || f.wrong != safe {
		t.Errorf("search with 100 states = %t, %q, want it not done", f.done, f.wrong)
	}
}

// TestPack: a state survives its key, and has the same under other names.
func TestPack(t *testing.T) {
	l := newLock(lockProtocol(), three().size(3, 3).pass(2).heal().restart(everything))
	s := l.first()
	s.owners[0] = lockOwner{phase: holding, asked: 3, until: 2, round: 1, renewed: 1}
	s.owners[1] = lockOwner{phase: asking, asked: 1}
	s.masters[0] = lockMaster{age: 1, left: 2, diskLeft: 3}
	s.seats[0][0] = lockSeat{has: 1, confirmed: 1}
	s.seats[1][0] = lockSeat{diskHas: 1}
	s.seats[1][2] = lockSeat{vote: 2}
	s.masters[2].left = 1

	k := l.pack(&s)
	again := l.unpack(k)
	if got := l.pack(&again); got != k {
		t.Errorf("pack(unpack(%x)) = %x", k, got)
	}

	renamed := s
	renamed.owners[0], renamed.owners[2] = s.owners[2], s.owners[0]
	renamed.seats[0], renamed.seats[2] = s.seats[2], s.seats[0]
	renamed.masters[0], renamed.masters[1] = s.masters[1], s.masters[0]
	for i := range renamed.seats {
		x := &renamed.seats[i]
		x[0], x[1] = x[1], x[0]
	}
	if got := l.pack(&renamed); got != k {
		t.Errorf("pack of the same state with other names = %x, want %x", got, k)
	}

	other := s
	other.seats[1][2].vote = 1
	if got := l.pack(&other); got == k {
		t.Errorf("pack of another state = %x, want another key", got)
	}
}

// TestTrace: the shortest way to two holders is told from its first step to its last.
func TestTrace(t *testing.T) {
	rules := lockProtocol()
	rules.Quorum = false
	f := search(newLock(rules, three()), limit)
	if f.wrong != twoHolders || len(f.trace) != 6 {
		t.Fatalf("search = %q in %d steps, want %q in 6", f.wrong, len(f.trace), twoHolders)
	}
	if last := f.trace[5]; !strings.Contains(last, "A HOLDS for") || !strings.Contains(last, "B HOLDS for") {
		t.Errorf("the trace ends with %q, want two that hold", last)
	}
}
