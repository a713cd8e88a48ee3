package redlock_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// scene is something that goes wrong. testdata/texts.txt has what the user then reads.
type scene struct {
	name   string
	n      int // masters, 3 if 0
	cfg    redlock.Config
	logs   bool         // what the log says belongs to it
	held   bool         // it begins with a hold of orders:42
	before func(*stage) // what goes wrong
	call   func(*stage) error
}

// stage is what a scene plays on.
type stage struct {
	*redlocktest.Fleet
	*redlock.Client
	t    *testing.T
	hold *redlock.Hold // if it begins with one
}

// settle waits until an idle client knows what has happened.
func (s *stage) settle() { time.Sleep(19 * time.Second) }

// last makes the third master answer last, so that the decision is no matter of luck.
func (s *stage) last() { s.Fleet.Master(2).Delay(100 * time.Millisecond) }

// all does something to all masters, and waits until the client knows of it.
func (s *stage) all(do func(*redlocktest.Master)) {
	each(s.Fleet, 0, 3, do)
	s.settle()
}

// taken makes another client hold orders:42.
func (s *stage) taken() {
	s.t.Helper()
	lock(s.t, s.t.Context(), open(s.t, s.Fleet, redlock.Config{}), "orders:42")
	synctest.Wait()
	s.last()
}

// takenLong is taken for 12 s.
func (s *stage) takenLong() {
	s.taken()
	time.Sleep(12 * time.Second)
}

// lockWithin is Lock with a deadline.
func (s *stage) lockWithin(d time.Duration, options ...redlock.Option) error {
	return second(s.Lock(within(s.t, s.t.Context(), d), "orders:42", options...))
}

// What goes wrong.

// first does something to the first two masters, and waits until the client knows of it.
func first(do func(*redlocktest.Master)) func(*stage) {
	return func(s *stage) {
		each(s.Fleet, 0, 2, do)
		s.settle()
	}
}

// firstAlone is first, and makes the third master answer last.
func firstAlone(do func(*redlocktest.Master)) func(*stage) {
	return func(s *stage) {
		first(do)(s)
		s.last()
	}
}

// atOnce does something to masters just before the call.
func atOnce(masters int, do func(*redlocktest.Master)) func(*stage) {
	return func(s *stage) { each(s.Fleet, 0, masters, do) }
}

func everywhere(do func(*redlocktest.Master)) func(*stage) {
	return func(s *stage) { s.all(do) }
}

var (
	die     = (*redlocktest.Master).Kill
	hang    = (*redlocktest.Master).Freeze
	restart = (*redlocktest.Master).Restart
	noRoom  = refuse("OOM command not allowed when used memory > 'maxmemory'.")
)

func refuse(msg string) func(*redlocktest.Master) {
	return func(m *redlocktest.Master) { m.Refuse(msg) }
}

func becomeReplica(m *redlocktest.Master) { m.SetRole("slave") }

func wantPassword(m *redlocktest.Master) {
	m.Password("secret")
	m.RestartWithData()
}

func holdNoLock(m *redlocktest.Master) { m.Set("orders:42", "shipped") }

func giveToAnother(m *redlocktest.Master) {
	m.Del("orders:42")
	m.HSet("orders:42", another, "1")
	m.Expire("orders:42", time.Minute)
}

// forLong kills two masters for so long that the client is established no more.
func forLong(s *stage) {
	first(die)(s)
	time.Sleep(time.Minute)
}

// fromTheStart makes all masters hang before the client is established.
func fromTheStart(s *stage) {
	each(s.Fleet, 0, 3, hang)
	s.Client = open(s.t, s.Fleet, redlock.Config{})
}

// What is called.

func tryLock(s *stage) error   { return second(s.TryLock(s.t.Context(), "orders:42")) }
func lockFor1s(s *stage) error { return s.lockWithin(time.Second) }
func lockFor5s(s *stage) error { return s.lockWithin(5 * time.Second) }
func lockAllFor1s(s *stage) error {
	return second(s.LockAll(within(s.t, s.t.Context(), time.Second), []string{"orders:42", "orders:43"}))
}

func acquireFor1s(s *stage) error { return s.lockWithin(time.Second, redlock.Permits(2)) }

func forceUnlock(s *stage) error {
	return second(redlockadmin.Of(s.Client).ForceUnlock(s.t.Context(), "orders:42"))
}
func enter(s *stage) error      { return second(s.hold.Enter(s.t.Context())) }
func extend(s *stage) error     { return s.hold.Extend(s.t.Context(), lease) }
func unlockHold(s *stage) error { return s.hold.Unlock(s.t.Context()) }

// cause waits for the end of the hold.
func cause(s *stage) error {
	<-s.hold.Context().Done()
	return context.Cause(s.hold.Context())
}

func readyIn1s(s *stage) error {
	return s.Ready(within(s.t, s.t.Context(), time.Second))
}

var guarded = redlock.Config{RestartGuard: lease}

var scenes = []scene{
	{name: "TryLock: another client has it", before: (*stage).taken, call: tryLock},
	{name: "Lock: another client has it until the deadline", before: (*stage).taken, call: lockFor1s},
	{name: "TryLock: another client has had it for long", before: (*stage).takenLong, call: tryLock},
	{name: "TryLockAll: another client has had one for long", before: (*stage).takenLong, call: func(s *stage) error {
		return second(s.TryLockAll(s.t.Context(), []string{"orders:42", "orders:41"}))
	}},
	{name: "Lock: another client has had it for long", before: (*stage).takenLong, call: func(s *stage) error { return s.lockWithin(3 * time.Second) }},
	{name: "a reader: most locks change hands within a second", before: (*stage).takenLong, call: func(s *stage) error {
		return s.lockWithin(600*time.Millisecond, redlock.Shared())
	}},
	{name: "Lock: another caller of this client has it until the deadline", held: true, call: lockFor1s},
	{name: "a permit: other callers of this client have all until the deadline", before: func(s *stage) {
		s.hold = acquire(s.t, s.Client, "orders:42", 2)
		acquire(s.t, s.Client, "orders:42", 2)
	}, call: acquireFor1s},
	{name: "Lock: the caller has an error of its own", held: true, call: func(s *stage) error {
		ctx, cancel := context.WithCancelCause(s.t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("see redlock: the page")) })
		return second(s.Lock(ctx, "orders:42"))
	}},
	{name: "Lock: it never expires", before: func(s *stage) {
		s.all(func(m *redlocktest.Master) { m.HSet("orders:42", someone, "1") })
		s.last()
	}, call: tryLock},
	{name: "Lock: the context has ended before", call: func(s *stage) error {
		return second(s.Lock(ended(s.t), "orders:42"))
	}},
	{name: "Lock: under the context of a hold that is lost", held: true, before: func(s *stage) {
		s.Fleet.Master(2).Delay(0)
		s.all(die)
	}, call: func(s *stage) error {
		_ = cause(s)
		return second(s.Lock(s.hold.Context(), "orders:43"))
	}},
	{name: "TryLock: two masters are dead", before: firstAlone(die), call: tryLock},
	{name: "TryLock: two masters hang", before: atOnce(2, hang), call: tryLock},
	{name: "Lock: two masters hang, and the deadline is short", before: atOnce(2, hang), call: func(s *stage) error {
		return s.lockWithin(100 * time.Millisecond)
	}},
	{name: "TryLock: all masters restarted", cfg: guarded, before: everywhere(restart), call: tryLock},
	{name: "Lock: all masters restarted", cfg: guarded, logs: true, before: everywhere(restart), call: lockFor5s},
	{name: "TryLock: one master restarted, one is dead", cfg: guarded, before: func(s *stage) {
		s.Fleet.Master(0).Kill()
		s.Fleet.Master(1).Restart()
		s.settle()
		s.last()
	}, call: tryLock},
	{name: "TryLock: all masters were promoted", cfg: guarded, before: func(s *stage) {
		s.all(becomeReplica)
		s.all(func(m *redlocktest.Master) { m.SetRole("master") })
	}, call: tryLock},
	{name: "TryLock: the masters' clocks jumped", before: func(s *stage) {
		s.all(func(m *redlocktest.Master) { m.Skew(time.Hour) })
		s.last()
	}, call: tryLock},
	{name: "TryLock: two masters are dead for long", before: forLong, call: tryLock},
	{name: "Lock: two masters are dead for long", before: forLong, call: lockFor1s},
	{name: "LockAll: two masters are dead for long", before: forLong, call: lockAllFor1s},
	{name: "a permit: two masters are dead for long", before: forLong, call: acquireFor1s},
	{name: "Lock: all masters hang from the start", before: fromTheStart, call: lockFor1s},
	{name: "LockAll: all masters hang from the start", before: fromTheStart, call: lockAllFor1s},
	{name: "a permit: all masters hang from the start", before: fromTheStart, call: acquireFor1s},
	{name: "Lock: all masters hang for so long that the client is established no more", before: atOnce(3, hang), call: func(s *stage) error {
		return s.lockWithin(2 * time.Minute)
	}},
	{name: "Lock: two masters have no memory", logs: true, before: first(noRoom), call: lockFor5s},
	{name: "Lock: two masters are dead", logs: true, before: first(die), call: lockFor5s},
	{name: "Lock: two masters have no memory, then no disk, then all is well", logs: true, before: func(s *stage) {
		time.AfterFunc(20*time.Second, func() { each(s.Fleet, 0, 2, refuse("MISCONF Errors writing to the AOF file: No space left on device")) })
		time.AfterFunc(40*time.Second, func() { each(s.Fleet, 0, 2, refuse("")) })
		first(noRoom)(s)
	}, call: func(s *stage) error { return s.lockWithin(time.Minute) }},
	{name: "Lock: another client has it, a master is dead, and the others have no memory for a while", logs: true, before: func(s *stage) {
		s.taken()
		s.Fleet.Master(2).Kill()
		time.AfterFunc(10*time.Second, func() { each(s.Fleet, 0, 2, noRoom) })
		time.AfterFunc(15*time.Second, func() { each(s.Fleet, 0, 2, refuse("")) })
	}, call: func(s *stage) error { return s.lockWithin(40 * time.Second) }},
	{name: "Lock: two masters are replicas", logs: true, before: first(becomeReplica), call: lockFor5s},
	{name: "Lock: the key is no lock", before: func(s *stage) {
		each(s.Fleet, 0, 3, holdNoLock)
		s.last()
	}, call: lockFor5s},
	{
		name:   "Lock: no permission",
		before: firstAlone(refuse("NOPERM this user has no permissions to run the 'evalsha' command")), call: lockFor5s,
	},
	{name: "Lock: cluster mode", before: firstAlone(refuse("CROSSSLOT Keys in request don't hash to the same slot")), call: lockFor5s},
	{name: "Lock: no scripts", before: firstAlone(refuse("ERR unknown command 'EVALSHA', with args beginning with: ")), call: lockFor5s},
	{name: "Lock: no password", logs: true, before: firstAlone(wantPassword), call: lockFor5s},
	{name: "Do: no password", before: firstAlone(wantPassword), call: func(s *stage) error {
		return s.Do(s.t.Context(), "orders:42", func(context.Context) error { return nil })
	}},
	{name: "Do: the hold is lost, and fn says so", call: func(s *stage) error {
		return s.Do(s.t.Context(), "orders:42", func(ctx context.Context) error {
			synctest.Wait()
			each(s.Fleet, 0, 3, giveToAnother)
			s.last()
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}},
	{name: "Do: the hold is lost, and fn says something else", call: func(s *stage) error {
		return s.Do(s.t.Context(), "orders:42", func(ctx context.Context) error {
			synctest.Wait()
			each(s.Fleet, 0, 3, die)
			<-ctx.Done()
			return errors.New("could not write the report")
		})
	}},
	{name: "LockFor: the lease has ended", call: func(s *stage) error {
		s.hold = lock(s.t, s.t.Context(), s.Client, "orders:42", redlock.Lease(time.Second))
		s.settle()
		return unlockHold(s)
	}},
	{name: "MaxHold", cfg: redlock.Config{MaxHold: time.Minute}, held: true, call: cause},
	{name: "the masters die under a hold", logs: true, held: true, before: func(s *stage) {
		s.Fleet.Master(2).Delay(0)
		s.all(die)
	}, call: cause},
	{name: "Extend: two masters are dead", held: true, before: first(die), call: extend},
	{name: "Extend: somebody else has the lock", held: true, before: atOnce(3, giveToAnother), call: extend},
	{name: "Extend: the context ends", held: true, before: atOnce(3, hang), call: func(s *stage) error {
		return s.hold.Extend(within(s.t, s.t.Context(), time.Millisecond), lease)
	}},
	{name: "the masters die under a permit", before: func(s *stage) {
		s.hold, _ = s.Lock(s.t.Context(), "orders:42", redlock.Permits(2))
		s.Fleet.Master(2).Delay(0)
		s.all(die)
	}, call: cause},
	{name: "Enter: a permit", before: func(s *stage) { s.hold = acquire(s.t, s.Client, "orders:42", 2) }, call: enter},
	{name: "Enter: this Hold was unlocked, and the lock goes on", held: true, before: func(s *stage) {
		got(s.t, "Enter", s.hold.Enter, s.t.Context())
		unlock(s.t, s.hold)
	}, call: enter},
	{name: "Enter: the context has ended before", held: true, call: func(s *stage) error { return second(s.hold.Enter(ended(s.t))) }},
	{name: "Enter: two masters hang", held: true, before: atOnce(2, hang), call: enter},
	{name: "Enter: somebody else has the lock", held: true, before: atOnce(3, giveToAnother), call: enter},
	{name: "Enter: the lock was lost before", held: true, before: func(s *stage) {
		each(s.Fleet, 0, 3, giveToAnother)
		_ = enter(s)
	}, call: enter},
	{name: "Extend: zero", held: true, call: func(s *stage) error { return s.hold.Extend(s.t.Context(), 0) }},
	{name: "Extend: too long", held: true, call: func(s *stage) error { return s.hold.Extend(s.t.Context(), time.Hour) }},
	{name: "Unlock: twice", held: true, before: func(s *stage) { unlock(s.t, s.hold) }, call: unlockHold},
	{name: "Unlock: two masters are dead", held: true, before: first(die), call: unlockHold},
	{name: "Unlock: two masters refuse it for good", held: true, before: atOnce(2, refuse("NOPERM this user has no permissions to run the 'evalsha' command")), call: unlockHold},
	{name: "Unlock: two masters refuse it for now", held: true, before: atOnce(2, refuse("MISCONF Errors writing to the AOF file")), call: unlockHold},
	{name: "Unlock: the context has ended", held: true, call: func(s *stage) error {
		each(s.Fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		return s.hold.Unlock(ended(s.t))
	}},
	{name: "Unlock of a re-entry: the context has ended", held: true, call: func(s *stage) error {
		again := got(s.t, "Enter", s.hold.Enter, s.t.Context())
		each(s.Fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		return again.Unlock(ended(s.t))
	}},
	{name: "Unlock of several names: the context has ended", call: func(s *stage) error {
		all := lockAll(s.t, s.t.Context(), s.Client, "orders:42", "orders:43")
		each(s.Fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		return all.Unlock(ended(s.t))
	}},
	{name: "Unlock of several names: the client was closed", call: func(s *stage) error {
		all := lockAll(s.t, s.t.Context(), s.Client, "orders:42", "orders:43")
		s.Client.Close()
		return all.Unlock(s.t.Context())
	}},
	{name: "Close: two masters are dead", held: true, before: first(die), call: func(s *stage) error { return s.Client.Close() }},
	{name: "Lock: the client is closed", before: func(s *stage) { s.Client.Close() }, call: tryLock},
	{name: "Inspect: two masters are dead", before: first(die), call: func(s *stage) error {
		return second(redlockadmin.Of(s.Client).Inspect(s.t.Context(), "orders:42"))
	}},
	{name: "ForceUnlock: the key is no lock", before: atOnce(3, func(m *redlocktest.Master) {
		m.HSet("orders:42", "name", "bob")
		m.HSet("orders:42", "age", "3")
	}), call: forceUnlock},
	{name: "Hold: the key is overwritten", held: true, before: func(s *stage) {
		each(s.Fleet, 0, 3, holdNoLock)
		s.Fleet.Master(2).Kill()
	}, call: cause},
	{name: "ForceUnlock: two masters are dead", before: first(die), call: forceUnlock},
	{name: "Ready: all masters restarted", cfg: guarded, before: everywhere(restart), call: readyIn1s},
	{name: "Ready: two masters are dead", before: first(die), call: readyIn1s},
	{name: "Ready: no password", before: first(wantPassword), call: func(s *stage) error { return s.Ready(s.t.Context()) }},
	{name: "two masters", n: 2, logs: true, call: func(*stage) error { return nil }},
}

// TestTexts: what the user reads, word by word, is in testdata/texts.txt.
func TestTexts(t *testing.T) {
	g := newGolden(t, "testdata/texts.txt")
	for _, s := range scenes {
		g.section(t, s.name, s.play)
	}
	g.section(t, "New", func(*testing.T) (says string) {
		for _, tt := range refusedConfigs {
			_, err := redlock.New(tt.cfg)
			says += fmt.Sprintf("%s: %v\n", tt.name, err)
		}
		return says
	})
	g.close(t)
}

// play returns what the log and the error say.
func (s scene) play(t *testing.T) (says string) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, cmp.Or(s.n, 3))
		var log lines
		s.cfg.Logger = logger(&log)
		on := &stage{Fleet: fleet, Client: open(t, fleet, s.cfg), t: t}
		if s.n == 0 {
			use(t, on.Client, "warm")
		}
		if s.held {
			on.hold = lock(t, t.Context(), on.Client, "orders:42")
			synctest.Wait()
			on.last()
		}
		if s.before != nil {
			s.before(on)
		}
		began := time.Now()
		err := s.call(on)
		if strings.HasPrefix(s.name, "TryLock") {
			check.AtMost(t, time.Since(began), nodeTimeout+50*time.Millisecond, "a try, which does not wait, took")
		}
		synctest.Wait()
		if s.logs {
			says = log.sorted()
		}
		if err != nil {
			says += err.Error() + "\n" + statesOf(err)
		}
	})
	for _, n := range normal {
		says = n.what.ReplaceAllString(says, n.with)
	}
	return says
}

// states are what errors.Is may find.
var states = []error{
	redlock.ErrTaken, redlock.ErrNoQuorum, redlock.ErrGuarded, redlock.ErrLost, redlock.ErrNotHeld, redlock.ErrNotAwaited, redlock.ErrHeld, redlock.ErrUpgrade,
	redlock.ErrClosed, context.Canceled, context.DeadlineExceeded,
}

// statesOf says which of them it finds.
func statesOf(err error) (text string) {
	for _, state := range states {
		if errors.Is(err, state) {
			text += fmt.Sprintf("\tis %q\n", strings.TrimPrefix(state.Error(), "redlock: "))
		}
	}
	return text
}

var normal = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}:r?\d+`), "OWNER"},
	{regexp.MustCompile(`\S+ on \S+ \(pid \d+\)`), "CLIENT"},
	{regexp.MustCompile(`(another |does in |left=|ahead by )[0-9.hmsµ]+`), "${1}TIME"},
}

// lines is a Logger's output.
type lines struct{ check.Output }

// sorted returns the lines in an order that does not depend on which master came first, without those of masters that are
// up.
func (l *lines) sorted() string {
	all := slices.DeleteFunc(l.Lines(), func(line string) bool {
		return strings.Contains(line, "master is up") || strings.Contains(line, "no subscription")
	})
	slices.Sort(all)
	return strings.Join(all, "")
}

// count returns how many lines have text.
func (l *lines) count(text string) int { return len(l.Lines(text)) }

func logger(out io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "run_id" {
			return slog.Attr{}
		}
		return a
	}}))
}

// Write the files anew: go test ./redlock -run 'TestTexts|TestTraces' -update
var update = flag.Bool("update", false, "write the files in testdata, and the pages, anew")

// golden is a file of texts, in sections. Read aloud what changes there.
type golden struct {
	file   string
	wanted map[string]string // sections that were not compared yet, by name
	all    []string
}

func newGolden(t *testing.T, file string) *golden {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	g := &golden{file: file, wanted: make(map[string]string)}
	for section := range strings.SplitSeq("\n"+string(text), "\n# ") {
		name, body, _ := strings.Cut(section, "\n")
		g.wanted[name] = body
	}
	delete(g.wanted, "") // before the first
	return g
}

// section is a subtest that compares what says returns with the section of that name.
func (g *golden) section(t *testing.T, name string, says func(*testing.T) string) {
	want := g.wanted[name]
	delete(g.wanted, name)
	t.Run(name, func(t *testing.T) {
		got := says(t)
		g.all = append(g.all, "# "+name+"\n"+got)
		check.That(t, got == want || *update, "got\n%s\nwant\n%s", got, want)
	})
}

// close checks that all sections were compared, or writes them.
func (g *golden) close(t *testing.T) {
	t.Helper()
	switch {
	case *update:
		check.OK(t, os.WriteFile(g.file, []byte(strings.Join(g.all, "\n")), 0o600))
	case len(g.wanted) > 0:
		t.Errorf("%s has sections that nothing says: %q", g.file, g.wanted)
	}
}
