package main

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// family is a part of the protocol that cases are about.
type family string

// The families, in the order of the table. Their first letters are used in the table of
// actions.
const (
	exclusion family = "exclusion"
	heal      family = "heal"
	handOff   family = "pass"
	tokens    family = "token"
)

// testCase is a protocol, with all its rules or some broken, that is searched within
// bounds, and what that must show.
type testCase struct {
	family  family
	name    string
	shows   string // a violation by its name, or safe
	nightly bool   // takes too long for every run
	broken  string // the rules that are broken
	bounds  string
	search  func() found
}

// safe is what a case shows that violates nothing.
const safe = ""

// limit is how many states a case may have: with more it would not fit into a few GiB.
const limit = 30_000_000

// allCases is the table: each case, what it must show, and how large it is.
func allCases() []testCase {
	var all []testCase
	lock := func(f family, nightly bool, cases []lockCase) {
		for _, c := range cases {
			all = append(all, c.testCase(f, nightly))
		}
	}
	token := func(nightly bool, cases []tokenCase) {
		for _, c := range cases {
			all = append(all, c.testCase(nightly))
		}
	}
	lock(exclusion, false, exclusionCases())
	lock(exclusion, true, longExclusionCases())
	lock(heal, false, healCases())
	lock(heal, true, longHealCases())
	lock(handOff, false, passCases())
	lock(handOff, true, longPassCases())
	token(false, tokenCases())
	token(true, longTokenCases())
	return all
}

// choose returns the cases that are wanted.
func choose(all []testCase, wanted *regexp.Regexp, nightly bool) []testCase {
	var chosen []testCase
	for _, c := range all {
		if (!c.nightly || nightly) && wanted.MatchString(string(c.family)+"/"+c.name) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// testCase makes a line of the table of all cases.
func (c lockCase) testCase(f family, nightly bool) testCase {
	rules := lockProtocol()
	if c.breaks != nil {
		c.breaks(&rules)
	}
	return testCase{
		family: f, name: c.name, shows: c.shows, nightly: nightly,
		broken: differences(lockProtocol(), rules), bounds: c.bounds.String(),
		search: func() found { return search(newLock(rules, c.bounds), limit) },
	}
}

// testCase makes a line of the table of all cases.
func (c tokenCase) testCase(nightly bool) testCase {
	rules := tokenProtocol()
	if c.breaks != nil {
		c.breaks(&rules)
	}
	return testCase{
		family: tokens, name: c.name, shows: c.shows, nightly: nightly,
		broken: differences(tokenProtocol(), rules), bounds: c.bounds.String(),
		search: func() found { return search(newToken(rules, c.bounds), limit) },
	}
}

// differences lists the fields of rules that are not as in protocol.
func differences(protocol, rules any) string {
	was, is := reflect.ValueOf(protocol), reflect.ValueOf(rules)
	var names []string
	for i := range was.NumField() {
		if was.Field(i).Interface() == is.Field(i).Interface() {
			continue
		}
		name := was.Type().Field(i).Name
		if s, ok := is.Field(i).Interface().(fmt.Stringer); ok {
			name += " " + s.String()
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
