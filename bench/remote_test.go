package main

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

// The last of the clients that start together has waited for all the others.
func TestLockTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		valid time.Duration
		lost  int
	}{{"kept", 0, 0}, {"lost", time.Millisecond, 4}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := exclusive{make(chan struct{}, 1), 30 * time.Millisecond, 20 * time.Millisecond, c.valid}
				got, err := lockTogether(t.Context(), slices.Repeat([]client{cl}, 4), "name")
				// Each of three has it for 10 ms.
				if want := (crowd{3*60*time.Millisecond + 30*time.Millisecond, c.lost}); err != nil || got != want {
					t.Errorf("lockTogether = %v, %v, want %v", got, err, want)
				}
			})
		})
	}
}

// Each master gets an address of its own, at which it is as far away as asked.
func TestMoveAway(t *testing.T) {
	const trip = 40 * time.Millisecond
	near := []string{pongs(t), pongs(t)}
	addresses, closeProxies, err := moveAway(near, trip)
	if err != nil {
		t.Fatalf("moveAway = %v", err)
	}
	defer closeProxies()
	if len(addresses) != 2 || addresses[0] == addresses[1] {
		t.Fatalf("addresses = %v, want two", addresses)
	}
	for _, address := range addresses {
		asked := time.Now()
		conn, err := redis.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Do("PING")
		if took := time.Since(asked); err != nil || took < trip {
			t.Errorf("%v answers after %v, %v, want %v at least", address, took, err, trip)
		}
		conn.Close()
	}
}
