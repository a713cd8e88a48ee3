//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/redlock/doctor"
	"example.com/redlock/redlocktest"
)

// screens are what doctor prints of masters that a person might have.
var screens = []struct {
	when   string
	report doctor.Report
}{
	{"nothing is wrong", doctor.Report{
		Masters: []string{"m1:6379", "m2:6379", "m3:6379"}, Examined: 3, Needed: 2,
		Findings: []doctor.Finding{
			{ID: "quorum", Verdict: "3 of 3 masters can grant a lock, and 2 are needed"},
			{ID: "clock-rate", Verdict: "all kept pace for 2s, within the 22ms that leases allow for, which is a long sentence"},
		},
	}},
	{"one master evicts, and one is dead", doctor.Report{
		Masters: []string{"m1:6379", "m2:6379", "m3:6379"}, Examined: 2, Needed: 2,
		Findings: []doctor.Finding{
			{ID: "quorum", Severity: doctor.Warning, Verdict: "2 of 3 masters can grant a lock, and 2 are needed: none of these may fail", Remedy: "see below what each of the others lacks"},
			{ID: "reachable", Severity: doctor.Warning, Masters: []string{"m3:6379"}, Verdict: "connect: connection refused", Remedy: "start it, or correct the address"},
			{ID: "eviction-policy", Severity: doctor.Error, Masters: []string{"m1:6379", "m2:6379"}, Verdict: "maxmemory-policy is allkeys-lru, and 97% of maxmemory (100 MB) are used: to evict a lock is to unlock it", Remedy: "CONFIG SET maxmemory-policy noeviction"},
			{ID: "unseen", Severity: doctor.Note, Masters: []string{"m1:6379", "m2:6379", "m3:6379"}, Verdict: "SCAN refused (NOPERM): doctor did not see locks of other libraries", Remedy: "run doctor as a user that may, see docs/doctor.md"},
			{ID: "redisson", Severity: doctor.Note, Masters: []string{"m1:6379"}, Verdict: `clients of Redisson have "a", and share names with ours`, Remedy: "see docs/redisson.md"},
		},
	}},
	{"a majority is dead", doctor.Report{
		Masters: []string{"m1:6379", "m2:6379", "m3:6379"}, Examined: 1, Needed: 2,
		Findings: []doctor.Finding{
			{ID: "quorum", Severity: doctor.Error, Verdict: "1 of 3 masters can grant a lock, and 2 are needed: nobody gets one", Remedy: "see below what each of the others lacks"},
		},
	}},
}

// TestDoctorScreen: what doctor prints, word for word, is in testdata/doctor.txt. It is 80 columns wide.
func TestDoctorScreen(t *testing.T) {
	var got strings.Builder
	for _, s := range screens {
		got.WriteString("# " + s.when + "\n" + screen(s.report) + "\n")
	}
	golden(t, "testdata/doctor.txt", got.String())
	for line := range strings.Lines(got.String()) {
		if n := len(strings.TrimSuffix(line, "\n")); n > columns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

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

func TestDoctorJSON(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	fleet.Master(0).Restart()
	i := command(t, "doctor", "--json", "--masters", strings.Join(fleet.URLs(), ","), "--lease", "20s").start().wantCode(0)
	var got struct {
		Masters  []string
		Safe     bool
		Examined int
		Findings []struct {
			ID, Severity, Verdict, Remedy string
			Masters                       []string
		}
	}
	if err := json.Unmarshal([]byte(i.stdout.String()), &got); err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Findings {
		if f.ID == "guard" {
			if !got.Safe || got.Examined != 3 || len(got.Masters) != 3 || f.Severity != "warning" || len(f.Masters) != 1 || f.Remedy == "" || !strings.Contains(f.Verdict, "grants nothing for another") {
				t.Errorf("got %+v", got)
			}
			return
		}
	}
	t.Errorf("no guard in %+v", got)
}
