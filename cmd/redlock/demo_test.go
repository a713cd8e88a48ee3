package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlocktest"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	start := time.Now()
	i := command(t, "demo").start()
	i.wantCode(0)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("the demo took %v, want less than 20s", took)
	}
	out := i.stdout.String()
	if got := strings.Count(out, " ✓ "); got != demoClaims || strings.Contains(out, "✗") {
		t.Errorf("%d claims are ticked off, want %d", got, demoClaims)
	}
	for _, event := range []string{
		"●●●●●", "●●●○○", "●●○○○",
		"A has the lock", "B asks", "m5 is killed", "renewed", "still not renewed", "m3 is started again", "A unlocks", "B has the lock",
	} {
		if !strings.Contains(out, event) {
			t.Errorf("no %q in the timeline", event)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("there are colours, and no terminal")
	}
}

// The claims are measured: they fail when the third master does not come back.
func TestDemoNoticesFailure(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d, err := newDemo(&out, palette{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	d.revive = func(*redlocktest.Master) {}
	ctx, cancel := context.WithTimeout(t.Context(), demoLimit)
	defer cancel()
	if d.play(ctx) || !strings.Contains(out.String(), "✗") {
		t.Errorf("the demo claims that all went well:\n%s", &out)
	}
}

func TestClaims(t *testing.T) {
	var c claims
	c.check(true, "one", "%d", 1)
	if !c.allHeld(1) {
		t.Error("one claim of one held: allHeld = false")
	}
	if c.allHeld(2) {
		t.Error("one claim of two: allHeld = true")
	}
	c.check(false, "two", "")
	if c.allHeld(2) {
		t.Error("a claim that did not hold: allHeld = true")
	}
}

func TestRoom(t *testing.T) {
	var r room
	r.enter("A")
	r.enter("B")
	r.leave()
	r.leave()
	if guests, most := r.log(); most != 2 || len(guests) != 2 {
		t.Errorf("two at once: log() = %v, %d", guests, most)
	}
}
