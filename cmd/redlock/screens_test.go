//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/redlock/doctor"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

// TestScreens: what is printed of masters, locks and clients that a person might have, word for word, is in
// testdata/screens.txt. It is 80 columns wide.
func TestScreens(t *testing.T) {
	var got strings.Builder
	for _, s := range slices.Concat(tables(), inspections(), permitInspections(), clientele(), []printed{list()}, examined(), reasons()) {
		out := page{width: s.width}
		s.print(&out)
		fmt.Fprintf(&got, "# %s\n%s\n", s.when, &out)
	}
	const file = "testdata/screens.txt"
	if *update {
		check.OK(t, os.WriteFile(file, []byte(got.String()), 0o600))
	}
	if want := check.File(t, file); got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
	for line := range strings.Lines(got.String()) {
		check.AtMost(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), columns, "columns of %s", line)
	}
}

// TestColumnsAreExplained: the help of each command says what each column of its tables means.
func TestColumnsAreExplained(t *testing.T) {
	command, heading := regexp.MustCompile(`^\w+`), regexp.MustCompile(`(?m)^[A-Z]+(  +[A-Z]+)+$`)
	for _, screen := range strings.Split("\n"+check.File(t, "testdata/screens.txt"), "\n# ")[1:] {
		of := command.FindString(screen)
		for word := range strings.FieldsSeq(strings.Join(heading.FindAllString(screen, -1), " ")) {
			check.That(t, of == "table" || strings.Contains(manual(of+" notes"), "  "+word+" "), "redlock help %s does not explain %s", of, word)
		}
	}
}

// printed is what one command prints where a table may be so wide.
type printed struct {
	when  string
	width int
	print func(*page)
}

func tables() (all []printed) {
	rows := [][]string{{"NAME", "HOST", "N", "NOTE"}, {"a-name-that-is-long", "hé", "1", ""}, {"b", "a-host-as-well", "22", "x"}}
	for _, width := range []int{0, 34, 10} {
		all = append(all, printed{fmt.Sprintf("table: %d columns wide", width), width, func(p *page) { p.table(rows, 0, 1) }})
	}
	return all
}

func list() printed {
	one := orders()
	return printed{"list", columns, func(p *page) {
		p.list(listing{more: true, locks: []redlockadmin.Listed{
			{Name: "orders:42", Held: true, Holder: one.ID + ":r7", Client: &one, Count: 2, Remaining: 28 * time.Second, HeldFor: 12 * time.Second, Token: 1795280779002886, Waiting: 3, Masters: 5},
			{Name: "unknown", Held: true, Holder: one.ID + ":r8", Count: 1, Remaining: never, Token: 17, Masters: 4},
			{Name: "session", Held: true, Holder: one.ID + ":k9", Count: 1, Remaining: 20 * time.Second, Masters: 5},
			{Name: "index", Held: true, Holder: shared, Readers: 3, Remaining: 9 * time.Second, Masters: 5},
			{Name: "gpu", Semaphore: true, Held: true, Slots: 1, Remaining: 9 * time.Second, Masters: 5},
			{Name: "split", Remaining: 2 * time.Second, Token: 18, Masters: 1},
		}})
	}}
}

func inspections() []printed {
	lock := func(when string, seen redlockadmin.Inspection, err error, masters ...redlockadmin.MasterState) printed {
		for i := range masters {
			masters[i].Master = fmt.Sprintf("m%d:6379", i+1)
		}
		seen.Masters = masters
		return printed{"inspect: " + when, 0, lockSight(seen, err).print}
	}
	const s = time.Second
	has := redlockadmin.MasterState{Holder: "a:1", Count: 2, Remaining: 28400 * time.Millisecond, Token: 17}
	guarded := func(left time.Duration) redlockadmin.MasterState {
		return redlockadmin.MasterState{Guard: left, Token: 16}
	}
	reader := redlockadmin.Reader{Owner: "a:r1", Remaining: 9 * s}
	one := redlockadmin.MasterState{Holder: shared, Remaining: 9 * s, Token: 5, Readers: []redlockadmin.Reader{reader}}
	two := one
	one.Queue = []redlockadmin.Waiter{{Owner: "b:r1"}, {Owner: "c:r7", Shared: true}}
	two.Queue = []redlockadmin.Waiter{{Owner: "c:r7", Shared: true}}
	free, silent, dead := redlockadmin.MasterState{}, redlockadmin.MasterState{Err: errors.New("no answer")}, redlockadmin.MasterState{Err: errors.New("m1:6379: connection refused")}
	endless := redlockadmin.MasterState{Holder: "a:1", Count: 1, Remaining: never}
	return []printed{
		lock("held", redlockadmin.Inspection{Held: true, Holder: "a:1", Remaining: has.Remaining}, nil, has, has, guarded(12*s)),
		lock("held without expiry", redlockadmin.Inspection{Held: true, Holder: "a:1", Remaining: never}, nil, endless),
		lock("too few answer", redlockadmin.Inspection{}, redlock.ErrNoQuorum, dead, free, silent),
		lock("readers and a queue", redlockadmin.Inspection{Held: true, Holder: shared, Remaining: 9 * s, Readers: []redlockadmin.Reader{reader}}, nil, one, two, silent),
		lock("free", redlockadmin.Inspection{}, nil, free, free, free),
		lock("on its way out", redlockadmin.Inspection{Remaining: has.Remaining}, nil, has, free, free),
		lock("some of it without expiry", redlockadmin.Inspection{Remaining: never}, nil, endless, has, free),
		lock("guarded", redlockadmin.Inspection{}, nil, guarded(9*s), guarded(7*s), free),
	}
}

func permitInspections() []printed {
	permits := func(when string, seen redlockadmin.SemaphoreInspection, err error) printed {
		return printed{"inspect --permits: " + when, 0, permitsSight(seen, err).print}
	}
	taken := []redlockadmin.Slot{{Number: 2, Owner: "a:r1", Remaining: 1500 * time.Millisecond, HeldFor: 12 * time.Second, Token: 7}}
	masters := []redlockadmin.SemaphoreState{
		{Master: "m1", Slots: taken, Queue: []redlockadmin.Waiter{{Owner: "b:r1"}, {Owner: "c:r7", Slot: 2}, {Owner: "b:r2", Slot: 3}}},
		{Master: "m2", Slots: taken, Queue: []redlockadmin.Waiter{{Owner: "b:r2", Slot: 3}}},
		{Master: "m3", Guard: 3 * time.Second},
		{Master: "m4", Err: errors.New("m4: no answer")},
	}
	return []printed{
		permits("held", redlockadmin.SemaphoreInspection{Slots: taken, Masters: masters}, nil),
		permits("too few answer", redlockadmin.SemaphoreInspection{Masters: masters[3:]}, redlock.ErrNoQuorum),
		permits("free", redlockadmin.SemaphoreInspection{Masters: masters[2:3]}, nil),
		{"inspect --permits --json: too few answer", 0, func(p *page) {
			p.json(permitsSight(redlockadmin.SemaphoreInspection{Name: "gpu", Masters: masters[1:]}, redlock.ErrNoQuorum).report)
		}},
	}
}

// clientele has clients whose masters, leases and sets go together, or not.
func clientele() []printed {
	clients := func(when string, all ...redlock.ClientInfo) printed {
		return printed{"clients: " + when, columns, func(p *page) {
			sets := setsInUse(all)
			p.clients(all, sets, now)
			fmt.Fprintf(p, "exit code %d\n", clientsCode(sets))
		}}
	}
	one, two := orders(), reports()
	third := one
	third.PID, third.Since = 4243, now.Add(-3*time.Hour)
	ahead := one
	ahead.PID, ahead.Since = 4244, now.Add(5*time.Second) // by its clock
	few := two
	few.Terms, few.Seen = terms("m1 m8 m9"), time.Second
	unsure, long, part := few, few, few
	unsure.Terms = terms("m1 ? ? ? ?")
	long.Terms = one.Terms
	long.Terms.Lease, long.Terms.Guard = 5*time.Minute, 5*time.Minute
	part.Terms.Part = "2"
	dead := one
	dead.Terms = terms("m1 m2 m3 m4 m5")
	dead.Terms.Masters[4].Run = "" // long gone
	east := one
	east.Terms.Part = "1"
	before, moving, after := one, third, third
	before.Terms.Part, moving.Terms.Part, after.Terms.Part = "1", "1", "1"
	before.Terms.Now, moving.Terms.Now, moving.Terms.Next = []string{"1", "2"}, []string{"1", "2"}, []string{"1", "3"}
	after.Terms.Now = moving.Terms.Next
	stays, upgraded := one, third
	stays.Terms.Layout, upgraded.Terms.Layout = 1, 2
	return []printed{
		clients("one set", one, third, ahead),
		clients("a change under way", two, one, third),
		clients("two sets that are not safe", one, few),
		clients("a dead master", one, dead),
		clients("leases above the guard of others", one, third, long),
		clients("two of several sets", east, part),
		clients("a rollout of sets", before, moving),
		clients("a rollout that was skipped", before, after),
		clients("a set that is not known", one, unsure),
		clients("another layout", stays, upgraded),
		{"clients --json: other leases alone", 0, func(p *page) {
			all := []redlock.ClientInfo{one, long}
			p.json(clientsReport(all, setsInUse(all)))
		}},
	}
}

// now is when clients are looked at.
var now = time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)

func orders() redlock.ClientInfo {
	return redlock.ClientInfo{
		ID: "11111111-1111-1111-1111-111111111111", Name: "orders-api", Host: "orders-api-7d9f8b6c5d-x2x4z", PID: 4242, Program: "orders", Version: "v1.2.3",
		Since: now.Add(-75 * time.Hour), Seen: 4 * time.Second, Holds: 2, Waits: 1, At: 5,
		Terms: terms("m1 m2 m3 m4 m5"),
	}
}

func reports() redlock.ClientInfo {
	return redlock.ClientInfo{
		ID: "22222222-2222-2222-2222-222222222222", Name: "report.sh", Host: "host-9", PID: 17, Program: "redlock", Version: "(devel)",
		Since: now.Add(-40 * time.Second), Seen: 41 * time.Second, At: 4,
		Terms: terms("m1 m2 m3 m4"),
	}
}

// terms are those of a client of masters with these addresses; ? is one that it is not connected to.
func terms(masters string) redlock.Terms {
	t := redlock.Terms{Lease: 30 * time.Second, Guard: 30 * time.Second}
	for at := range strings.FieldsSeq(masters) {
		m := redlock.Master{Run: at, Address: at + ":6379"}
		if at == "?" {
			m = redlock.Master{}
		}
		t.Masters = append(t.Masters, m)
	}
	return t
}

func reasons() []printed {
	why := func(when string, r reason) printed {
		return printed{"waiting: " + when, columns, func(p *page) { p.say(r.String()) }}
	}
	orders := &redlock.ClientInfo{Name: "orders-api", Host: "host-7", PID: 4242}
	queue := func(owners ...string) (state redlockadmin.MasterState) {
		for _, owner := range owners {
			state.Queue = append(state.Queue, redlockadmin.Waiter{Owner: owner})
		}
		return state
	}
	readers := []redlockadmin.Reader{{Owner: "a:r1", Client: orders}, {Owner: "b:r1"}}
	slots := []redlockadmin.Slot{{Owner: "a:r1"}, {Owner: "b:r1"}, {Owner: "c:r1", Client: orders}, {Owner: "d:r1"}, {Owner: "e:r1"}}
	return []printed{
		why("third in line, as most say", whyNotLocked(redlockadmin.Inspection{
			Name: "nightly", Holder: "a:r1", Client: orders, HeldFor: 12300 * time.Millisecond,
			Masters: []redlockadmin.MasterState{queue("x:r1", "y:r1", "me:r1"), queue("x:r1", "y:r1", "me:r1"), queue("me:r1")},
		}, "me")),
		why("next in line", whyNotLocked(redlockadmin.Inspection{Name: "n", Holder: "a:r1", Masters: []redlockadmin.MasterState{queue("me:r2"), {}, {}}}, "me")),
		why("readers", whyNotLocked(redlockadmin.Inspection{Name: "n", Holder: shared, Readers: readers}, "me")),
		why("five permits", whyNoPermit(redlockadmin.SemaphoreInspection{Name: "gpu", Slots: slots}, "me")),
		why("one permit", whyNoPermit(redlockadmin.SemaphoreInspection{Name: "gpu", Slots: slots[:1]}, "me")),
	}
}

// examined is what doctor says of what it found.
func examined() []printed {
	masters := []string{"m1:6379", "m2:6379", "m3:6379"}
	found := func(when string, granting int, findings ...doctor.Finding) printed {
		report := doctor.Report{Masters: masters, Granting: granting, Needed: 2, Findings: findings}
		return printed{"doctor: " + when, columns, func(p *page) { p.screen(report) }}
	}
	const lacks = "see below what each of the others lacks"
	return []printed{
		found("nothing is wrong", 3,
			doctor.Finding{ID: "quorum", Verdict: "3 of 3 masters can grant a lock, and 2 are needed"},
			doctor.Finding{ID: "clock-rate", Verdict: "all kept pace for 2s, within the 22ms that leases allow for, which is a long sentence"}),
		found("one is dead", 2,
			doctor.Finding{ID: "reachable", Severity: doctor.Warning, Masters: masters[2:], Verdict: "connect: connection refused", Remedy: "start it, or correct the address"}),
		found("one master evicts, and one is dead", 2,
			doctor.Finding{ID: "quorum", Severity: doctor.Warning, Verdict: "2 of 3 masters can grant a lock, and 2 are needed: none of these may fail", Remedy: lacks},
			doctor.Finding{ID: "reachable", Severity: doctor.Warning, Masters: masters[2:], Verdict: "connect: connection refused", Remedy: "start it, or correct the address"},
			doctor.Finding{ID: "eviction-policy", Severity: doctor.Error, Masters: masters[:2], Verdict: "maxmemory-policy is allkeys-lru, and 97% of maxmemory (100 MB) are used: to evict a lock is to unlock it", Remedy: "CONFIG SET maxmemory-policy noeviction, also in redis.conf"},
			doctor.Finding{ID: "unseen", Severity: doctor.Note, Masters: masters, Verdict: "SCAN refused (NOPERM): doctor did not see locks of other libraries", Remedy: "run doctor as a user that may, see docs/doctor.md"},
			doctor.Finding{ID: "redisson", Severity: doctor.Note, Masters: masters[:1], Verdict: `clients of Redisson have "a", and share names with ours`, Remedy: "see docs/migrating.md"}),
		found("a majority is dead", 1,
			doctor.Finding{ID: "quorum", Severity: doctor.Error, Verdict: "1 of 3 masters can grant a lock, and 2 are needed: nobody gets one", Remedy: lacks}),
	}
}
