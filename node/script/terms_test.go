package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// TestUses: what a master keeps of the terms of clients.
func TestUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := redlocktest.Start(t, 1)
		m, conn := f.Master(0), f.Pools()[0].Get()
		defer conn.Close()
		terms := func(run string) *Terms { return &Terms{Masters: []Master{{Run: run}}} }
		do := func(cmd *Command, want ...string) {
			t.Helper()
			words := cmd.Words(nil, false, false)
			reply, err := conn.Do(words[0].(string), words[1:]...)
			if err != nil {
				t.Fatal(err)
			}
			uses, ok := new(Texts).ReadUses(reply)
			var got []string
			for _, u := range uses {
				got = append(got, fmt.Sprintf("%s %s %d %s", u.State, u.Masters[0].Run, u.Age/1000, u.By))
			}
			if slices.Sort(got); !ok || !slices.Equal(got, want) {
				t.Errorf("the master knows %q, want %q", got, want)
			}
		}
		do(LookAtUses())
		if keys := m.Keys(); len(keys) > 0 {
			t.Errorf("a look leaves %q", keys)
		}
		do(terms("a").Publish(Candidate, "A", ""), "c a 0 A")
		do(terms("a").Publish(Candidate, "B", ""), "c a 0 A", "c a 0 B")
		do(Withdraw("B"), "c a 0 A")
		do(terms("b").Publish(Candidate, "A", ""), "c b 0 A")
		do(terms("a").Publish(Established, "A", ""), "e a 0 A")
		time.Sleep(6 * time.Second)
		do(terms("a").Publish(Established, "C", ""), "e a 0 C") // who has the same terms shares them
		do(Withdraw("A"), "e a 0 C")
		do(terms("b").Publish(Candidate, "D", ""), "c b 0 D", "e a 0 C")
		time.Sleep(6 * time.Second)
		do(LookAtUses(), "e a 6 C") // a candidate has five seconds
		do(terms("b").Publish(Established, "D", terms("a").Text()), "e b 0 D")
		time.Sleep(time.Second)
		m.Skew(-time.Hour)
		do(LookAtUses(), "e b 0 D") // the clock was set back
		time.Sleep(59 * time.Second)
		do(LookAtUses(), "e b 59 D")
		time.Sleep(2 * time.Second)
		do(LookAtUses())
		for _, garbage := range []string{strings.Repeat("x", 1<<20), "e 1 2\nx\n\n", "e 999999999999999999999999 x [\n"} {
			m.Set(setsKey, garbage)
			do(LookAtUses())
			do(terms("a").Publish(Established, "A", ""), "e a 0 A")
		}
		m.Del(setsKey)
		m.HSet(setsKey, "a", "b")
		do(terms("a").Publish(Established, "A", ""), "e a 0 A")
		for i := range 100 {
			words := terms(fmt.Sprint(i)).Publish(Established, "many", "").Words(nil, false, false)
			if _, err := conn.Do(words[0].(string), words[1:]...); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(m.Get(setsKey), "\n"); n != 64 {
			t.Errorf("the master keeps %d uses, want 64", n)
		}
	})
}

// TestTermsAreBounded: what is published is no longer than a few kB, however many sets a process has.
func TestTermsAreBounded(t *testing.T) {
	long := &Terms{Masters: []Master{{Run: "a"}}, Part: "1", Others: map[string][]Master{}}
	for i := range 1000 {
		id := fmt.Sprint("set-", i)
		long.Now, long.Others[id] = append(long.Now, id), []Master{{Run: "b"}, {Run: "c"}}
	}
	record := (&Record{Terms: *long}).Publish("A").Words(nil, false, false)[2].([]byte)
	if n, m := len(long.Text()), len(record); n > longestTerms || m > longestRecord || n == 0 {
		t.Errorf("the terms have %d bytes, and a record %d", n, m)
	}
}

// TestReadRecord: what no client publishes is no record, such as a time that JSON cannot have.
func TestReadRecord(t *testing.T) {
	for text, want := range map[string]bool{
		`{"name":"a","host":"h","pid":1,"since":1795280779002,"at":1795280779002}`: true,
		`{"since":900000000000000000,"at":1}`:                                      false,
		`{"since":1,"at":900000000000000000}`:                                      false,
		`{"since":-1,"at":1}`:                                                      false,
		`{"since":"now"}`:                                                          false,
		`what`:                                                                     false,
	} {
		if _, ok := ReadRecord([]byte(text)); ok != want {
			t.Errorf("ReadRecord(%s): ok = %v, want %v", text, ok, want)
		}
	}
	if _, ok := ReadRecord(nil); ok {
		t.Error("ReadRecord(nil): ok = true")
	}
}
