package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// rules reads ../alerts.yaml as Prometheus does.
func rules(t *testing.T) (all []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.Parse([]byte(check.File(t, "../alerts.yaml")), false, model.LegacyValidation)
	check.OK(t, errors.Join(errs...), "alerts.yaml")
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// fires reports whether an alert fired at some time of the tape: whether its expression had a result
// with the same labels for as long as the rule wants.
func (tp *tape) fires(t *testing.T, rule rulefmt.Rule) bool {
	t.Helper()
	for _, series := range tp.query(t, rule.Expr) {
		var since, last int64
		for i, point := range series.Floats {
			if i == 0 || point.T-last > every.Milliseconds() {
				since = point.T
			}
			last = point.T
			if last-since >= time.Duration(rule.For).Milliseconds() {
				return true
			}
		}
	}
	return false
}

// TestAlertsAreDocumented: docs/monitoring.md has a section for each alert, and for nothing else, and the
// alert's runbook leads there.
func TestAlertsAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^### (Redlock\w+)$`).FindAllStringSubmatch(check.File(t, "../../docs/monitoring.md"), -1) {
		documented[heading[1]] = true
	}
	for _, rule := range rules(t) {
		check.That(t, documented[rule.Alert], "docs/monitoring.md has no section %s", rule.Alert)
		delete(documented, rule.Alert)
		check.Equal(t, rule.Annotations["runbook"], "docs/monitoring.md#"+strings.ToLower(rule.Alert), "runbook of %s", rule.Alert)
		for _, name := range []string{"summary", "description"} {
			check.That(t, rule.Annotations[name] != "", "%s has no %s", rule.Alert, name)
		}
		if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s: severity %q, want critical or warning", rule.Alert, severity)
		}
	}
	for name := range documented {
		t.Errorf("docs/monitoring.md has a section %s, and alerts.yaml no such alert", name)
	}
}

// after is a story of what follows when the first n masters of a service come to harm.
func after(n int, harm func(*redlocktest.Master), long time.Duration) func(*scene) {
	return func(s *scene) {
		s.work()
		s.harm(n, harm)
		s.wait(long)
	}
}

// TestAlerts: each alert fires in a story that it is for, and no other does.
func TestAlerts(t *testing.T) {
	all := rules(t)
	stories := map[string]struct {
		cfg   redlock.Config
		story func(*scene)
		want  []string
	}{
		"nothing happens": {story: func(s *scene) {
			s.work()
			s.lock(s.a, "leader:cron")
			s.wait(20 * time.Minute)
		}},
		"a master dies": {story: after(1, (*redlocktest.Master).Kill, 10*time.Minute), want: []string{"RedlockMasterDown"}},
		"two masters die": {
			story: after(2, (*redlocktest.Master).Kill, 10*time.Minute),
			want:  []string{"RedlockMasterDown", "RedlockQuorumInDanger"},
		},
		"a majority dies": {story: func(s *scene) {
			s.work()
			s.lock(s.a, "leader:cron")
			s.wait(2 * time.Minute)
			s.harm(3, (*redlocktest.Master).Kill)
			s.wait(3 * time.Minute)
			s.harm(3, (*redlocktest.Master).RestartWithData)
			s.wait(2 * time.Minute)
		}, want: []string{
			"RedlockNoQuorum", "RedlockCallsFindNoQuorum", "RedlockHoldLost", "RedlockRenewalsFail", "RedlockValidityLow", "RedlockMasterDown",
		}},
		"a majority dies for a moment": {story: func(s *scene) {
			s.lock(s.a, "leader:cron")
			s.wait(2 * time.Minute)
			s.harm(3, (*redlocktest.Master).Freeze)
			s.sleep(15 * time.Second)
			s.harm(3, (*redlocktest.Master).Thaw)
			s.wait(10 * time.Minute)
		}, want: []string{"RedlockRenewalsFail", "RedlockValidityLow"}},
		"a master becomes a replica": {
			story: after(1, func(m *redlocktest.Master) { m.SetRole("slave") }, 5*time.Minute),
			want:  []string{"RedlockMasterRefused"},
		},
		"a master restarts": {story: after(1, (*redlocktest.Master).Restart, 20*time.Minute)},
		"a master restarts, and some lease is long": {
			cfg:   redlock.Config{MaxLease: time.Hour},
			story: after(1, (*redlocktest.Master).Restart, 20*time.Minute),
			want:  []string{"RedlockMasterGuarded"},
		},
		"a clock jumps": {
			story: after(1, func(m *redlocktest.Master) { m.Skew(time.Minute) }, 5*time.Minute),
			want:  []string{"RedlockMasterUnsteady"},
		},
		"a master is slow": {
			story: after(1, func(m *redlocktest.Master) { m.Delay(100 * time.Millisecond) }, 20*time.Minute),
			want:  []string{"RedlockMasterSlow"},
		},
		"others use masters that overlap": {story: func(s *scene) {
			lead := func(c *redlock.Client) { // who looks only is not told of
				_ = c.Do(s.ctx, "leader:orders", func(ctx context.Context) error { <-ctx.Done(); return nil })
			}
			go lead(s.open(redlock.Config{Pools: s.fleet.Pools()[2:]}))
			go lead(s.open(redlock.Config{Pools: s.fleet.Pools()[:3]}))
			s.wait(5 * time.Minute)
		}, want: []string{"RedlockSetsOverlap"}},
		"somebody holds a lock for long": {story: func(s *scene) {
			hold := s.lock(s.a, "orders:a")
			for range 3 {
				go s.b.Do(s.ctx, "orders:a", func(context.Context) error { return nil })
			}
			s.wait(10 * time.Minute)
			_ = hold.Unlock(s.ctx)
			s.wait(10 * time.Minute)
		}, want: []string{"RedlockWaitsLong"}},
		"somebody holds a lock for good": {story: func(s *scene) {
			s.lock(s.a, "orders:a")
			go s.b.Do(s.ctx, "orders:a", func(context.Context) error { return nil })
			s.wait(40 * time.Minute)
		}, want: []string{"RedlockWaitersStuck"}},
	}
	tested := map[string]bool{}
	for name, tt := range stories {
		for _, alert := range tt.want {
			tested[alert] = true
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tp := record(t, tt.cfg, tt.story)
			var got []string
			for _, rule := range all {
				if tp.fires(t, rule) {
					got = append(got, rule.Alert)
				}
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			check.That(t, slices.Equal(got, tt.want), "alerts %q, want %q", got, tt.want)
		})
	}
	for _, rule := range all {
		check.That(t, tested[rule.Alert], "%s has no story", rule.Alert)
	}
}
