package doctor

import (
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
		for _, want := range []Finding{
			{ID: "restart-guard", Severity: Error, Verdict: "bold … has its restart guard off, but with appendonly no a restart forgets locks"},
			{ID: "leases", Severity: Warning, Verdict: "brief … takes leases of 10s with a restart guard of 30s, and here they are 1m0s and 1m0s"},
		} {
			client, says, _ := strings.Cut(want.Verdict, " … ")
			found := report.Find(want.ID)
			if len(found) != 1 || found[0].Severity != want.Severity || len(found[0].Masters) != 3 ||
				!strings.HasPrefix(found[0].Verdict, client) || !strings.Contains(found[0].Verdict, says) {
				t.Errorf("%s: got %+v, want %+v of each master", want.ID, found, want)
			}
		}
	})
}
