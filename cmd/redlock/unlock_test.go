package main

import (
	"strings"
	"testing"
)

func TestUnlock(t *testing.T) {
	fleet, flags := masters(t, 3)
	hold := take(t, fleet, "n")

	refused := command(t, line("unlock", flags, "n")...).start()
	refused.wantCode(exitUsage)
	refused.wantError("--force", "redlock inspect")
	if got := holders(fleet, "n")[0]; got != hold.Owner() {
		t.Fatalf("unlock without --force: holder is %q, want %q", got, hold.Owner())
	}

	freed := command(t, line("unlock", flags, "--force", "n")...).start()
	freed.wantCode(0)
	if !strings.HasPrefix(freed.stdout.String(), "n: freed, was held by ") {
		t.Errorf("unlock --force says %q, want that it was freed, and whose it was", &freed.stdout)
	}
	eventually(t, "the lock is free", func() bool { return free(fleet, "n") })

	again := command(t, line("unlock", flags, "--force", "n")...).start()
	again.wantCode(0)
	if !strings.Contains(again.stdout.String(), "nobody") {
		t.Errorf("unlock --force of a free lock says %q", &again.stdout)
	}
}
