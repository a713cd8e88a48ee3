//go:build unix

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// reads is what a script says when it has begun, and waits for its end.
const reads = `echo "slot $REDLOCK_SLOT."; echo ready; read x; exit 0`

// Commands under --shared run together. TestTexts shows that they do not beside one that is not shared.
func TestRunShared(t *testing.T) {
	_, flags := masters(t, 3)
	for range 2 {
		i, in := withStdin(t, command(t, line("run", flags, "--shared", "--name", "n", "--", "sh", "-c", reads)...))
		i.ready()
		defer i.wantCode(0)
		defer in.Close()
		if got := i.stdout.String(); !strings.HasPrefix(got, "slot .") {
			t.Errorf("a command that reads is told %q, want no slot", got)
		}
	}
	command(t, line("inspect", flags, "n")...).start().wantCode(0).wantOutput("held by 2 readers: 3 of 3 masters say so", "READER")
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
