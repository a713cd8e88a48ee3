//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// reads is what a script says when it has begun, and waits for its end.
const reads = `echo "slot $REDLOCK_SLOT."; echo ready; read x; exit 0`

// Commands under --shared run together, and not beside one that is not shared.
func TestRunShared(t *testing.T) {
	_, flags := masters(t, 3)
	shared := func() (*invocation, interface{ Close() error }) {
		i, in := withStdin(t, command(t, line("run", flags, "--shared", "--name", "n", "--", "sh", "-c", reads)...))
		i.ready()
		return i, in
	}
	one, end := shared()
	two, endTwo := shared()
	command(t, line("run", flags, "--no-wait", "--name", "n", "--", "true")...).start().wantCode(exitTaken)
	if got := one.stdout.String(); !strings.HasPrefix(got, "slot .") {
		t.Errorf("a command that reads is told %q, want no slot", got)
	}
	i := command(t, line("inspect", flags, "n")...).start().wantCode(0)
	i.wantOutput("held by 2 readers: 3 of 3 masters say so", "READER")
	end.Close()
	endTwo.Close()
	one.wantCode(0)
	two.wantCode(0)
	i, in := withStdin(t, command(t, line("run", flags, "--name", "n", "--", "sh", "-c", reads)...))
	i.ready()
	command(t, line("run", flags, "--shared", "--no-wait", "--name", "n", "--", "true")...).start().wantCode(exitTaken)
	in.Close()
	i.wantCode(0)
}

// At most K commands run under --permits K, each in a slot of its own; inspect and unlock know of them.
func TestRunPermits(t *testing.T) {
	_, flags := masters(t, 3)
	var running []*invocation
	var slots []string
	for range 2 {
		i, _ := withStdin(t, command(t, line("run", flags, "--permits", "2", "--name", "gpu", "--lease", "3s", "--", "sh", "-c", reads)...))
		i.ready()
		running, slots = append(running, i), append(slots, strings.SplitN(i.stdout.String(), "\n", 2)[0])
	}
	slices.Sort(slots)
	if want := []string{"slot 0.", "slot 1."}; !slices.Equal(slots, want) {
		t.Errorf("the commands are told %q, want %q", slots, want)
	}
	command(t, line("run", flags, "--permits", "2", "--no-wait", "--name", "gpu", "--", "true")...).start().wantCode(exitTaken)
	command(t, line("inspect", flags, "gpu")...).start().wantCode(exitNo) // the lock of that name is another thing
	command(t, line("inspect", flags, "--permits", "gpu")...).start().wantCode(0).wantOutput("2 permits are held", "SLOT")
	i := command(t, line("inspect", flags, "--json", "--permits", "gpu")...).start().wantCode(0)
	var got permitsReport
	if err := json.Unmarshal([]byte(i.stdout.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "gpu" || got.Held == nil || *got.Held != 2 || len(got.Slots) != 2 || len(got.Masters) != 3 ||
		got.Slots[1].Slot != 1 || got.Slots[1].LeftMS <= 0 || got.Slots[1].Token <= 0 || len(got.Masters[0].Slots) != 2 {
		t.Errorf("inspect --json: %+v", got)
	}
	i = command(t, line("unlock", flags, "--permits", "--force", "gpu")...).start().wantCode(0)
	i.wantOutput("gpu: freed")
	for _, i := range running { // each learns of it when it renews
		i.wantCode(exitLost)
	}
	command(t, line("inspect", flags, "--permits", "gpu")...).start().wantCode(exitNo)
}

// What waits for a permit says for how many there are.
func TestWaitingForAPermitSaysSo(t *testing.T) {
	fleet, flags := masters(t, 3)
	hold, err := client(t, fleet).Semaphore("gpu", 1).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := command(t, line("run", flags, "--permits", "1", "--name", "gpu", "--", "true")...).start()
	eventually(t, "it says what it waits for", func() bool {
		return strings.Contains(i.stderr.String(), `still waiting for a permit of "gpu": 1 permit is held, by `) && strings.Contains(i.stderr.String(), "; next in line\n")
	})
	if err := hold.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	i.wantCode(0)
}

func TestPrintPermits(t *testing.T) {
	taken := []redlock.Slot{{Slot: 2, Owner: "a:r1", Left: 1500 * time.Millisecond, Token: 7}}
	seen := redlock.SemaphoreInspection{
		Name: "n", Slots: taken,
		Masters: []redlock.SemaphoreState{
			{Master: "m1", Slots: taken, Queue: []redlock.Waiter{{Owner: "b:r1"}}},
			{Master: "m2", Slots: taken, Queue: []redlock.Waiter{{Owner: "b:r1", Permits: 4}}},
			{Master: "m3", Guard: 3 * time.Second},
			{Master: "m4", Err: errors.New("m4: no answer")},
		},
	}
	for _, c := range []struct {
		name string
		seen redlock.SemaphoreInspection
		err  error
		want string
	}{
		{"held", seen, nil, `
MASTER  HELD  WAITING
m1      1     1
m2      1     1
m3      0     0
m4      ?     ?
m3: restarted: grants nothing for another 3s
m4: no answer

1 permit is held

SLOT  HOLDER  LEFT  TOKEN
2     a:r1    1.5s  7

WAITER  FOR               MASTERS
b:r1    one of 4 permits  2 of 4
`},
		{"unknown", redlock.SemaphoreInspection{Masters: seen.Masters[3:]}, redlock.ErrNoQuorum, `
MASTER  HELD  WAITING
m4      ?     ?
m4: no answer

unknown: 0 of 1 masters answered, 1 are needed
`},
		{"free", redlock.SemaphoreInspection{Masters: seen.Masters[2:3]}, nil, `
MASTER  HELD  WAITING
m3      0     0
m3: restarted: grants nothing for another 3s

no permit is held
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantPrinted(t, 0, c.want, func(out page) error { return printPermits(out, c.seen, c.err) })
		})
	}
	var out bytes.Buffer
	if err := printPermitsJSON(page{Writer: &out}, redlock.SemaphoreInspection{Masters: seen.Masters[3:]}, redlock.ErrNoQuorum); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"held": null`) || !strings.Contains(out.String(), `"error": "no answer"`) {
		t.Errorf("printPermitsJSON in an outage:\n%s", &out)
	}
}

// reading has another client read what the scene is about.
func reading(t *testing.T, fleet *redlocktest.Fleet) {
	if _, err := client(t, fleet).RLock(t.Context(), "nightly"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all masters have it", func() bool { return !slices.Contains(holders(fleet, "nightly"), "") })
	fleet.Master(2).Delay(150 * time.Millisecond)
}

// permitted has another client hold the one permit.
func permitted(t *testing.T, fleet *redlocktest.Fleet) {
	if _, err := client(t, fleet).Semaphore("nightly", 1).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all masters have it", func() bool {
		for _, m := range fleet.Masters() {
			if len(m.ZSet("redlock_slots:{nightly}")) == 0 {
				return false
			}
		}
		return true
	})
	fleet.Master(2).Delay(150 * time.Millisecond)
}
