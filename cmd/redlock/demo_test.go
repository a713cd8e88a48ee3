package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlocktest"
)

// The demo tells its story, and draws it, and no log of its clients is between the lines. What it claims is measured,
// here on time of its own.
func TestDemo(t *testing.T) {
	var logged check.Output
	log.SetOutput(&logged) // to which slog writes by default
	defer log.SetOutput(os.Stderr)
	page, stdout := filepath.Join(t.TempDir(), "demo.html"), filepath.Join(t.TempDir(), "stdout")
	synctest.Test(t, func(t *testing.T) {
		file, err := os.Create(stdout)
		check.OK(t, err)
		defer file.Close()
		check.OK(t, (&demoCmd{HTML: page}).Run(streams{out: file}), "the demo")
	})
	out := check.File(t, stdout)
	if got := strings.Count(out, " ✓ "); got != demoClaims || strings.Contains(out, "✗") {
		t.Errorf("%d claims are ticked off, want %d", got, demoClaims)
	}
	for _, event := range []string{
		"●●●●●", "●●●○○", "●●○○○",
		"A has the lock", "B asks", "m5 is killed", "renewed", "still not renewed", "m3 is started again", "A unlocks", "B has the lock",
	} {
		check.That(t, strings.Contains(out, event), "no %q in the timeline", event)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("there are colours, and no terminal")
	}
	if !strings.Contains(out, page) {
		t.Error("nothing says where the picture is")
	}
	check.Equal(t, logged.String(), "", "what the demo logs")
	wantPicture(t, check.File(t, page))
}

// wantPicture checks that the page has what the demo tells: A's hold, which was renewed, and B's, to which it
// was handed over, and the deaths of three masters, one of which came back.
func wantPicture(t *testing.T, page string) {
	t.Helper()
	_, data, _ := strings.Cut(page, `id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	var drawn struct {
		Names          []string
		Bars, HandOffs [][]any
		Faults, Marks  [][]any
		Lanes          []struct{ Name string }
	}
	check.OK(t, json.Unmarshal([]byte(data), &drawn))
	var lanes []string
	for _, lane := range drawn.Lanes {
		lanes = append(lanes, lane.Name)
	}
	check.Equal(t, strings.Join(lanes, " "), "m1 m2 m3 m4 m5 A B", "lanes")
	if len(drawn.Bars) < 2 || len(drawn.HandOffs) != 1 || len(drawn.Names) != 1 || drawn.Names[0] != demoName {
		t.Errorf("%d holds of %q, %d hand-offs, want 2 or more of %q, 1", len(drawn.Bars), drawn.Names, len(drawn.HandOffs), demoName)
	}
	mended := 0
	for _, f := range drawn.Faults {
		if to := f[3].(float64); to > 0 {
			mended++
		}
	}
	check.That(t, len(drawn.Faults) == 3 && mended == 1, "%d faults, %d of them mended, want 3, 1", len(drawn.Faults), mended)
	check.That(t, len(drawn.Marks) >= 3, "%d renewals, want 3 or more", len(drawn.Marks))
}

// The claims are measured: they fail when the third master does not come back.
func TestDemoNoticesFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d, err := newDemo(&out, palette{})
		check.OK(t, err)
		defer d.close()
		d.revive = func(*redlocktest.Master) {}
		ctx, cancel := context.WithTimeout(t.Context(), demoLimit)
		check.That(t, !d.play(ctx) && strings.Contains(out.String(), "✗"), "the demo claims that all went well:\n%s", &out)
		cancel()
		if d.claims, d.failed = nil, false; d.play(ctx) {
			t.Error("a story that broke off claims that all went well")
		}
	})
}
