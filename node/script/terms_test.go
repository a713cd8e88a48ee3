package script

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
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
			words := cmd.Words(nil, false)
			reply, err := conn.Do(words[0].(string), words[1:]...)
			check.OK(t, err)
			uses, ok := ReadUses(reply)
			var got []string
			for _, u := range uses {
				got = append(got, u.Masters[0].Run+" "+u.By)
			}
			slices.Sort(got)
			check.That(t, ok && slices.Equal(got, want), "the master knows %q, want %q", got, want)
		}
		do(LookAtUses())
		check.Equal(t, strings.Join(m.Keys(), " "), "", "keys while nobody uses the master")
		do(PublishTerms("A", terms("a").Text(), 5*time.Second, time.Time{}, true))
		do(PublishTerms("B", terms("b").Text(), time.Minute, time.Time{}, true), "a A")
		do(LookAtUses(), "a A") // it is not alone, and has published nothing
		do(PublishTerms("C", terms("a").Text(), time.Minute, time.Time{}, true))
		do(PublishTerms("A", terms("b").Text(), time.Minute, time.Time{}, true), "a C")
		time.Sleep(6 * time.Second)
		do(LookAtUses(), "a C")
		do(PublishTerms("A", terms("a").Text(), time.Minute, time.Time{}, true))
		do(Withdraw("C"), "a A") // A has them as well
		do(PublishTerms("A", terms("b").Text(), time.Minute, time.Time{}, false))
		do(LookAtUses(), "b A") // nobody has those of before
		do(Withdraw("A"))
		check.Equal(t, strings.Join(m.Keys(), " "), "", "keys while nobody uses the master")
		do(PublishTerms("A", terms("a").Text(), time.Minute, time.Time{}, false))
		time.Sleep(50 * time.Second)
		do(PublishTerms("B", terms("a").Text(), 20*time.Second, time.Time{}, false))
		do(LookAtUses(), "a B")
		time.Sleep(15 * time.Second)
		do(Withdraw("B")) // A was killed
		do(PublishTerms("A", terms("a").Text(), time.Minute, time.Time{}, false))
		m.Skew(-2 * time.Minute)
		do(LookAtUses()) // its clock went back, and A would count for three minutes
		m.Skew(0)
		do(PublishTerms("A", terms("a").Text(), time.Hour, time.Time{}, false))
		do(LookAtUses()) // forged
		do(PublishTerms("A", terms("a").Text(), time.Minute, time.Now().Add(-70*time.Second), false))
		do(LookAtUses()) // it came so late that the client may have ended
		do(PublishTerms("A", terms("a").Text(), time.Minute, time.Now().Add(-20*time.Second), false))
		do(PublishTerms("A", terms("a").Text(), time.Minute, time.Now().Add(-40*time.Second), false))
		time.Sleep(40 * time.Second)
		do(LookAtUses(), "a A")
		time.Sleep(2 * time.Second)
		do(LookAtUses())
		for _, garbage := range []string{strings.Repeat("x", 1<<20), "e 1 2\nx\n\n", "x [\n"} {
			m.Set(setsKey, garbage)
			do(LookAtUses())
			do(PublishTerms("A", terms("a").Text(), time.Minute, time.Time{}, false))
			do(LookAtUses(), "a A")
		}
		with := fmt.Sprintf("%s:%x", setsKey, sha1.Sum([]byte(terms("a").Text())))
		_, err := conn.Do("ZADD", with, time.Now().Add(90*time.Second).UnixMilli(), strings.Repeat("x", 1<<20))
		check.OK(t, err)
		do(LookAtUses(), "a "+strings.Repeat("x", uuidSize)) // a reply that is too long would end the connection
		m.Del(with)
		m.Del(setsKey)
		m.HSet(setsKey, "a", "b")
		do(PublishTerms("A", terms("a").Text(), time.Minute, time.Time{}, false))
		do(LookAtUses(), "a A")
		for i := range 100 {
			words := PublishTerms(fmt.Sprint("many", i), terms(fmt.Sprint(i)).Text(), time.Minute, time.Time{}, false).Words(nil, false)
			_, err := conn.Do(words[0].(string), words[1:]...)
			check.OK(t, err)
		}
		check.Equal(t, strings.Count(m.Get(setsKey), "\n"), 64, "uses that the master keeps")
	})
}

// TestTermsAreBounded: what is published is no longer than a few kB, however many sets a process has, and lists that
// differ are told from one another.
func TestTermsAreBounded(t *testing.T) {
	long := &Terms{Masters: []Master{{Run: "a"}}, Part: "1", Others: map[string][]Master{}}
	var ids []string
	for i := range 1000 {
		id := fmt.Sprint("set-", i)
		ids, long.Others[id] = append(ids, id), []Master{{Run: "b"}, {Run: "c"}}
	}
	long.Now, long.Next = Sets(ids), Sets(ids[:999])
	for _, list := range [][]string{long.Now, long.Next} {
		quoted := strconv.Quote(list[0])
		check.That(t, len(list) == 1 && strings.Contains(long.Text(), quoted), "the terms have no %s", quoted)
	}
	one, other := Sets(ids[:999]), Sets(ids[1:])
	check.That(t, slices.Equal(one, long.Next) && !slices.Equal(one, other), "%s and %s stand for %s and another list", one, other, long.Next)
	check.Equal(t, strings.Join(Sets(ids[:9]), " "), strings.Join(ids[:9], " "), "the IDs of nine sets")
	record := (&Record{Terms: *long}).Publish("A").Words(nil, false)[2].([]byte)
	n, m := len(long.Text()), len(record)
	check.That(t, n <= longestTerms && m <= longestRecord && n != 0, "the terms have %d bytes, and a record %d", n, m)
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
		_, ok := ReadRecord([]byte(text))
		check.Equal(t, ok, want, "ReadRecord(%s) is one", text)
	}
	_, ok := ReadRecord(nil)
	check.Equal(t, ok, false, "ReadRecord(nil) is one")
}
