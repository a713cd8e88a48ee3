package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

func TestInspect(t *testing.T) {
	fleet, flags := masters(t, 5)
	hold := take(t, fleet, "n")
	fleet.Master(4).Kill()
	i := command(t, line("inspect", flags, "n")...).start().wantCode(0)
	naming := 0
	for row := range strings.Lines(i.stdout.String()) {
		if strings.Contains(row, short(hold.Owner())) && strings.Contains(row, fmt.Sprint(hold.Token())) {
			naming++
		}
	}
	if said := hold.Owner() + ": 4 of 5 masters say so"; naming != 4 || !strings.Contains(i.stdout.String(), said) {
		t.Errorf("%d lines name holder and token, want 4, and %q:\n%s", naming, said, &i.stdout)
	}

	i = command(t, line("inspect", flags, "--json", "n")...).start().wantCode(0)
	var got inspection
	if err := json.Unmarshal([]byte(i.stdout.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "n" || got.Held == nil || !*got.Held || got.Holder != hold.Owner() || got.LeftMS <= 0 || len(got.Masters) != 5 {
		t.Fatalf("inspect --json: %+v", got)
	}
	for k, m := range got.Masters {
		has := m.Holder == hold.Owner() && m.Count == 1 && m.LeftMS > 0 && m.Token == hold.Token() && m.Error == ""
		if has != (k < 4) || !has && (m.Holder != "" || m.Error == "") {
			t.Errorf("inspect --json: %+v", m)
		}
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
	reader := redlock.Reader{Owner: "a:r1", Left: 9 * time.Second}
	state := redlock.MasterState{Holder: shared, Left: 9 * time.Second, Token: 5, Readers: []redlock.Reader{reader}}
	one, two, three := state, state, redlock.MasterState{Err: errors.New("m3: no answer")}
	one.Master, two.Master, three.Master = "m1", "m2", "m3"
	one.Queue = []redlock.Waiter{{Owner: "b:r1"}, {Owner: "c:r7", Shared: true}}
	two.Queue = []redlock.Waiter{{Owner: "c:r7", Shared: true}}
	readers := redlock.Inspection{
		Name: "n", Held: true, Holder: shared, Left: 9 * time.Second, Readers: []redlock.Reader{reader},
		Masters: []redlock.MasterState{one, two, three},
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
		{"readers and a queue", readers, nil, `
MASTER  HOLDER    COUNT  LEFT  TOKEN
m1      1 reader  -      9s    5
m2      1 reader  -      9s    5
m3      ?         ?      ?     ?
m3: no answer

held by 1 reader: 2 of 3 masters say so; free in at most 9s unless renewed

READER  LEFT
a:r1    9s

WAITER  FOR       MASTERS
b:r1    the lock  1 of 3
c:r7    reading   2 of 3
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantPrinted(t, 0, c.want, func(out page) error { return printTable(out, c.seen, c.err) })
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
