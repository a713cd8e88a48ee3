package redlock_test

import (
	"bytes"
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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// Write the file anew: go test ./redlock -run TestTexts -update
var update = flag.Bool("update", false, "write testdata/texts.txt anew")

// scene is something that goes wrong, and what its user then reads.
type scene struct {
	name string
	n    int // masters, 3 if 0
	cfg  redlock.Config
	logs bool // what the log says belongs to it
	do   func(ctx context.Context, s *stage) error
}

// stage is what a scene plays on.
type stage struct {
	*redlocktest.Fleet
	*redlock.Client
	t *testing.T
}

// for5s is a caller's patience.
const for5s = 5 * time.Second

// settle takes so long that an idle client knows of what has happened.
func (s *stage) settle() { time.Sleep(19 * time.Second) }

// first has something done to the first two masters.
func (s *stage) first(do func(*redlocktest.Master)) { each(s.Fleet, 0, 2, do); s.settle() }

// last has the third master answer last, so that it is no matter of luck who decides.
func (s *stage) last() { s.Fleet.Master(2).Delay(100 * time.Millisecond) }

func (s *stage) all(do func(*redlocktest.Master)) { each(s.Fleet, 0, 3, do); s.settle() }

// lockWithin is Lock with a deadline.
func (s *stage) lockWithin(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	_, err := s.Lock(ctx, "orders:42")
	return err
}

// held returns a hold of orders:42.
func (s *stage) held(ctx context.Context) *redlock.Hold {
	s.t.Helper()
	hold := lock(s.t, ctx, s.Client, "orders:42")
	synctest.Wait()
	s.last()
	return hold
}

// taken has another client hold orders:42.
func (s *stage) taken(ctx context.Context) {
	s.t.Helper()
	lock(s.t, ctx, open(s.t, s.Fleet, redlock.Config{}), "orders:42")
	synctest.Wait()
	s.last()
}

func refuse(msg string) func(*redlocktest.Master) {
	return func(m *redlocktest.Master) { m.Refuse(msg) }
}

func tryLock(ctx context.Context, s *stage) error {
	_, err := s.TryLock(ctx, "orders:42")
	return err
}

// refusal is a scene of a Lock that masters with msg do not grant, ever.
func refusal(name, msg string) scene {
	return scene{name: name, do: func(ctx context.Context, s *stage) error {
		s.first(refuse(msg))
		s.last()
		return s.lockWithin(ctx, for5s)
	}}
}

// wait is a scene of a Lock that waits through something.
func wait(name string, do func(*redlocktest.Master)) scene {
	return scene{name: name, logs: true, do: func(ctx context.Context, s *stage) error {
		s.first(do)
		return s.lockWithin(ctx, for5s)
	}}
}

var scenes = []scene{
	{name: "TryLock: another client has it", do: func(ctx context.Context, s *stage) error {
		s.taken(ctx)
		return tryLock(ctx, s)
	}},
	{name: "Lock: another client has it until the deadline", do: func(ctx context.Context, s *stage) error {
		s.taken(ctx)
		return s.lockWithin(ctx, time.Second)
	}},
	{name: "Lock: another caller of this client has it until the deadline", do: func(ctx context.Context, s *stage) error {
		s.held(ctx)
		return s.lockWithin(ctx, time.Second)
	}},
	{name: "Lock: it never expires", do: func(ctx context.Context, s *stage) error {
		s.all(func(m *redlocktest.Master) { m.HSet("orders:42", "8d0a9bb8-94b3-4d6c-8b1c-6a6d5b9b4b2c:17", "1") })
		s.last()
		return tryLock(ctx, s)
	}},
	{name: "Lock: the context has ended before", do: func(ctx context.Context, s *stage) error {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		_, err := s.Lock(ctx, "orders:42")
		return err
	}},
	{name: "Lock: under the context of a hold that is lost", do: func(ctx context.Context, s *stage) error {
		hold := s.held(ctx)
		s.Fleet.Master(2).Delay(0)
		s.all((*redlocktest.Master).Kill)
		<-hold.Context().Done()
		_, err := s.Lock(hold.Context(), "orders:43")
		return err
	}},
	{name: "TryLock: two masters are dead", do: func(ctx context.Context, s *stage) error {
		s.first((*redlocktest.Master).Kill)
		s.last()
		return tryLock(ctx, s)
	}},
	{name: "TryLock: two masters hang", do: func(ctx context.Context, s *stage) error {
		each(s.Fleet, 0, 2, (*redlocktest.Master).Freeze)
		return tryLock(ctx, s)
	}},
	{name: "Lock: two masters hang, and the deadline is short", do: func(ctx context.Context, s *stage) error {
		each(s.Fleet, 0, 2, (*redlocktest.Master).Freeze)
		return s.lockWithin(ctx, 100*time.Millisecond)
	}},
	{name: "TryLock: all masters restarted", cfg: redlock.Config{RestartGuard: lease}, do: func(ctx context.Context, s *stage) error {
		s.all((*redlocktest.Master).Restart)
		return tryLock(ctx, s)
	}},
	{name: "Lock: all masters restarted", cfg: redlock.Config{RestartGuard: lease}, logs: true, do: func(ctx context.Context, s *stage) error {
		s.all((*redlocktest.Master).Restart)
		return s.lockWithin(ctx, for5s)
	}},
	{name: "TryLock: one master restarted, one is dead", cfg: redlock.Config{RestartGuard: lease}, do: func(ctx context.Context, s *stage) error {
		s.Fleet.Master(0).Kill()
		s.Fleet.Master(1).Restart()
		s.settle()
		s.last()
		return tryLock(ctx, s)
	}},
	{name: "TryLock: all masters were promoted", cfg: redlock.Config{RestartGuard: lease}, do: func(ctx context.Context, s *stage) error {
		s.all(func(m *redlocktest.Master) { m.SetRole("slave") })
		s.all(func(m *redlocktest.Master) { m.SetRole("master") })
		return tryLock(ctx, s)
	}},
	{name: "TryLock: the masters' clocks jumped", do: func(ctx context.Context, s *stage) error {
		s.all(func(m *redlocktest.Master) { m.Skew(time.Hour) })
		s.last()
		return tryLock(ctx, s)
	}},
	wait("Lock: two masters have no memory", refuse("OOM command not allowed when used memory > 'maxmemory'.")),
	wait("Lock: two masters are dead", (*redlocktest.Master).Kill),
	{name: "Lock: two masters have no memory, then no disk, then all is well", logs: true, do: func(ctx context.Context, s *stage) error {
		time.AfterFunc(20*time.Second, func() { each(s.Fleet, 0, 2, refuse("MISCONF Errors writing to the AOF file: No space left on device")) })
		time.AfterFunc(40*time.Second, func() { each(s.Fleet, 0, 2, refuse("")) })
		s.first(refuse("OOM command not allowed when used memory > 'maxmemory'."))
		return s.lockWithin(ctx, time.Minute)
	}},
	{name: "Lock: another client has it, a master is dead, and the others have no memory for a while", logs: true, do: func(ctx context.Context, s *stage) error {
		s.taken(ctx)
		s.Fleet.Master(2).Kill()
		time.AfterFunc(10*time.Second, func() { each(s.Fleet, 0, 2, refuse("OOM command not allowed when used memory > 'maxmemory'.")) })
		time.AfterFunc(15*time.Second, func() { each(s.Fleet, 0, 2, refuse("")) })
		return s.lockWithin(ctx, 40*time.Second)
	}},
	{name: "Lock: two masters are replicas", logs: true, do: func(ctx context.Context, s *stage) error {
		s.first(func(m *redlocktest.Master) { m.SetRole("slave") })
		return s.lockWithin(ctx, for5s)
	}},
	{name: "Lock: the key is no lock", do: func(ctx context.Context, s *stage) error {
		each(s.Fleet, 0, 3, func(m *redlocktest.Master) { m.Set("orders:42", "shipped") })
		s.last()
		return s.lockWithin(ctx, for5s)
	}},
	refusal("Lock: no permission", "NOPERM this user has no permissions to run the 'evalsha' command"),
	refusal("Lock: cluster mode", "CROSSSLOT Keys in request don't hash to the same slot"),
	refusal("Lock: no scripts", "ERR unknown command 'EVALSHA', with args beginning with: "),
	{name: "Lock: no password", logs: true, do: func(ctx context.Context, s *stage) error {
		s.first(func(m *redlocktest.Master) { m.Password("secret"); m.RestartWithData() })
		s.last()
		return s.lockWithin(ctx, for5s)
	}},
	{name: "Do: no password", do: func(ctx context.Context, s *stage) error {
		s.first(func(m *redlocktest.Master) { m.Password("secret"); m.RestartWithData() })
		s.last()
		return s.Do(ctx, "orders:42", func(context.Context) error { return nil })
	}},
	{name: "Do: the hold is lost, and fn says so", do: func(ctx context.Context, s *stage) error {
		return s.Do(ctx, "orders:42", func(ctx context.Context) error {
			synctest.Wait()
			each(s.Fleet, 0, 3, func(m *redlocktest.Master) { m.Del("orders:42") })
			each(s.Fleet, 0, 3, func(m *redlocktest.Master) { m.HSet("orders:42", another, "1"); m.Expire("orders:42", time.Minute) })
			s.last()
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}},
	{name: "Do: the hold is lost, and fn says something else", do: func(ctx context.Context, s *stage) error {
		return s.Do(ctx, "orders:42", func(ctx context.Context) error {
			synctest.Wait()
			each(s.Fleet, 0, 3, (*redlocktest.Master).Kill)
			<-ctx.Done()
			return errors.New("could not write the report")
		})
	}},
	{name: "LockFor: the lease has ended", do: func(ctx context.Context, s *stage) error {
		hold := lockFor(s.t, ctx, s.Client, "orders:42", time.Second)
		s.settle()
		return hold.Unlock(ctx)
	}},
	{name: "MaxHold", cfg: redlock.Config{MaxHold: time.Minute}, do: func(ctx context.Context, s *stage) error {
		hold := lock(s.t, ctx, s.Client, "orders:42")
		<-hold.Context().Done()
		return context.Cause(hold.Context())
	}},
	{name: "the masters die under a hold", logs: true, do: func(ctx context.Context, s *stage) error {
		hold := s.held(ctx)
		s.Fleet.Master(2).Delay(0)
		s.all((*redlocktest.Master).Kill)
		<-hold.Context().Done()
		return context.Cause(hold.Context())
	}},
	{name: "Extend: two masters are dead", do: func(ctx context.Context, s *stage) error {
		hold := s.held(ctx)
		s.first((*redlocktest.Master).Kill)
		return hold.Extend(ctx, lease)
	}},
	{name: "Extend: somebody else has the lock", do: func(ctx context.Context, s *stage) error {
		hold := s.held(ctx)
		each(s.Fleet, 0, 3, func(m *redlocktest.Master) {
			m.Del("orders:42")
			m.HSet("orders:42", another, "1")
			m.Expire("orders:42", time.Minute)
		})
		return hold.Extend(ctx, lease)
	}},
	{name: "Extend: the context ends", do: func(ctx context.Context, s *stage) error {
		hold := s.held(ctx)
		each(s.Fleet, 0, 3, (*redlocktest.Master).Freeze)
		ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		return hold.Extend(ctx, lease)
	}},
	{name: "Extend: zero", do: func(ctx context.Context, s *stage) error { return s.held(ctx).Extend(ctx, 0) }},
	{name: "Extend: too long", do: func(ctx context.Context, s *stage) error { return s.held(ctx).Extend(ctx, time.Hour) }},
	{name: "Unlock: twice", do: func(ctx context.Context, s *stage) error {
		hold := s.held(ctx)
		unlock(s.t, hold)
		return hold.Unlock(ctx)
	}},
	{name: "Unlock: two masters are dead", do: func(ctx context.Context, s *stage) error {
		hold := s.held(ctx)
		s.first((*redlocktest.Master).Kill)
		return hold.Unlock(ctx)
	}},
	{name: "Unlock: the context has ended", do: func(ctx context.Context, s *stage) error {
		hold := s.held(ctx)
		each(s.Fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return hold.Unlock(ctx)
	}},
	{name: "Close: two masters are dead", do: func(ctx context.Context, s *stage) error {
		s.held(ctx)
		s.first((*redlocktest.Master).Kill)
		return s.Client.Close()
	}},
	{name: "Lock: the client is closed", do: func(ctx context.Context, s *stage) error {
		s.Client.Close()
		return tryLock(ctx, s)
	}},
	{name: "Inspect: two masters are dead", do: func(ctx context.Context, s *stage) error {
		s.first((*redlocktest.Master).Kill)
		_, err := s.Inspect(ctx, "orders:42")
		return err
	}},
	{name: "ForceUnlock: the key is no lock", do: func(ctx context.Context, s *stage) error {
		each(s.Fleet, 0, 3, func(m *redlocktest.Master) { m.HSet("orders:42", "name", "bob"); m.HSet("orders:42", "age", "3") })
		_, err := s.ForceUnlock(ctx, "orders:42")
		return err
	}},
	{name: "Hold: the key is overwritten", do: func(ctx context.Context, s *stage) error {
		hold := s.held(ctx)
		each(s.Fleet, 0, 3, func(m *redlocktest.Master) { m.Set("orders:42", "shipped") })
		s.Fleet.Master(2).Kill()
		<-hold.Context().Done()
		return context.Cause(hold.Context())
	}},
	{name: "ForceUnlock: two masters are dead", do: func(ctx context.Context, s *stage) error {
		s.first((*redlocktest.Master).Kill)
		_, err := s.ForceUnlock(ctx, "orders:42")
		return err
	}},
	{name: "Ready: all masters restarted", cfg: redlock.Config{RestartGuard: lease}, do: func(ctx context.Context, s *stage) error {
		s.all((*redlocktest.Master).Restart)
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return s.Ready(ctx)
	}},
	{name: "Ready: two masters are dead", do: func(ctx context.Context, s *stage) error {
		s.first((*redlocktest.Master).Kill)
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return s.Ready(ctx)
	}},
	{name: "Ready: no password", do: func(ctx context.Context, s *stage) error {
		s.first(func(m *redlocktest.Master) { m.Password("secret"); m.RestartWithData() })
		return s.Ready(ctx)
	}},
	{name: "two masters", n: 2, logs: true, do: func(context.Context, *stage) error { return nil }},
}

// TestTexts: what the user reads, word by word, is in testdata/texts.txt. What changes there is
// to be read aloud.
func TestTexts(t *testing.T) {
	var got strings.Builder
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) { fmt.Fprintf(&got, "# %s\n%s\n", s.name, s.play(t)) })
	}
	fmt.Fprint(&got, "# New\n")
	for _, tt := range refusedConfigs {
		_, err := redlock.New(tt.cfg)
		fmt.Fprintf(&got, "%s: %v\n", tt.name, err)
	}
	const file = "testdata/texts.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, string(want), got.String())
}

// compare tells section by section what differs.
func compare(t *testing.T, want, got string) {
	t.Helper()
	sections := func(text string) map[string]string {
		all := map[string]string{}
		for section := range strings.SplitSeq("\n"+text, "\n# ") {
			name, body, _ := strings.Cut(section, "\n")
			all[name] = body
		}
		return all
	}
	wanted := sections(want)
	for name, body := range sections(got) {
		if body != wanted[name] {
			t.Errorf("%s: got\n%s\nwant\n%s", name, body, wanted[name])
		}
	}
	if len(wanted) != len(sections(got)) {
		t.Errorf("got %d sections, want %d", len(sections(got)), len(wanted))
	}
}

// play returns what the log and the error say.
func (s scene) play(t *testing.T) (says string) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, cmp.Or(s.n, 3))
		var log lines
		s.cfg.Logger = logger(&log)
		c := open(t, fleet, s.cfg)
		if s.n == 0 {
			warm(t, c)
		}
		err := s.do(t.Context(), &stage{fleet, c, t})
		synctest.Wait()
		if s.logs {
			says = log.sorted()
		}
		if err != nil {
			says += err.Error() + "\n"
		}
	})
	for _, n := range normal {
		says = n.what.ReplaceAllString(says, n.with)
	}
	return says
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
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// sorted returns the lines, in an order that does not depend on which master came first. That
// masters are up is no news.
func (l *lines) sorted() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(strings.Lines(l.text.String()))
	all = slices.DeleteFunc(all, func(line string) bool {
		return strings.Contains(line, "master is up") || strings.Contains(line, "no subscription")
	})
	slices.Sort(all)
	all = slices.CompactFunc(all, func(a, b string) bool {
		return strings.Contains(a, "renewal failed") && regexp.MustCompile(`left=\S+`).ReplaceAllString(a, "") == regexp.MustCompile(`left=\S+`).ReplaceAllString(b, "")
	})
	return strings.Join(all, "")
}

// of returns the lines that have text.
func (l *lines) of(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(strings.Lines(l.text.String()))
	return slices.DeleteFunc(all, func(line string) bool { return !strings.Contains(line, text) })
}

// count returns how many lines have text.
func (l *lines) count(text string) int { return len(l.of(text)) }

func logger(out io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "run_id" {
			return slog.Attr{}
		}
		return a
	}}))
}
