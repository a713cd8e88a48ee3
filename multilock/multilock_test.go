package multilock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

const timeout = 100 * time.Millisecond

// bench is N masters in memory, and one client of them.
type bench struct {
	*redlocktest.Fleet
	m *Masters
}

// inBubble runs f on n masters in a bubble, and fails if anything is left running.
func inBubble(t *testing.T, n int, f func(t *testing.T, b bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, n)
		m := client(fleet)
		defer m.Close()
		b := bench{fleet, m}
		// From here on the masters know the scripts, and a command is one round trip.
		b.acquire(t, "warm", "up")
		synctest.Wait() // a release behind it would have a master that lacks the script drop it
		m.Renew(time.Second, []Renewal{newAsked("warm", "up")})
		m.Release(Claim{Owner: script.NewOwner("warm", id("up")), Token: 1, At: m.All()}, 0)
		synctest.Wait()
		f(t, b)
	})
}

// client connects to all masters of a fleet.
func client(fleet *redlocktest.Fleet) *Masters {
	var nodes []*node.Node
	for i, pool := range fleet.Pools() {
		nodes = append(nodes, node.New(node.Config{
			Name:    fleet.Master(i).Name(),
			Pool:    pool,
			Timeout: timeout,
			Logger:  slog.New(slog.DiscardHandler),
		}))
	}
	m := New(nodes)
	synctest.Wait() // connected
	return m
}

func request(key, owner string) Request {
	return Request{Owner: script.NewOwner(key, id(owner)), Lease: 10 * time.Second, Count: 1, Proposal: 7}
}

func (b bench) acquire(t *testing.T, key, owner string) Grant {
	t.Helper()
	g, err := b.m.Acquire(request(key, owner)).Wait(t.Context())
	if err != nil {
		t.Fatalf("Acquire(%s, %s) = %v, want a grant", key, owner, err)
	}
	return g
}

// holders returns who has key at each master, "-" for nobody.
func (b bench) holders(key string) string {
	var s []string
	for _, m := range b.Masters() {
		h := m.Holder(key)
		if h == "" {
			h = "-"
		}
		s = append(s, h)
	}
	return strings.Join(s, " ")
}

func (b bench) wantHolders(t *testing.T, key, want string) {
	t.Helper()
	synctest.Wait()
	want = ids(want)
	if got := b.holders(key); got != want {
		t.Errorf("holders of %s = %s, want %s", key, got, want)
	}
}

func TestAcquireTakesEveryMaster(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		g := b.acquire(t, "k", "a")
		b.wantHolders(t, "k", "a a a a a")
		if g.Token != 7 {
			t.Errorf("Token = %d, want the proposal, 7", g.Token)
		}
		if got, want := clock.Until(g.Until), clock.Validity(10*time.Second, 0); got != want {
			t.Errorf("validity = %v, want %v", got, want)
		}
	})
}

func TestAcquireIsDecidedByTheMajority(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"frozen": (*redlocktest.Master).Freeze,
		"cut":    (*redlocktest.Master).Cut,
		"killed": (*redlocktest.Master).Kill,
		"slow":   func(m *redlocktest.Master) { m.Delay(40 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, b bench) {
				fault(b.Master(1))
				fault(b.Master(3))
				start := time.Now()
				b.acquire(t, "k", "a")
				if took := time.Since(start); took > 0 {
					t.Errorf("Acquire took %v: it waited for the minority", took)
				}
			})
		})
	}
}

func TestValidityCountsFromBeforeTheCommandsWereSent(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		for _, m := range b.Masters() {
			m.Delay(30 * time.Millisecond)
		}
		g := b.acquire(t, "k", "a")
		if got, want := clock.Until(g.Until), clock.Validity(10*time.Second, 60*time.Millisecond); got != want {
			t.Errorf("validity after 60ms = %v, want %v", got, want)
		}
	})
}

func TestAGrantThatComesTooLateIsNone(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		for _, m := range b.Masters() {
			m.Delay(30 * time.Millisecond)
		}
		req := request("k", "a")
		req.Lease = 60 * time.Millisecond
		_, err := b.m.Acquire(req).Wait(t.Context())
		if !errors.Is(err, ErrNoQuorum) || !errors.Is(err, errLate) {
			t.Errorf("Acquire for 60ms over 60ms = %v, want ErrNoQuorum and errLate", err)
		}
	})
}

func TestALostVoteIsRolledBack(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		for i := range 3 {
			b.Master(i).HSet("k", id("other"), "1")
		}
		_, err := b.m.Acquire(request("k", "a")).Wait(t.Context())
		if !errors.Is(err, ErrTaken) {
			t.Errorf("Acquire = %v, want ErrTaken", err)
		}
		b.wantHolders(t, "k", "other other other - -")
	})
}

func TestRollBackReachesTheMasterThatThaws(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		for i := range 3 {
			b.Master(i).Freeze()
		}
		_, err := b.m.Acquire(request("k", "a")).Wait(t.Context())
		if !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Acquire = %v, want ErrNoQuorum", err)
		}
		b.wantHolders(t, "k", "- - - - -")
		time.Sleep(time.Second)
		for i := range 3 {
			b.Master(i).Thaw() // and carry out what they were sent
		}
		time.Sleep(2 * time.Second)
		b.wantHolders(t, "k", "- - - - -")
	})
}

func TestRollBackDoesNotNeedTheCallersContext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		for _, m := range b.Masters() {
			m.Delay(20 * time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := b.m.Acquire(request("k", "a")).Wait(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Acquire = %v, want DeadlineExceeded and ErrNoQuorum", err)
		}
		if took := time.Since(start); took != 30*time.Millisecond {
			t.Errorf("Acquire returned after %v, want 30ms", took)
		}
		time.Sleep(time.Second)
		b.wantHolders(t, "k", "- - -")
	})
}

func TestALateYesJoinsTheHold(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.Master(2).Delay(30 * time.Millisecond)
		g := b.acquire(t, "k", "a")
		b.wantHolders(t, "k", "a a -")
		time.Sleep(50 * time.Millisecond)
		b.wantHolders(t, "k", "a a a")
		if err := b.m.Release(g.Claim, 0).Wait(t.Context()); err != nil {
			t.Errorf("Release = %v", err)
		}
		time.Sleep(50 * time.Millisecond)
		b.wantHolders(t, "k", "- - -")
	})
}

func TestWhyAnAcquireWasLost(t *testing.T) {
	for _, tt := range []struct {
		name    string
		holders string // at each master: - free, x dead, else the holder
		want    error
		split   bool
	}{
		{"taken by one", "b b b", ErrTaken, false},
		{"taken by one, the rest is free", "b b b - -", ErrTaken, false},
		{"split three ways", "b c d", ErrTaken, true},
		{"split, we would be third", "b b c c -", ErrTaken, true},
		{"even split", "b b - -", ErrTaken, true},
		{"a majority is dead", "x x x - -", ErrNoQuorum, false},
		{"dead and taken", "x x b", ErrNoQuorum, false},
		{"the dead one may be the holder's third, or not", "b b x - -", ErrTaken, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			holders := strings.Fields(tt.holders)
			inBubble(t, len(holders), func(t *testing.T, b bench) {
				for i, h := range holders {
					switch h {
					case "x":
						b.Master(i).Kill()
					case "-":
					default:
						b.Master(i).HSet("k", id(h), "1")
						b.Master(i).Expire("k", time.Minute)
					}
				}
				_, err := b.m.Acquire(request("k", "a")).Wait(t.Context())
				var majority *MajorityError
				if !errors.As(err, &majority) || !errors.Is(err, tt.want) || majority.Split() != tt.split {
					t.Fatalf("Acquire = %v (split %v), want %v (split %v)", err, majority != nil && majority.Split(), tt.want, tt.split)
				}
			})
		})
	}
}

func TestMajorityErrorNamesEveryMasterThatDidNotSayYes(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, b bench) {
		b.Master(0).Kill()
		b.Master(1).Freeze()
		b.Master(2).HSet("k", id("b"), "1")
		b.Master(3).Set("k", "not a lock")
		_, err := b.m.Acquire(request("k", "a")).Wait(t.Context())
		var majority *MajorityError
		if !errors.As(err, &majority) {
			t.Fatalf("Acquire = %v, want a *MajorityError", err)
		}
		if majority.Got != 1 || majority.Need != 3 || majority.Op != "lock" || majority.Name != "k" {
			t.Errorf("%s %q: %d of %d, want lock \"k\": 1 of 3", majority.Op, majority.Name, majority.Got, majority.Need)
		}
		for i, want := range []string{"m1: ", "m2: no answer", "m3: held by " + id("b") + ", without expiry", "m4: the key is no lock: it holds a string"} {
			if got := majority.Nodes.Errors[i].Error(); !strings.HasPrefix(got, want) {
				t.Errorf("Nodes[%d] = %q, want %q…", i, got, want)
			}
		}
		if len(majority.Nodes.Errors) != 4 {
			t.Errorf("%d entries, want 4: %v", len(majority.Nodes.Errors), err)
		}
		if !errors.Is(err, node.ErrTimeout) {
			t.Errorf("%v does not match the timeout of m2", err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q has more than one line", err)
		}
		for _, err := range []error{err, majority.With(context.Canceled)} {
			if !strings.HasPrefix(err.Error(), "redlock: ") {
				t.Errorf("%q does not say whose error it is", err)
			}
		}
	})
}

func TestFreeAfter(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		for i, d := range []time.Duration{9 * time.Second, 4 * time.Second} {
			b.Master(i).HSet("k", id(fmt.Sprint(i)), "1")
			b.Master(i).Expire("k", d)
		}
		_, err := b.m.Acquire(request("k", "a")).Wait(t.Context())
		var majority *MajorityError
		if !errors.As(err, &majority) {
			t.Fatalf("Acquire = %v, want a *MajorityError", err)
		}
		// One is free, another is after 4 s.
		if free, ok := majority.FreeAfter(); free != 4*time.Second || !ok {
			t.Errorf("FreeAfter = %v, %v, want 4s", free, ok)
		}
	})
}

func TestReentryTouchesOnlyWhatIsHeld(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.acquire(t, "k", "a")
		synctest.Wait()
		b.Master(0).FlushAll()
		again := request("k", "a")
		again.Count = 2
		if _, err := b.m.Acquire(again).Wait(t.Context()); err != nil {
			t.Errorf("Acquire again, two masters of three = %v", err)
		}
		b.wantHolders(t, "k", "- a a")
		b.Master(1).FlushAll()
		if _, err := b.m.Acquire(again).Wait(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("Acquire again, one master of three = %v, want ErrLost", err)
		}
		b.m.Release(Claim{Owner: again.Owner, Token: 1, At: b.m.All()}, 1)
		synctest.Wait()
		if got := b.Master(2).HGet("k", id("a")); got != "1" {
			t.Errorf("hold count after it was taken back = %s, want 1", got)
		}
	})
}

func TestRelease(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(b bench)
		want   error
	}{
		{"all masters", func(bench) {}, nil},
		{"a dead minority", func(b bench) { b.Master(0).Kill(); b.Master(4).Kill() }, nil},
		{"a minority lost it", func(b bench) { b.Master(0).FlushAll(); b.Master(4).FlushAll() }, nil},
		{"a majority lost it", func(b bench) { b.Master(0).FlushAll(); b.Master(2).FlushAll(); b.Master(4).FlushAll() }, ErrLost},
		{"a majority is dead", func(b bench) { b.Master(0).Kill(); b.Master(2).Kill(); b.Master(4).Kill() }, ErrNoQuorum},
		{"a dead minority, and one lost it", func(b bench) { b.Master(0).Kill(); b.Master(2).Kill(); b.Master(4).FlushAll() }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, b bench) {
				g := b.acquire(t, "k", "a")
				synctest.Wait()
				tt.before(b)
				synctest.Wait()
				err := b.m.Release(g.Claim, 0).Wait(t.Context())
				if !errors.Is(err, tt.want) {
					t.Errorf("Release = %v, want %v", err, tt.want)
				}
			})
		})
	}
}

// A hold that only just had a majority can be given back while one of it is away: two
// masters never had it, so with one that frees it a majority is free.
func TestReleaseOfABareMajority(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(b bench)
		want  error
	}{
		{"all there", func(bench) {}, nil},
		{"one away", func(b bench) { b.Master(0).Kill() }, nil},
		{"two away", func(b bench) { b.Master(0).Kill(); b.Master(1).Kill() }, nil},
		{"all away", func(b bench) { b.Master(0).Kill(); b.Master(1).Kill(); b.Master(2).Kill() }, ErrNoQuorum},
		{"one forgot", func(b bench) { b.Master(0).FlushAll() }, ErrLost}, // and somebody had a majority, perhaps
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, b bench) {
				b.Master(3).HSet("k", id("b"), "1")
				b.Master(4).HSet("k", id("b"), "1")
				// Wait for all answers: the masters that refuse must have done so.
				for i := range 3 {
					b.Master(i).Delay(time.Millisecond)
				}
				g := b.acquire(t, "k", "a")
				time.Sleep(time.Second)
				tt.fault(b)
				synctest.Wait()
				if err := b.m.Release(g.Claim, 0).Wait(t.Context()); !errors.Is(err, tt.want) {
					t.Errorf("Release = %v, want %v", err, tt.want)
				}
			})
		})
	}
}

func TestReleaseReachesAMasterThatReturns(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		g := b.acquire(t, "k", "a")
		b.Master(0).Kill()
		if err := b.m.Release(g.Claim, 0).Wait(t.Context()); err != nil {
			t.Fatalf("Release = %v", err)
		}
		time.Sleep(time.Second)
		b.Master(0).RestartWithData()
		time.Sleep(2 * time.Second)
		b.wantHolders(t, "k", "- - -")
	})
}

func TestReleaseKeepsTheLowerLevels(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		g := b.acquire(t, "k", "a")
		again := request("k", "a")
		again.Count = 2
		if _, err := b.m.Acquire(again).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.m.Release(g.Claim, 1).Wait(t.Context()); err != nil {
			t.Errorf("Release to 1 = %v", err)
		}
		b.wantHolders(t, "k", "a a a")
		if got := b.Master(0).HGet("k", id("a")); got != "1" {
			t.Errorf("hold count = %s, want 1", got)
		}
	})
}

func TestInspectWaitsForEverybody(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.acquire(t, "k", "a")
		b.Master(1).Delay(30 * time.Millisecond)
		b.Master(2).Kill()
		synctest.Wait()
		look, err := b.m.Inspect(t.Context(), "k")
		if err != nil {
			t.Fatalf("Inspect = %v", err)
		}
		if v := look.Views[1]; v.Holder != id("a") || v.Count != 1 || v.Token != 7 || v.Left <= 9*time.Second || v.Err != nil {
			t.Errorf("view of m2 = %+v", v)
		}
		if v := look.Views[2]; v.Err == nil || v.Master != "m3" {
			t.Errorf("view of m3 = %+v, want its error", v)
		}
		if look.Holder != id("a") || look.Left < 9*time.Second {
			t.Errorf("Look = %+v, want a for 10s", look)
		}
		b.Master(0).Kill()
		if _, err := b.m.Inspect(t.Context(), "k"); !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Inspect with one master of three = %v, want ErrNoQuorum", err)
		}
	})
}

func TestForce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		if freed, err := b.m.Force(t.Context(), "k"); freed || err != nil {
			t.Errorf("Force of a free lock = %v, %v", freed, err)
		}
		b.acquire(t, "k", "a")
		synctest.Wait() // also m2, which the majority may not have waited for
		b.Master(1).Kill()
		synctest.Wait()
		if freed, err := b.m.Force(t.Context(), "k"); !freed || err != nil {
			t.Errorf("Force = %v, %v, want true", freed, err)
		}
		// Not repeated: whoever has the lock at m2 when that returns keeps it.
		b.Master(1).RestartWithData()
		time.Sleep(2 * time.Second)
		b.wantHolders(t, "k", "- a -")
	})
}
