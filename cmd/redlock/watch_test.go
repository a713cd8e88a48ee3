//go:build unix

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

func TestFrame(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		rows, width int
		first       bool
		want        string
	}{
		{"first", "a\nb\n", 5, 10, true, "\x1b[2J\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J"},
		{"next", "a\n", 5, 10, false, "\x1b[Ha\x1b[K\x1b[J"},
		{"too wide", "0123456789\n", 5, 4, false, "\x1b[H012…\x1b[K\x1b[J"},
		{"too long", "a\nb\nc\nd\n", 3, 20, false, "\x1b[Ha\x1b[K\r\nb\x1b[K\r\n… 2 more lines\x1b[K\x1b[J"},
		{"just long enough", "a\nb\nc\n", 3, 20, false, "\x1b[Ha\x1b[K\r\nb\x1b[K\r\nc\x1b[K\x1b[J"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := frame(c.text, c.rows, c.width, c.first); got != c.want {
				t.Errorf("frame = %q, want %q", got, c.want)
			}
		})
	}
}

// A table is as wide as it must be, and no wider than the page: then some columns are cut.
func TestTable(t *testing.T) {
	rows := [][]string{{"NAME", "HOST", "N", "NOTE"}, {"a-name-that-is-long", "hé", "1", ""}, {"b", "a-host-as-well", "22", "x"}}
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, `
NAME                 HOST            N   NOTE
a-name-that-is-long  hé              1
b                    a-host-as-well  22  x
`},
		{34, `
NAME         HOST         N   NOTE
a-name-tha…  hé           1
b            a-host-as-…  22  x
`},
		{10, `
NAME      HOST      N   NOTE
a-name-…  hé        1
b         a-host-…  22  x
`},
	} {
		wantPrinted(t, c.width, c.want, func(out page) error { return out.table(rows, 0, 1) })
	}
}

// orders and reports are clients for tests of what is printed.
func orders(now time.Time) redlock.ClientInfo {
	return redlock.ClientInfo{
		ID: "11111111-1111-1111-1111-111111111111", Name: "orders-api", Host: "orders-api-7d9f8b6c5d-x2x4z", PID: 4242, Program: "orders", Version: "v1.2.3",
		Since: now.Add(-75 * time.Hour), Seen: 4 * time.Second, Holds: 2, Waits: 1, At: 5,
		Terms: terms("m1 m2 m3 m4 m5"),
	}
}

func reports(now time.Time) redlock.ClientInfo {
	return redlock.ClientInfo{
		ID: "22222222-2222-2222-2222-222222222222", Name: "report.sh", Host: "host-9", PID: 17, Program: "redlock", Version: "(devel)",
		Since: now.Add(-40 * time.Second), Seen: 41 * time.Second, At: 4,
		Terms: terms("m1 m2 m3 m4"),
	}
}

// terms are those of a client of masters with these addresses; ? is one that it is not connected to.
func terms(masters string) redlock.Terms {
	t := redlock.Terms{Lease: 30_000, Guard: 30_000}
	for at := range strings.FieldsSeq(masters) {
		m := redlock.Master{Run: at, Address: at + ":6379"}
		if at == "?" {
			m = redlock.Master{}
		}
		t.Masters = append(t.Masters, m)
	}
	return t
}

func TestPrintClients(t *testing.T) {
	now := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	one, two := orders(now), reports(now)
	third := one
	third.PID, third.Since = 4243, now.Add(-3*time.Hour)
	few := two
	few.Terms, few.Seen = terms("m1 m8 m9"), time.Second
	unsure, long, part, refused := few, few, few, few
	unsure.Terms = terms("m1 ? ? ? ?")
	long.Terms = one.Terms
	long.Terms.Lease, long.Terms.Guard = 300_000, 300_000
	part.Terms.Part, refused.Terms.Refused = "2", true
	east := one
	east.Terms.Part = "1"
	before, moving, after := one, third, third
	before.Terms.Part, moving.Terms.Part, after.Terms.Part = "1", "1", "1"
	before.Terms.Now, moving.Terms.Now, moving.Terms.Next = []string{"1", "2"}, []string{"1", "2"}, []string{"1", "3"}
	after.Terms.Now = moving.Terms.Next
	for _, c := range []struct {
		name string
		all  []redlock.ClientInfo
		code int
		want string
	}{
		{"one set", []redlock.ClientInfo{one, third}, exitOK, `
NAME        HOST                 PID   UP  SEEN  HOLDS  WAITS  SET  AT   VERSION
orders-api  orders-api-7d9f8b6…  4242  3d  4s    2      1      A    5/5  v1.2.3
orders-api  orders-api-7d9f8b6…  4243  3h  4s    2      1      A    5/5  v1.2.3

A: 2 clients use 5 masters: m1:6379, m2:6379, m3:6379, m4:6379 and m5:6379;
leases up to 30s, guard 30s
`},
		{"a change under way", []redlock.ClientInfo{two, one, third}, exitOK, `
NAME        HOST                PID   UP   SEEN  HOLDS  WAITS  SET  AT   VERSION
report.sh   host-9              17    40s  41s   0      0      B    4/4  (devel)
orders-api  orders-api-7d9f8b…  4242  3d   4s    2      1      A    5/5  v1.2.3
orders-api  orders-api-7d9f8b…  4243  3h   4s    2      1      A    5/5  v1.2.3
report.sh on host-9 (pid 17) has not been heard of for 41s: it may be dead

A: 2 clients use 5 masters: m1:6379, m2:6379, m3:6379, m4:6379 and m5:6379;
leases up to 30s, guard 30s
B: 1 client uses 4 masters: m1:6379, m2:6379, m3:6379 and m4:6379; leases up to
30s, guard 30s
A and B have 4 masters in common: each majority of one meets each of the other,
so both are safe together. A change of the masters is under way until one set is
left.
`},
		{"two sets that are not safe", []redlock.ClientInfo{one, few}, exitNo, `
A and B have 1 master in common: NOT SAFE: a majority of one need not meet one
of the other, so two clients may hold the same name at once.
`},
		{"and the second came second", []redlock.ClientInfo{one, refused}, exitOK, `
A and B have 1 master in common: NOT SAFE: a majority of one need not meet one
of the other, so two clients may hold the same name at once. B came second, and
takes no lock.
`},
		{"leases above the guard of others", []redlock.ClientInfo{one, third, long}, exitNo, `
A and B have 5 masters in common: NOT SAFE: B takes leases of 5m0s, and A has a
restart guard of 30s, so two clients may hold the same name at once after
masters restart.
`},
		{"two of several sets", []redlock.ClientInfo{east, part}, exitOK, `
A and B have 1 master in common: they are two of several sets that names are
spread over.
`},
		{"a rollout of sets", []redlock.ClientInfo{before, moving}, exitOK, `
A: 1 client uses 5 masters: m1:6379, m2:6379, m3:6379, m4:6379 and m5:6379;
leases up to 30s, guard 30s; set "1" of the sets 1, 2
B: 1 client uses 5 masters: m1:6379, m2:6379, m3:6379, m4:6379 and m5:6379;
leases up to 30s, guard 30s; set "1" of the sets 1, 2 now and 1, 3 next
A and B have 5 masters in common: the sets that names are spread over are
changing, and names that move are locked in both. A rollout is under way until
all clients have the same.
`},
		{"a rollout that was skipped", []redlock.ClientInfo{before, after}, exitNo, `
A and B have 5 masters in common: NOT SAFE: A spreads names over the sets 1, 2,
and B over the sets 1, 3, so two clients may hold the same name at once in
different sets.
`},
		{"a set that is not known", []redlock.ClientInfo{one, unsure}, exitNo, `
A and B have 1 master in common: some masters are not connected, so it cannot be
told whether majorities always meet. Look again soon.
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := printClients(page{&out, columns}, c.all, now); err != nil {
				t.Fatal(err)
			}
			want := strings.TrimPrefix(c.want, "\n")
			if got := out.String(); got != want && (strings.HasPrefix(want, "NAME") || !strings.HasSuffix(got, want)) {
				t.Errorf("printClients:\n%s\nwant\n%s", got, want)
			}
			for line := range strings.Lines(out.String()) {
				if got := len([]rune(strings.TrimSuffix(line, "\n"))); got > columns {
					t.Errorf("%d columns: %s", got, line)
				}
			}
			if got := clientsCode(c.all); got != c.code {
				t.Errorf("the exit code is %d, want %d", got, c.code)
			}
		})
	}
}

func TestPrintList(t *testing.T) {
	now := time.Now()
	one := orders(now)
	all := redlock.Listing{More: true, Locks: []redlock.Listed{
		{Name: "orders:42", Held: true, Holder: one.ID + ":r7", Client: &one, Count: 2, Left: 28 * time.Second, For: 12 * time.Second, Token: 1795280779002886, Waiting: 3, Masters: 5},
		{Name: "unknown", Held: true, Holder: one.ID + ":r8", Count: 1, Left: never, Token: 17, Masters: 4},
		{Name: "session", Held: true, Holder: one.ID + ":k9", Count: 1, Left: 20 * time.Second, Token: 19, Masters: 5},
		{Name: "index", Held: true, Holder: shared, Readers: 3, Left: 9 * time.Second, Masters: 5},
		{Name: "gpu", Semaphore: true, Held: true, Slots: 1, Left: 9 * time.Second, Masters: 5},
		{Name: "split", Left: 2 * time.Second, Token: 18, Masters: 1},
	}}
	wantPrinted(t, columns, `
NAME       HOLDER              COUNT      FOR  LEFT   WAIT  AT  TOKEN
orders:42  orders-api@orders…  2          12s  28s    3     5   1795280779002886
unknown    11111111:r8         1          -    never  0     4   17
session    11111111:k9         1 or kept  -    20s    0     5   19
index      3 readers           -          -    9s     0     5   -
gpu        1 permit            -          -    9s     0     5   -
split      (no majority)       -          -    2s     0     1   18

There may be more: narrow it down with a pattern, or raise --limit.
`, func(out page) error { return printList(out, all) })
}

// redlock list and redlock clients say what a command that holds something is.
func TestListAndClients(t *testing.T) {
	_, flags := masters(t, 3)
	i, _, told := holding(t, line("hold", flags, "n", "--client-name", "nightly-report")...)
	known(t, flags, i)
	list := command(t, append([]string{"list"}, flags...)...).start().wantCode(0)
	list.wantOutput("n ", "nightly-report@", fmt.Sprintf(":%d ", i.cmd.Process.Pid), "  3   "+told)
	command(t, append([]string{"list", "m*"}, flags...)...).start().wantCode(exitNo)
	clients := command(t, append([]string{"clients"}, flags...)...).start().wantCode(0)
	clients.wantOutput("nightly-report ", fmt.Sprintf(" %d ", i.cmd.Process.Pid), " 3/3 ", "A: 1 client uses 3 masters: ")
	for _, args := range [][]string{{"list", "--json"}, {"clients", "--json"}} {
		command(t, append(args, flags...)...).start().wantCode(0).wantOutput(`"name": "nightly-report"`)
	}
}
