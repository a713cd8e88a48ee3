package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlocktest"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	start := time.Now()
	page := filepath.Join(t.TempDir(), "demo.html")
	i := command(t, "demo", "--html", page).start().wantCode(0)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("the demo took %v, want less than 20s", took)
	}
	out := i.stdout.String()
	if got := strings.Count(out, " ✓ "); got != demoClaims || strings.Contains(out, "✗") {
		t.Errorf("%d claims are ticked off, want %d", got, demoClaims)
	}
	for _, event := range []string{
		"●●●●●", "●●●○○", "●●○○○",
		"A has the lock", "B asks", "m5 is killed", "renewed", "still not renewed", "m3 is started again", "A unlocks", "B has the lock",
	} {
		if !strings.Contains(out, event) {
			t.Errorf("no %q in the timeline", event)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("there are colours, and no terminal")
	}
	if !strings.Contains(out, page) {
		t.Error("nothing says where the picture is")
	}
	wantPicture(t, readFile(t, page))
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
	if err := json.Unmarshal([]byte(data), &drawn); err != nil {
		t.Fatal(err)
	}
	var lanes []string
	for _, lane := range drawn.Lanes {
		lanes = append(lanes, lane.Name)
	}
	if got := strings.Join(lanes, " "); got != "m1 m2 m3 m4 m5 A B" {
		t.Errorf("the lanes are %s", got)
	}
	if len(drawn.Bars) < 2 || len(drawn.HandOffs) != 1 || len(drawn.Names) != 1 || drawn.Names[0] != demoName {
		t.Errorf("%d holds of %q, %d hand-offs, want 2 or more of %q, 1", len(drawn.Bars), drawn.Names, len(drawn.HandOffs), demoName)
	}
	mended := 0
	for _, f := range drawn.Faults {
		if to := f[3].(float64); to > 0 {
			mended++
		}
	}
	if len(drawn.Faults) != 3 || mended != 1 {
		t.Errorf("%d faults, %d of them mended, want 3, 1", len(drawn.Faults), mended)
	}
	if len(drawn.Marks) < 3 {
		t.Errorf("%d renewals, want 3 or more", len(drawn.Marks))
	}
}

// The claims are measured: they fail when the third master does not come back.
func TestDemoNoticesFailure(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d, err := newDemo(&out, palette{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	d.revive = func(*redlocktest.Master) {}
	ctx, cancel := context.WithTimeout(t.Context(), demoLimit)
	if d.play(ctx) || !strings.Contains(out.String(), "✗") {
		t.Errorf("the demo claims that all went well:\n%s", &out)
	}
	cancel()
	if d.claims, d.failed = nil, false; d.play(ctx) {
		t.Error("a story that broke off claims that all went well")
	}
}
