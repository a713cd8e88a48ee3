package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

func TestInspectHeld(t *testing.T) {
	fleet, flags := masters(t, 5)
	hold := take(t, fleet, "n")
	fleet.Master(4).Kill()
	i := command(t, line("inspect", flags, "n")...).start()
	i.wantCode(0)
	rows := strings.Split(i.stdout.String(), "\n")
	naming := 0
	for _, row := range rows {
		if strings.Contains(row, short(hold.Owner())) && strings.Contains(row, fmt.Sprint(hold.Token())) {
			naming++
		}
	}
	if naming != 4 {
		t.Errorf("%d lines name holder and token, want 4:\n%s", naming, &i.stdout)
	}
	for _, want := range []string{"held by ", hold.Owner(), ": 4 of 5 masters say so"} {
		if !strings.Contains(i.stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &i.stdout)
		}
	}
}

func TestInspectJSON(t *testing.T) {
	fleet, flags := masters(t, 3)
	hold := take(t, fleet, "n")
	fleet.Master(2).Kill()
	i := command(t, line("inspect", flags, "--json", "n")...).start()
	i.wantCode(0)
	var got inspection
	if err := json.Unmarshal([]byte(i.stdout.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "n" || got.Held == nil || !*got.Held || got.Holder != hold.Owner() || got.LeftMS <= 0 || len(got.Masters) != 3 {
		t.Fatalf("inspect --json: %+v", got)
	}
	for _, m := range got.Masters[:2] {
		if m.Holder != hold.Owner() || m.Count != 1 || m.LeftMS <= 0 || m.Token != hold.Token() || m.Error != "" {
			t.Errorf("a master that has the lock: %+v", m)
		}
	}
	if m := got.Masters[2]; m.Holder != "" || m.Error == "" {
		t.Errorf("the dead master: %+v", m)
	}
}

func TestPrintTable(t *testing.T) {
	held := redlock.Inspection{
		Name: "n", Held: true, Holder: "a:1", Left: 28400 * time.Millisecond,
		Masters: []redlock.MasterState{
			{Master: "m1:6379", Holder: "a:1", Count: 2, Left: 28400 * time.Millisecond, Token: 17},
			{Master: "m2:6379", Holder: "a:1", Count: 2, Left: 28390 * time.Millisecond, Token: 17},
			{Master: "m3:6379", Guard: 12 * time.Second, Token: 16},
		},
	}
	endless := redlock.Inspection{
		Name: "n", Held: true, Holder: "a:1", Left: never,
		Masters: []redlock.MasterState{{Master: "m1:6379", Holder: "a:1", Count: 1, Left: never}},
	}
	unknown := redlock.Inspection{
		Name: "n",
		Masters: []redlock.MasterState{
			{Master: "m1:6379", Err: errors.New("m1:6379: connection refused")},
			{Master: "m2:6379"},
			{Master: "m3:6379", Err: errors.New("no answer")},
		},
	}
	for _, c := range []struct {
		name string
		seen redlock.Inspection
		err  error
		want string
	}{
		{"held", held, nil, `
MASTER   HOLDER  COUNT  LEFT   TOKEN
m1:6379  a:1     2      28.4s  17
m2:6379  a:1     2      28.4s  17
m3:6379  -       -      -      16
m3:6379: restarted: grants nothing for another 12s

held by a:1: 2 of 3 masters say so; free in at most 28.4s unless renewed
`},
		{"without expiry", endless, nil, `
MASTER   HOLDER  COUNT  LEFT   TOKEN
m1:6379  a:1     1      never  -

held by a:1: 1 of 1 masters say so; it never expires
`},
		{"unknown", unknown, redlock.ErrNoQuorum, `
MASTER   HOLDER  COUNT  LEFT  TOKEN
m1:6379  ?       ?      ?     ?
m2:6379  -       -      -     -
m3:6379  ?       ?      ?     ?
m1:6379: connection refused
m3:6379: no answer

unknown: 1 of 3 masters answered, 2 are needed
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := printTable(page{Writer: &out}, c.seen, c.err); err != nil {
				t.Fatal(err)
			}
			if want := c.want[1:]; out.String() != want {
				t.Errorf("printTable:\n%s\nwant\n%s", &out, want)
			}
		})
	}
}

func TestVerdictFree(t *testing.T) {
	for _, c := range []struct {
		name string
		seen redlock.Inspection
		want string
	}{
		{"free", redlock.Inspection{Masters: make([]redlock.MasterState, 3)}, "free: no 2 of 3 masters name the same owner"},
		{
			"on its way out",
			redlock.Inspection{Left: 900 * time.Millisecond, Masters: []redlock.MasterState{{Holder: "a:1"}, {}, {}}},
			"free: no 2 of 3 masters name the same owner; what is left on some masters is gone in at most 900ms",
		},
		{
			"some of it without expiry",
			redlock.Inspection{Left: never, Masters: []redlock.MasterState{{Holder: "a:1", Left: never}, {Holder: "b:1", Left: never}, {}}},
			"free: no 2 of 3 masters name the same owner; what is left on some masters never expires",
		},
		{
			"guarded",
			redlock.Inspection{Masters: []redlock.MasterState{{Guard: 9 * time.Second}, {Guard: 7 * time.Second}, {}}},
			"free: no 2 of 3 masters name the same owner; nobody can take it for another 7s, since masters restarted lately",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := verdict(c.seen, nil); got != c.want {
				t.Errorf("verdict = %q, want %q", got, c.want)
			}
		})
	}
}
