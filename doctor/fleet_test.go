package doctor

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// TestBesideAFleet: what clients publish of their leases and guards is held against what masters keep, and
// against doctor's own settings.
func TestBesideAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		for _, cfg := range []redlock.Config{
			{Name: "bold", Lease: 10 * time.Second, RestartGuard: redlock.GuardOff},
			{Name: "brief", Lease: 10 * time.Second},
		} {
			cfg.Pools = fleet.Pools()
			client, err := redlock.New(cfg)
			check.OK(t, err)
			defer client.Close()
			hold, err := client.Lock(t.Context(), "name")
			check.OK(t, err)
			check.OK(t, hold.Unlock(t.Context()))
		}
		report, err := Examine(t.Context(), redlock.Config{Pools: fleet.Pools(), Lease: time.Minute}, "")
		check.OK(t, err)
		client := regexp.MustCompile(`(bold|brief) on \S+ \(pid \d+\)`)
		for id, want := range map[string]string{
			"restart-guard": "error of pool 0, pool 1, pool 2: bold has its restart guard off, but with appendonly no a restart forgets locks",
			"leases":        "warning of pool 0, pool 1, pool 2: brief takes leases of 10s with a restart guard of 30s, and here they are 1m0s and 1m0s",
		} {
			got := client.ReplaceAllString(strings.Join(told(report, id), "\n"), "$1")
			check.That(t, strings.HasPrefix(got, want) && !strings.Contains(got, "\n"), "%s: got %q, want %q", id, got, want)
		}
	})
}
