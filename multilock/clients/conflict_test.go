package clients

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestWhatARestartExplains: an established client reports terms that conflict with its own once it has seen them
// for 25 s, and that they are gone. It goes on.
func TestWhatARestartExplains(t *testing.T) {
	for _, tt := range []struct {
		name string
		seen []bool // every 18 s
		want int    // messages
	}{
		{"nobody uses them any more", []bool{true, true, false}, 0},
		{"they are used on", []bool{true, true, true, true}, 1},
		{"and then no more", []bool{true, true, true, false, false}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, log := directoryOf(t, redlocktest.Start(t, 3))
				d.id.Record.Name = "test"
				d.sets.mu.Lock()
				own := d.ownTermsLocked(clock.Now())
				theirs := &terms.Terms{Guard: 30_000, Masters: []terms.Master{own.Masters[0], {Run: "x"}, {Run: "y"}}}
				for _, seen := range tt.seen {
					now := clock.Now()
					d.standing.Heard(&terms.Step{Of: 3, Told: 3, Sent: now, Now: now})
					reply := []any{}
					if seen {
						reply = []any{[]byte("other"), []byte(theirs.Text())}
					}
					d.toldLocked(0, script.Answer{Outcome: script.Done, Reply: reply}, own, now)
					d.compareLocked(now)
					check.That(t, d.standing.Established(now), "the client is established no more")
					time.Sleep(18 * time.Second)
				}
				d.sets.mu.Unlock()
				got := strings.Count(log.String(), "conflict")
				check.That(t, got == tt.want, "the log has %d messages, want %d:\n%s", got, tt.want, log)
			})
		})
	}
}

// TestWhatEstablishesNobody: what publishes nothing is no step to a lock, though nobody conflicts. Nor is what published
// terms that are out of date once the masters have told.
func TestWhatEstablishesNobody(t *testing.T) {
	for name, tt := range map[string]struct {
		do   terms.Do
		then func(*redlocktest.Master)
	}{
		"a look":            {terms.Look, func(*redlocktest.Master) {}},
		"terms out of date": {terms.Join, (*redlocktest.Master).Restart},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet := redlocktest.Start(t, 3)
				d := introduced(t, fleet)
				r := d.hear(t.Context(), tt.do, t.Context())
				tt.then(fleet.Master(2))
				time.Sleep(time.Second) // connected again
				next := d.heard(r, false)
				check.That(t, next == terms.Stay && !d.Admitted(), "the next step is %v, and the client established: %v; want Stay, and false", next, d.Admitted())
			})
		})
	}
}

// TestWhoMeetsAMasterTakesNoLock: a client that is connected to a master for the first time is established no more, since that
// master may know of others.
func TestWhoMeetsAMasterTakesNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		fleet.Master(2).Kill()
		d := introduced(t, fleet)
		d.standing.Lease = time.Minute
		check.OK(t, d.Admit(t.Context(), "lock", "a"))
		fleet.Master(2).Restart()
		time.Sleep(10 * time.Second)
		check.Equal(t, d.Admitted(), true, "established, before it looks at what it is connected to")
		d.sets.mu.Lock()
		d.ownTermsLocked(clock.Now())
		d.sets.mu.Unlock()
		check.Equal(t, d.Admitted(), false, "established, once it has met another master")
	})
}

// TestWhoIsRefusedTakesBackItsTerms: but for one that holds something, which others have to know.
func TestWhoIsRefusedTakesBackItsTerms(t *testing.T) {
	for holds, left := range map[holding]bool{0: false, 1: true} {
		synctest.Test(t, func(t *testing.T) {
			fleet := redlocktest.Start(t, 3)
			d := introduced(t, fleet)
			d.own = holds
			r := d.hear(t.Context(), terms.Stay, t.Context())
			before := len(fleet.Master(0).Keys())
			d.sets.mu.Lock()
			own := d.ownTermsLocked(clock.Now())
			theirs := &terms.Terms{Masters: []terms.Master{own.Masters[0], {Run: "x"}, {Run: "y"}}}
			d.toldLocked(0, script.Answer{Outcome: script.Done, Reply: []any{[]byte("y"), []byte(theirs.Text())}}, own, clock.Now())
			d.sets.mu.Unlock()
			d.heard(r, false)
			synctest.Wait()
			check.That(t, r.facts.Refused, "the client is not refused")
			check.Equal(t, len(fleet.Master(0).Keys()) == before, left, "a client with %d holds leaves its terms there", holds)
		})
	}
}

// TestTheGuardOfOthers: a client that takes no lock goes by the longest guard of those who do, as long as they were told of
// lately.
func TestTheGuardOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		other := introduced(t, fleet)
		other.id.Guard = time.Minute
		other.hear(t.Context(), terms.Stay, t.Context())
		d := introduced(t, fleet)
		d.id.Guard = time.Second
		check.Equal(t, d.Guard(t.Context()), time.Minute, "the guard of others")
		time.Sleep(script.RecordLife + time.Second)
		check.Equal(t, d.Guard(t.Context()), time.Second, "the guard, when nothing was told of others lately")
	})
}

// TestOnlyWhatWasPublishedProlongsATerm: what masters answer to a look does not say that they have kept the terms.
func TestOnlyWhatWasPublishedProlongsATerm(t *testing.T) {
	for _, published := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := introduced(t, redlocktest.Start(t, 3))
			check.OK(t, d.Admit(t.Context(), "lock", "k"))
			time.Sleep(terms.Term(0) / 2)
			to := d.receiver(d.ownTermsLocked(clock.Now()), clock.Now(), published)
			for i := range d.All.Nodes {
				to.Answer(i, script.Answer{Outcome: script.Done, Reply: []any{}})
			}
			time.Sleep(terms.Term(0) * 3 / 4)
			check.Equal(t, d.Admitted(), published, "established beyond its term, by answers to what was published (%v)", published)
		})
	}
}

// TestAJoinPublishesNothingBesideOthers: a newcomer that finds other terms at a master publishes its own there only once it
// knows that they fit.
func TestAJoinPublishesNothingBesideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		other := introduced(t, fleet)
		other.id.Lease = time.Minute
		other.hear(t.Context(), terms.Stay, t.Context())
		before := fleet.Master(0).Keys()
		d := introduced(t, fleet)
		for _, tt := range []struct {
			do    terms.Do
			again bool
			keys  int // more than before
		}{
			{terms.Join, true, 0},
			{terms.Stay, false, 1},
		} {
			r := d.hear(t.Context(), tt.do, t.Context())
			check.Equal(t, r.facts.Again, tt.again, "after %v, its terms are yet to be published", tt.do)
			check.Equal(t, len(fleet.Master(0).Keys())-len(before), tt.keys, "after %v, more keys at a master", tt.do)
		}
	})
}

// TestWhoWasEstablishedJustNowIsSilent: what the look published is not published again with the next checks.
func TestWhoWasEstablishedJustNowIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		d, _ := directoryOf(t, fleet)
		d.Introduce(Identity{Record: script.Record{Name: "test"}, Lease: time.Minute}, Part{Of: new(Sets)})
		check.OK(t, d.Admit(t.Context(), "lock", "k"))
		synctest.Wait()
		before := fleet.Master(0).Calls("EVAL")
		time.Sleep(5 * time.Second)
		check.Equal(t, fleet.Master(0).Calls("EVAL")-before, 0, "script calls in the next seconds")
		time.Sleep(15 * time.Second)
		check.Equal(t, fleet.Master(0).Calls("EVAL")-before, 1, "script calls until it has refreshed its terms")
	})
}

// TestWhoHasRetractedPublishesNoMore: what is taken back before the connections are closed stays so.
func TestWhoHasRetractedPublishesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		d, _ := directoryOf(t, fleet)
		d.Introduce(Identity{Record: script.Record{Name: "test"}, Lease: time.Minute}, Part{Of: new(Sets)})
		check.OK(t, d.Admit(t.Context(), "lock", "k"))
		d.Retract()
		time.Sleep(20 * time.Second) // a beat
		check.Equal(t, len(fleet.Master(0).Keys()), 0, "keys at a master")
	})
}

// TestALookThatCloseOvertakesLeavesNothing: what was heard before Close, and is taken in after it, publishes no record.
func TestALookThatCloseOvertakesLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		d := introduced(t, fleet)
		r := d.hear(t.Context(), terms.Join, t.Context())
		d.All.Shut()
		d.All.Settle()
		d.Retract()
		d.heard(r, false)
		synctest.Wait()
		keys := fleet.Master(0).Keys()
		check.That(t, len(keys) == 0, "a master has %q, want nothing", keys)
	})
}

// TestAFirstLookIsAsPatientAsTheProcessIsAwake: while a process is short of CPU, its first look goes on waiting for the last
// of its masters.
func TestAFirstLookIsAsPatientAsTheProcessIsAwake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan func(), 1)
		real := afterAwake
		afterAwake = func(_ time.Duration, f func()) func() {
			end <- f
			return func() {}
		}
		defer func() { afterAwake = real }()
		fleet := redlocktest.Start(t, 3)
		fleet.Master(2).Freeze()
		d, _ := directoryWithin(t, fleet, time.Minute)
		d.id.Record.Name, d.by = "test", "x"
		admitted := make(chan error, 1)
		go func() { admitted <- d.Admit(t.Context(), "lock", "a") }()
		time.Sleep(longestReturn * 3 / 2)
		check.That(t, !d.Admitted(), "it has looked without the last master")
		select {
		case f := <-end:
			f()
		default:
		}
		check.OK(t, <-admitted, "Admit once it had been awake for long enough")
	})
}

// TestALookElsewhere: the look for a lock at one set of a process publishes the terms of a newcomer at its other sets as
// well, and asks nobody where the process is established. It only looks where others were found to conflict, and where a
// term has ended: such a client gives its masters time to come back before it is established again.
func TestALookElsewhere(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    terms.Do // the next step at the other set
		stand func(t *testing.T, d *Directory)
		want  string
	}{
		{"a newcomer", terms.Join, func(*testing.T, *Directory) {}, "publishes"},
		{"a newcomer beside others that fit", terms.Stay, func(*testing.T, *Directory) {}, "publishes"},
		{"established", terms.Join, func(t *testing.T, d *Directory) {
			check.OK(t, d.Admit(t.Context(), "lock", "a"))
		}, "asks nobody"},
		{"its term has ended", terms.Join, func(t *testing.T, d *Directory) {
			check.OK(t, d.Admit(t.Context(), "lock", "a"))
			time.Sleep(2 * time.Minute)
		}, "looks"},
		{"refused a moment ago", terms.Join, func(_ *testing.T, d *Directory) {
			d.standing.Heard(&terms.Step{Of: 3, Told: 3, Now: clock.Now(), Refused: true, Pause: time.Second})
		}, "looks"},
		{"refused by the step before", terms.Ended, func(*testing.T, *Directory) {}, "looks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sets Sets
				var all [2]*Directory
				var fleets [2]*redlocktest.Fleet
				for i := range all {
					fleets[i] = redlocktest.Start(t, 3)
					all[i] = introduced(t, fleets[i])
					all[i].sets, sets.all = &sets, append(sets.all, all[i])
				}
				other := all[1]
				tt.stand(t, other)
				keys := len(fleets[1].Master(0).Keys())
				l := &look{of: all[0]}
				l.step(t.Context(), map[*Directory]terms.Do{all[0]: terms.Join, other: tt.do})
				got := "asks nobody"
				switch published := len(fleets[1].Master(0).Keys()) - keys; {
				case published > 0:
					got = "publishes"
				case l.heard[other] != nil:
					got = "looks"
				}
				check.Equal(t, got, tt.want, "at the other set, the look")
			})
		})
	}
}

// TestList: of each client, a list has the record that was published last, at whichever master. It ends with its context.
func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := directoryOf(t, redlocktest.Start(t, 3))
		for i, at := range []int64{2000, 3000, 1000} {
			record := script.Record{Name: "other", At: at}
			d.All.Tell(i, record.Publish("x"))
		}
		list, err := d.List(t.Context())
		check.That(t, err == nil && len(list) == 1 && list[0].Masters == 3 && list[0].Record.At == 3000, "List = %+v, %v; want one record of 3 masters, of 3 s", list, err)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = d.List(over)
		check.Err(t, "List under a context that has ended", err, context.Canceled)
	})
}

// TestEachOwnerIsLookedAt: since when an owner has its lock is asked for, though another one of its client was a moment ago.
func TestEachOwnerIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		d, _ := directoryOf(t, fleet)
		for _, key := range []string{"1", "2"} {
			owner := check.Owner("x:r" + key)
			for _, m := range fleet.Masters() {
				m.HSet(key, owner, "1")
				m.Set("redlock_fence:{"+key+"}", "1700000000000000")
			}
			awaitAll(t.Context(), d.lookAt(key, owner))
			check.That(t, !d.heldSince(key, owner).IsZero(), "it is not known since when %s has its lock", owner)
		}
	})
}

// TestARecordGrowsOlder: how long ago a client was seen counts on while its record is kept.
func TestARecordGrowsOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache
		put(&c.clients, "x", known{terms.ClientInfo{Seen: time.Second}, clock.Now()})
		time.Sleep(time.Second)
		check.Equal(t, c.client("x").Seen, 2*time.Second, "how long ago it was seen, a second later")
	})
}

// What a cache keeps is bounded, however many clients it meets.
func TestTheCacheIsBounded(t *testing.T) {
	var c cache
	for i := range 3 * maxKnown {
		c.mayAsk(fmt.Sprint(i))
	}
	n := len(c.asked)
	check.That(t, n != 0 && n <= maxKnown, "%d of %d are kept, want %d at most", n, 3*maxKnown, maxKnown)
	check.That(t, !c.mayAsk(fmt.Sprint(3*maxKnown-1)), "what was asked for last is asked for again at once")
}

// directoryOf makes the directory of a client of masters in memory, and its log.
func directoryOf(t *testing.T, fleet *redlocktest.Fleet) (*Directory, *bytes.Buffer) {
	t.Helper()
	return directoryWithin(t, fleet, 100*time.Millisecond)
}

// introduced is directoryOf for a client that says who it is.
func introduced(t *testing.T, fleet *redlocktest.Fleet) *Directory {
	t.Helper()
	d, _ := directoryOf(t, fleet)
	d.id.Record.Name, d.by = "test", d.All.ID
	return d
}

// directoryWithin is directoryOf for a client that gives its masters so much time.
func directoryWithin(t *testing.T, fleet *redlocktest.Fleet, timeout time.Duration) (*Directory, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	cfg := node.Config{Timeout: timeout, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	var nodes []*node.Node
	for i, pool := range fleet.Pools() {
		cfg.Index, cfg.Name, cfg.Pool = i, fleet.Master(i).Name(), pool
		nodes = append(nodes, node.New(cfg))
	}
	masters := poll.New(nodes, cfg.Logger)
	t.Cleanup(masters.Disconnect)
	synctest.Wait() // connected
	return New(masters, holding(0), nil), &log
}

// holding is an Own that has so many holds, and nobody who waits.
type holding int

func (n holding) Busy() (holds, waits int)        { return int(n), 0 }
func (holding) Since(key, owner string) time.Time { return time.Time{} }
