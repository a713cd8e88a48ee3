package script

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// told is what a master told of terms: the run id of their one master, how long ago they were published first
// and last in ms, and by whom.
func told(t *testing.T, reply any) (list []string) {
	t.Helper()
	uses, now, ok := new(Texts).ReadUses(reply)
	if !ok {
		t.Fatalf("the reply %v cannot be read", reply)
	}
	for _, u := range uses {
		text := fmt.Sprintf("%s %d %d %s", u.Masters[0].Run, now-u.First, now-u.Last, u.Client)
		if u.Record != nil {
			text += " " + u.Record.Name
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// TestUses: what a master keeps of the terms of clients.
func TestUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := redlocktest.Start(t, 1)
		m, conn := f.Master(0), f.Pools()[0].Get()
		defer conn.Close()
		terms := func(run string) *Terms { return &Terms{Masters: []Master{NewMaster(run, "")}} }
		do := func(cmd *Command, want ...string) {
			t.Helper()
			words := cmd.Words(nil, false)
			reply, err := conn.Do(words[0].(string), words[1:]...)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(t, reply); !slices.Equal(got, want) {
				t.Errorf("the master knows %q, want %q", got, want)
			}
		}
		record := &Record{Name: "orders"}
		words := record.Publish("A").Words(nil, false)
		if _, err := conn.Do(words[0].(string), words[1:]...); err != nil {
			t.Fatal(err)
		}

		do(LookAtUses())
		do(terms("a").Publish("A", 0), "a 0 0 A")
		do(terms("b").Publish("", 0), "a 0 0 A", "b -1 -1 ") // behind a, in the same millisecond
		do(LookAtUses(), "a 0 0 A orders", "b -1 -1 ")
		do(terms("a").Publish("C", 0), "a 0 0 C", "b -1 -1 ") // who has the same terms shares them
		time.Sleep(40 * time.Second)
		do(terms("b").Publish("", 50_000), "a 40000 40000 C", "b 50000 0 ") // it has used them for longer
		time.Sleep(21 * time.Second)
		do(terms("c").Publish("C", 0), "b 71000 21000 ", "c 0 0 C") // nobody has a any more
		if keys := m.Hash("redlock_sets"); len(keys) != 2 {
			t.Errorf("the master keeps %v, want two terms", keys)
		}
		m.Skew(-time.Hour)
		do(LookAtUses(), "b 0 0 ", "c 0 0 C")
		time.Sleep(time.Minute)
		do(terms("d").Publish("D", 0), "d 0 0 D") // the key itself lives for a minute
	})
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
