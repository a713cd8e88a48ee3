package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"

	"example.com/redlock/redlock"
)

var update = flag.Bool("update", false, "write testdata/metrics.txt anew")

// TestStory: what the program serves after a story, and what Prometheus and Grafana make of it.
func TestStory(t *testing.T) {
	tp := record(t, redlock.Config{}, story)
	t.Run("metrics", func(t *testing.T) { testMetrics(t, tp) })
	t.Run("values", func(t *testing.T) { testValues(t, tp) })
	t.Run("dashboard", func(t *testing.T) { testDashboard(t, tp) })
}

// testMetrics: what is served has the families and the labels of the golden file.
func testMetrics(t *testing.T, tp *tape) {
	got := families(t, tp.text)
	if *update {
		if err := os.WriteFile("testdata/metrics.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the families are\n%s\nwant\n%s\n(after a change that is meant: go test -run TestStory -update)", got, want)
	}
}

// families lists each metric with its type and labels, and its help.
func families(t *testing.T, text string) string {
	t.Helper()
	exposition := expfmt.NewTextParser(model.LegacyValidation)
	all, err := exposition.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for name, family := range all {
		if !strings.HasPrefix(name, "redlock_") {
			continue
		}
		labels := map[string]bool{}
		for _, metric := range family.Metric {
			for _, label := range metric.Label {
				labels[label.GetName()] = true
			}
		}
		var names []string
		for name := range labels {
			names = append(names, name)
		}
		slices.Sort(names)
		lines = append(lines, fmt.Sprintf("%s %s {%s} %s\n", name, strings.ToLower(family.GetType().String()), strings.Join(names, ", "), family.GetHelp()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// testValues: what happened in the story is what the metrics say.
func testValues(t *testing.T, tp *tape) {
	for expr, want := range map[string]float64{
		`redlock_acquire_duration_seconds_count{redlock_name="leader",redlock_outcome="acquired"}`:   1,
		`redlock_acquire_duration_seconds_count{redlock_name="leader",redlock_outcome="taken"}`:      1,
		`redlock_acquire_duration_seconds_count{redlock_kind="read"}`:                                1,
		`redlock_acquire_duration_seconds_count{redlock_kind="permit"}`:                              1,
		`redlock_hold_duration_seconds_count{redlock_end="expired"}`:                                 1,
		`redlock_hold_losses_total{redlock_name="leader",redlock_end="expired"}`:                     1,
		`sum(redlock_hold_losses_total)`:                                                             1,
		`min_over_time(sum(redlock_hold_count{redlock_kind="permit"})[20m:15s])`:                     0,
		`max_over_time(sum(redlock_hold_count{redlock_kind="permit"})[20m:15s])`:                     1,
		`max_over_time(redlock_hold_count{redlock_kind="read"}[20m])`:                                1,
		`max_over_time(redlock_hold_count{redlock_name="leader"}[20m])`:                              1,
		`redlock_hold_count{redlock_name="leader"}`:                                                  0,
		`max_over_time(redlock_waiter_count[20m])`:                                                   2,
		`redlock_master_state{redlock_master="pool 3",redlock_state="refused"}`:                      2,
		`max_over_time(redlock_master_state{redlock_master="pool 0",redlock_state="down"}[20m])`:     2,
		`max_over_time(redlock_master_state{redlock_master="pool 1",redlock_state="guarded"}[20m])`:  2,
		`max_over_time(redlock_master_state{redlock_master="pool 4",redlock_state="unsteady"}[20m])`: 2,
		`count(redlock_master_state == 2)`:                                                           5,
		`sum(redlock_master_state)`:                                                                  10,
		`sum(redlock_acquire_duration_seconds_count{error_type="no_quorum"}) > bool 5`:               1,
		`sum(redlock_wait_duration_seconds_count{redlock_outcome="acquired"}) > bool 5`:              1,
		`sum(redlock_master_votes_total{redlock_vote="handed_off"}) > bool 15`:                       1,
		`count(redlock_script_duration_seconds_count{error_type=""})`:                                5,
		// Half of a round trip is 0.3 ms to the nearest master and 1.5 ms to the farthest.
		`histogram_quantile(0.5, redlock_script_duration_seconds_bucket{redlock_master="pool 0",error_type=""}) < bool 0.001`:  1,
		`histogram_quantile(0.5, redlock_script_duration_seconds_bucket{redlock_master="pool 4",error_type=""}) >= bool 0.002`: 1,
		`redlock_renewal_remaining_bucket{le="0.7"} / ignoring (le) redlock_renewal_remaining_count`:                           1,
	} {
		result := tp.query(t, expr)
		if len(result) != 1 || len(result[0].Floats) == 0 {
			t.Errorf("%s has %d results", expr, len(result))
			continue
		}
		if got := result[0].Floats[len(result[0].Floats)-1].F; got != want {
			t.Errorf("%s = %v, want %v", expr, got, want)
		}
	}
}

// dashboard is what the test needs to know of ../grafana/redlock.json.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		Type    string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
}

// grafana reads the dashboard, and puts values in the place of variables as Grafana does.
func grafana(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("../grafana/redlock.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	values := []string{"$__rate_interval", "1m", "$__range", "15m"}
	for _, v := range d.Templating.List {
		values = append(values, "$"+v.Name, ".*")
	}
	replacer := strings.NewReplacer(values...)
	for _, p := range d.Panels {
		for i := range p.Targets {
			p.Targets[i].Expr = replacer.Replace(p.Targets[i].Expr)
		}
	}
	return d
}

// testDashboard: each panel asks for metrics that there are, and shows something of the story.
func testDashboard(t *testing.T, tp *tape) {
	d, names := grafana(t), tp.names()
	panels := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			panels++
			asked(t, p.Title, target.Expr, names)
			if len(tp.query(t, target.Expr)) == 0 {
				t.Errorf("panel %q shows nothing: %s", p.Title, target.Expr)
			}
		}
		for _, q := range d.Panels {
			a, b := p.GridPos, q.GridPos
			if p.ID < q.ID && a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q overlap", p.Title, q.Title)
			}
		}
	}
	if panels < 20 {
		t.Errorf("the dashboard has %d queries: this test looks in the wrong way", panels)
	}
	for _, rule := range rules(t) {
		asked(t, rule.Alert, rule.Expr, names)
	}
}

// asked checks the metrics that an expression asks for.
func asked(t *testing.T, by, expr string, names map[string]bool) {
	t.Helper()
	parsed, err := parser.ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v", by, err)
		return
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok && !names[s.Name] {
			t.Errorf("%s asks for %s, which nobody measures", by, s.Name)
		}
		return nil
	})
}
