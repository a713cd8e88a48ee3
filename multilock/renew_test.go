package multilock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// asked is a hold that remembers what it was told.
type asked struct {
	script.Renewal
	told chan any // time.Duration of validity left, or *MajorityError
}

func newAsked(key, owner string) *asked {
	return &asked{script.Renewal{Owner: script.NewOwner(key, id(owner)), Count: 1, Token: 7}, make(chan any, 2)}
}

func (a *asked) Hold() script.Renewal          { return a.Renewal }
func (a *asked) Renewed(until clock.Instant)   { a.told <- clock.Until(until) }
func (a *asked) NotRenewed(err *MajorityError) { a.told <- err }

func TestRenew(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(b bench)
		want  error // nil: renewed
	}{
		{"all masters", func(bench) {}, nil},
		{"a dead minority", func(b bench) { b.Master(0).Kill(); b.Master(4).Kill() }, nil},
		{"a frozen minority", func(b bench) { b.Master(0).Freeze(); b.Master(4).Freeze() }, nil},
		{"a minority lost it", func(b bench) { b.Master(0).FlushAll(); b.Master(4).FlushAll() }, nil},
		{"dead and lost minority", func(b bench) { b.Master(0).Kill(); b.Master(4).FlushAll() }, nil},
		{"a majority lost it", func(b bench) { b.Master(0).FlushAll(); b.Master(2).FlushAll(); b.Master(4).FlushAll() }, nil},
		{"a majority was forced", func(b bench) {
			for i := range 3 {
				b.m.nodes[i].Send(script.Force("k", 1), nobody{}, i)
			}
		}, ErrLost},
		{"a majority has another owner", func(b bench) {
			for i := range 3 {
				b.Master(i).FlushAll()
				b.Master(i).HSet("k", id("b"), "1")
			}
		}, ErrLost},
		{"a majority is dead", func(b bench) { b.Master(0).Kill(); b.Master(2).Kill(); b.Master(4).Kill() }, ErrNoQuorum},
		{"a majority is frozen", func(b bench) { b.Master(0).Freeze(); b.Master(2).Freeze(); b.Master(4).Freeze() }, ErrNoQuorum},
		{"dead or lost", func(b bench) { b.Master(0).Kill(); b.Master(2).Kill(); b.Master(4).FlushAll() }, nil},
		{"dead or another's", func(b bench) {
			b.Master(0).Kill()
			b.Master(2).Kill()
			b.Master(4).FlushAll()
			b.Master(4).HSet("k", id("b"), "1")
		}, ErrNoQuorum},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, b bench) {
				b.acquire(t, "k", "a")
				time.Sleep(5 * time.Second)
				tt.fault(b)
				synctest.Wait()
				a := newAsked("k", "a")
				b.m.Renew(10*time.Second, []Renewal{a})
				switch got := (<-a.told).(type) {
				case *MajorityError:
					if tt.want == nil || !errors.Is(got, tt.want) {
						t.Errorf("NotRenewed(%v), want %v", got, tt.want)
					}
				case time.Duration:
					if want := clock.Validity(10*time.Second, 0); tt.want != nil || got != want {
						t.Errorf("Renewed with %v left, want %v, %v", got, want, tt.want)
					}
				}
				time.Sleep(time.Second)
				if len(a.told) > 0 {
					t.Errorf("told twice: %v", <-a.told)
				}
			})
		})
	}
}

// One script call renews many holds, and each of them has a vote of its own.
func TestRenewVotesOnEachHold(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		const n = 40
		var holds []Renewal
		for i := range n {
			key := fmt.Sprint("k", i)
			b.acquire(t, key, "a")
			holds = append(holds, newAsked(key, "a"))
		}
		synctest.Wait()
		for i, key := range []string{"k3", "k3", "k4"} {
			b.Master(i % 2).Del(key)
			b.Master(i%2).HSet(key, id("b"), "1")
		}
		before := b.Master(0).Calls("EVALSHA")
		b.m.Renew(10*time.Second, holds)
		for i, h := range holds {
			_, lost := (<-h.(*asked).told).(*MajorityError)
			if lost != (i == 3) {
				t.Errorf("k%d lost = %v", i, lost)
			}
		}
		if calls := b.Master(0).Calls("EVALSHA") - before; calls != 1 {
			t.Errorf("%d script calls for %d holds, want 1", calls, n)
		}
	})
}

// A hold lives on while all masters restart empty, one after another, a guard apart. Each
// gets it back with the first renewal after its guard, and no guarded one does.
func TestRenewHeals(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		const guard = 10 * time.Second
		m := b.another(t, guard)
		time.Sleep(guard + guard/10) // a fresh fleet's guard
		g := take(t, m)
		a := newAsked("k", g.ID)
		renew := func() {
			t.Helper()
			m.Renew(guard, []Renewal{a})
			if got, ok := (<-a.told).(time.Duration); !ok {
				t.Fatalf("renewed for %v, want success", got)
			}
			synctest.Wait()
		}
		for i, master := range b.Masters() {
			master.Restart()
			time.Sleep(2 * time.Second)
			renew()
			if got := master.Holder("k"); got != "" {
				t.Fatalf("m%d, which is guarded, has %s, want nobody", i+1, got)
			}
			for range 6 {
				time.Sleep(guard / 4)
				renew()
			}
			if got := master.Holder("k"); got != g.ID {
				t.Fatalf("m%d has %s, want %s again", i+1, got, g.ID)
			}
		}
		g.At = m.All()
		if err := m.Release(g.Claim, 0).Wait(t.Context()); err != nil {
			t.Errorf("Release = %v", err)
		}
		b.wantHolders(t, "k", "- - -")
	})
}

// A hold that was withdrawn from a batch of renewals, since a Leave came first where the script
// was lost, is not lost. The others of the batch are renewed.
func TestRenewWithdrawn(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		b.acquire(t, "k", "a")
		b.acquire(t, "l", "b")
		for i := range 5 {
			b.Master(i).FlushScripts()
			b.Master(i).Delay(10 * time.Millisecond)
		}
		entered, other := newAsked("k", "a"), newAsked("l", "b")
		b.m.Renew(10*time.Second, []Renewal{entered, other})
		synctest.Wait()
		b.m.Release(Claim{Owner: entered.Owner, Token: 7, At: b.m.All()}, 1)
		err, _ := (<-entered.told).(*MajorityError)
		if err == nil || err.Lost() || !strings.Contains(err.Error(), "withdrawn") {
			t.Errorf("the withdrawn one: told %v, want ErrNoQuorum, since it was withdrawn", err)
		}
		if got, ok := (<-other.told).(time.Duration); !ok {
			t.Errorf("the other: told %v, want that it is renewed", got)
		}
	})
}

// A master that answers for another number of holds, as something between it and the client might,
// has not confirmed any of them, and says so.
func TestRenewOfAnotherNumber(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b bench) {
				holds := []Renewal{newAsked("k", "a"), newAsked("l", "a")}
				r := &round{m: b.m, lease: bidLease, start: clock.Now(), holds: holds, votes: make([]votes, len(holds))}
				r.answers = make([]script.Answer, 1)
				r.Answer(0, script.Answer{Outcome: script.Done, Renewed: slices.Repeat([]script.Renewed{script.Extended}, n)})
				for _, h := range holds {
					err, _ := (<-h.(*asked).told).(*MajorityError)
					if !errors.Is(err, ErrNoQuorum) || !errors.Is(err, errShort) {
						t.Errorf("%s: NotRenewed(%v), want ErrNoQuorum: %v", h.Hold().Key, err, errShort)
					}
				}
			})
		})
	}
}
