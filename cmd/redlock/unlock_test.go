package main

import (
	"strings"
	"testing"
)

func TestUnlock(t *testing.T) {
	fleet, flags := masters(t, 3)
	hold := take(t, fleet, "n")

	command(t, line("unlock", flags, "n")...).start().wantCode(exitUsage).wantError("--force", "redlock inspect")
	if got := holders(fleet, "n")[0]; got != hold.Owner() {
		t.Fatalf("unlock without --force: holder is %q, want %q", got, hold.Owner())
	}

	freed := command(t, line("unlock", flags, "--force", "n")...).start().wantCode(0)
	if !strings.HasPrefix(freed.stdout.String(), "n: freed, was held by ") {
		t.Errorf("unlock --force says %q, want that it was freed, and whose it was", &freed.stdout)
	}
	eventually(t, "the lock is free", func() bool { return free(fleet, "n") })

	command(t, line("unlock", flags, "--force", "n")...).start().wantCode(0).wantOutput("nobody")
}
