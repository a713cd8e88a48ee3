package main

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{acquire: time.Millisecond, taken: map[string]bool{"taken": true}}
		tries, err := refusals(t.Context(), f, "taken", 10*time.Millisecond, nil)
		if err != nil || len(tries) != 11 || tries.percentile(50) != time.Millisecond {
			t.Errorf("refusals = %v, %v, want 11 times 1ms", tries, err)
		}
		if _, err := refusals(t.Context(), f, "free", 10*time.Millisecond, nil); err == nil {
			t.Error("refusals of a free lock = nil, want an error")
		}
	})
}

func TestSettledSeesMemoryInUse(t *testing.T) {
	before := settled(t.Context())
	kept := make([]byte, 1<<20)
	end := make(chan struct{})
	go func() { <-end }()
	got := settled(t.Context()).since(before)
	close(end)
	if kept[0] != 0 || got.goroutines != 1 || got.heap < 1<<20 || got.heap > 1<<20+1<<17 {
		t.Errorf("settled = %+v more than before, want a goroutine and a MB", got)
	}
}
