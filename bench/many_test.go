package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// What is used in a state is measured when it has settled, and before it ends.
func TestStateUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var began, ended time.Duration
		s := state{"state", func() (func() error, error) {
			time.Sleep(time.Second)
			began = time.Since(start)
			return func() error { ended = time.Since(start); return nil }, nil
		}, 3 * time.Second}
		used, err := s.use(t.Context(), &env{fleet: new(fleet), duration: time.Second})
		if err != nil || used.wall != 3*time.Second {
			t.Errorf("use = %v, %v, want that of 3s", used.wall, err)
		}
		if began != time.Second || ended != 8*time.Second {
			t.Errorf("the state lasted from %v to %v, want 1s to 8s: it settles for 4s", began, ended)
		}
	})
}
