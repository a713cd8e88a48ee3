//go:build unix

package main

import (
	"strings"
	"testing"

	"example.com/redlock/redlocktest"
)

// TestDoctor: the exit code says whether locks are safe.
func TestDoctor(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*redlocktest.Fleet)
		args string
		code int
		says []string
	}{
		{"well", nil, "", 0, []string{"ok       quorum", "Locks are safe here"}},
		{"a dead one", func(f *redlocktest.Fleet) { f.Master(2).Kill() }, "", 0, []string{"warning  reachable", "connection refused", "warning  same-host", "Locks are safe here: 3 warnings"}},
		{"two dead", func(f *redlocktest.Fleet) { f.Master(1).Kill(); f.Master(2).Kill() }, "", exitNoQuorum, []string{"ERROR    quorum", "Unknown: 1 of 3"}},
		{"the guard is off", nil, "--no-restart-guard", exitNo, []string{"ERROR    restart-guard", "Locks are not safe here"}},
		{"one restarted, in JSON", func(f *redlocktest.Fleet) { f.Master(0).Restart() }, "--json --lease 20s", 0, []string{
			`"safe": true`, `"examined": 3`, "\"id\": \"guard\",\n      \"severity\": \"warning\",\n      \"masters\": [\n", "grants nothing for another", `"remedy": "`,
		}},
		{"a bad address", nil, "--masters a:b:c", exitUsage, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fleet := redlocktest.Start(t, 3)
			args := []string{"doctor", "--masters", strings.Join(fleet.URLs(), ",")}
			if tt.do != nil {
				tt.do(fleet)
			}
			command(t, append(args, strings.Fields(tt.args)...)...).start().wantCode(tt.code).wantOutput(tt.says...)
		})
	}
}
