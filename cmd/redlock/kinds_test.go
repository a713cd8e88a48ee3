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
	i := command(t, line("run", flags, "--no-wait", "--name", "n", "--", "true")...).start()
	i.wantCode(exitTaken)
	if got := one.stdout.String(); !strings.HasPrefix(got, "slot .") {
		t.Errorf("a command that reads is told %q, want no slot", got)
	}
	i = command(t, line("inspect", flags, "n")...).start()
	i.wantCode(0)
	if got := i.stdout.String(); !strings.Contains(got, "held by 2 readers: 3 of 3 masters say so") || !strings.Contains(got, "READER") {
		t.Errorf("inspect says\n%s\nwant 2 readers", got)
	}
	end.Close()
	endTwo.Close()
	one.wantCode(0)
	two.wantCode(0)
	i, in := withStdin(t, command(t, line("run", flags, "--name", "n", "--", "sh", "-c", reads)...))
	i.ready()
	late := command(t, line("run", flags, "--shared", "--no-wait", "--name", "n", "--", "true")...).start()
	late.wantCode(exitTaken)
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
	i := command(t, line("run", flags, "--permits", "2", "--no-wait", "--name", "gpu", "--", "true")...).start()
	i.wantCode(exitTaken)
	i = command(t, line("inspect", flags, "gpu")...).start()
	i.wantCode(exitNo) // the lock of that name is another thing
	i = command(t, line("inspect", flags, "--permits", "gpu")...).start()
	i.wantCode(0)
	if got := i.stdout.String(); !strings.Contains(got, "2 permits are held") || !strings.Contains(got, "SLOT") {
		t.Errorf("inspect says\n%s\nwant 2 permits", got)
	}
	i = command(t, line("inspect", flags, "--json", "--permits", "gpu")...).start()
	i.wantCode(0)
	var got permitsReport
	if err := json.Unmarshal([]byte(i.stdout.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "gpu" || got.Held == nil || *got.Held != 2 || len(got.Slots) != 2 || len(got.Masters) != 3 ||
		got.Slots[1].Slot != 1 || got.Slots[1].LeftMS <= 0 || got.Slots[1].Token <= 0 || len(got.Masters[0].Slots) != 2 {
		t.Errorf("inspect --json: %+v", got)
	}
	i = command(t, line("unlock", flags, "--permits", "gpu")...).start()
	i.wantCode(exitUsage)
	i.wantError("redlock inspect --permits gpu")
	i = command(t, line("unlock", flags, "--permits", "--force", "gpu")...).start()
	i.wantCode(0)
	if !strings.Contains(i.stdout.String(), "gpu: freed") {
		t.Errorf("unlock says %q", &i.stdout)
	}
	for _, i := range running { // each learns of it when it renews
		i.wantCode(exitLost)
	}
	i = command(t, line("inspect", flags, "--permits", "gpu")...).start()
	i.wantCode(exitNo)
}

// What makes no sense together is refused before any master is asked.
func TestRunRefusesKinds(t *testing.T) {
	for says, args := range map[string][]string{
		"--shared and --permits cannot be used together":  {"--shared", "--permits", "2", "--name", "n"},
		"--shared takes one --name, not 2":                {"--shared", "--name", "n", "--name", "m"},
		"--permits takes one --name, not 2":               {"--permits", "2", "--name", "n", "--name", "m"},
		`--permits: "0" is not a number from 1 to 1000`:   {"--permits", "0", "--name", "n"},
		`--permits: "1001" is not a number from 1`:        {"--permits", "1001", "--name", "n"},
		`--permits: "many" is not a number from 1 to 100`: {"--permits", "many", "--name", "n"},
	} {
		i := command(t, append(append([]string{"run", "--masters", "127.0.0.1:1"}, args...), "--", "true")...).start()
		i.wantCode(exitUsage)
		i.wantError(says)
	}
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

func TestPrintReadersAndQueue(t *testing.T) {
	reader := redlock.Reader{Owner: "a:r1", Left: 9 * time.Second}
	state := redlock.MasterState{Holder: shared, Left: 9 * time.Second, Token: 5, Readers: []redlock.Reader{reader}}
	one, two, three := state, state, redlock.MasterState{Err: errors.New("m3: no answer")}
	one.Master, two.Master, three.Master = "m1", "m2", "m3"
	one.Queue = []redlock.Waiter{{Owner: "b:r1"}, {Owner: "c:r7", Shared: true}}
	two.Queue = []redlock.Waiter{{Owner: "c:r7", Shared: true}}
	seen := redlock.Inspection{
		Name: "n", Held: true, Holder: shared, Left: 9 * time.Second, Readers: []redlock.Reader{reader},
		Masters: []redlock.MasterState{one, two, three},
	}
	want := `
MASTER  HOLDER    COUNT  LEFT  TOKEN
m1      1 reader  -      9s    5
m2      1 reader  -      9s    5
m3      ?         ?      ?     ?
m3: no answer

held by 1 reader: 2 of 3 masters say so; free in at most 9s unless renewed

READER  LEFT
a:r1    9s

WAITER  FOR       MASTERS
b:r1    the lock  1 of 3
c:r7    reading   2 of 3
`
	var out bytes.Buffer
	if err := printTable(page{Writer: &out}, seen, nil); err != nil {
		t.Fatal(err)
	}
	if out.String() != want[1:] {
		t.Errorf("printTable:\n%s\nwant\n%s", &out, want)
	}
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
			var out bytes.Buffer
			if err := printPermits(page{Writer: &out}, c.seen, c.err); err != nil {
				t.Fatal(err)
			}
			if want := c.want[1:]; out.String() != want {
				t.Errorf("printPermits:\n%s\nwant\n%s", &out, want)
			}
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
