package main

import (
	"fmt"
	"strconv"
	"time"
)

// To the library, 0 means the default, and some negative durations mean "off". A user who writes 0 on
// a command line means neither, so each kind of flag refuses values that would be misunderstood.

// positive is a duration longer than 0.
type positive time.Duration

// UnmarshalText parses what the user wrote.
func (p *positive) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is not a duration longer than 0, such as 30s", text)
	}
	*p = positive(d)
	return nil
}

// patience is a duration that may be 0.
type patience time.Duration

// UnmarshalText parses what the user wrote.
func (p *patience) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is neither a duration such as 10s nor 0", text)
	}
	*p = patience(d)
	return nil
}

// guard is a duration, or the word off. 0 means off too.
type guard time.Duration

// UnmarshalText parses what the user wrote.
func (g *guard) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		*g = -1
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is neither a duration such as 30s nor off", text)
	}
	if d == 0 {
		d = -1
	}
	*g = guard(d)
	return nil
}

// permits is how many permits there are of a name; 0 where the flag is not given.
type permits int

// UnmarshalText parses what the user wrote.
func (p *permits) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 1000 {
		return fmt.Errorf("%q is not a number from 1 to 1000", text)
	}
	*p = permits(n)
	return nil
}
