package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

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
	check.OK(t, json.Unmarshal([]byte(check.File(t, "../grafana/redlock.json")), &d))
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

// TestDashboard: each panel asks for metrics that there are, and shows something of the story. Alerts ask for
// metrics that there are, too.
func TestDashboard(t *testing.T) {
	tp := record(t, redlock.Config{}, story)
	d, names := grafana(t), tp.names()
	panels := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			panels++
			asked(t, p.Title, target.Expr, names)
			check.That(t, len(tp.query(t, target.Expr)) != 0, "panel %q shows nothing: %s", p.Title, target.Expr)
		}
		for _, q := range d.Panels {
			a, b := p.GridPos, q.GridPos
			if p.ID < q.ID && a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q overlap", p.Title, q.Title)
			}
		}
	}
	check.That(t, panels >= 20, "the dashboard has %d queries: this test looks in the wrong way", panels)
	for _, rule := range rules(t) {
		asked(t, rule.Alert, rule.Expr, names)
	}
}

// asked checks the metrics that an expression asks for.
func asked(t *testing.T, by, expr string, names map[string]bool) {
	t.Helper()
	parsed, err := parser.ParseExpr(expr)
	check.OK(t, err, "%s", by)
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok && !names[s.Name] {
			t.Errorf("%s asks for %s, which nobody measures", by, s.Name)
		}
		return nil
	})
}
