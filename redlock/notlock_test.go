package redlock_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// Another program's data under the name of a lock is reported, master by master, and left
// alone, whatever is called.
func TestAnotherProgramsData(t *testing.T) {
	for what, put := range map[string]func(*redlocktest.Master){
		"a hash of 2 fields": func(m *redlocktest.Master) { m.HSet("a", "name", "bob"); m.HSet("a", "age", "3") },
		"a string":           func(m *redlocktest.Master) { m.Set("a", "text") },
	} {
		for name, call := range map[string]func(context.Context, *redlock.Client) error{
			"Lock":    func(ctx context.Context, c *redlock.Client) error { _, err := c.Lock(ctx, "a"); return err },
			"TryLock": func(ctx context.Context, c *redlock.Client) error { _, err := c.TryLock(ctx, "a"); return err },
			"Inspect": func(ctx context.Context, c *redlock.Client) error { _, err := c.Inspect(ctx, "a"); return err },
			"ForceUnlock": func(ctx context.Context, c *redlock.Client) error {
				freed, err := c.ForceUnlock(ctx, "a")
				if freed {
					t.Errorf("ForceUnlock of %s: freed", what)
				}
				return err
			},
		} {
			t.Run(name+" of "+what, func(t *testing.T) {
				bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					each(fleet, 0, 3, put)
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					defer cancel()
					err := call(ctx, c)
					expect(t, name, err, redlock.ErrNoQuorum)
					// A majority decides TryLock.
					if want := ": the key is no lock: it holds " + what; strings.Count(err.Error(), want) < 2 {
						t.Errorf("%s = %v, want %q from a majority", name, err, want)
					}
					if _, ok := errors.AsType[*script.NotLockError](err); !ok {
						t.Errorf("%s = %v, want a *NotLockError in it", name, err)
					}
					time.Sleep(2 * time.Second)
					each(fleet, 0, 3, func(m *redlocktest.Master) {
						data := m.Get("a")
						if data == "" {
							data = m.HGet("a", "name") + m.HGet("a", "age")
						}
						if data != "text" && data != "bob3" || m.TTL("a") != 0 {
							t.Errorf("%s has %q for %v, want it as it was", m.Name(), data, m.TTL("a"))
						}
						if keys := keys(m); !reflect.DeepEqual(keys, []string{"a"}) {
							t.Errorf("%s has the keys %q, want nothing beside the other program's", m.Name(), keys)
						}
					})
				})
			})
		}
	}
}

// Whoever was forced out stays out, also when the next owner was forced out since.
func TestTwoForcedOut(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		other, operator := open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})
		start := time.Now()
		var holds []*redlock.Hold
		for _, client := range []*redlock.Client{c, other} {
			holds = append(holds, lock(t, t.Context(), client, "a"))
			synctest.Wait()
			if freed, err := operator.ForceUnlock(t.Context(), "a"); !freed || err != nil {
				t.Fatalf("ForceUnlock = %v, %v, want true", freed, err)
			}
			synctest.Wait()
		}
		for time.Since(start) < time.Minute {
			each(fleet, 0, 3, func(m *redlocktest.Master) {
				if got := m.Holder("a"); got != "" {
					t.Fatalf("after %v %s has %s, want nobody", time.Since(start), m.Name(), got)
				}
			})
			time.Sleep(time.Second)
		}
		for i, hold := range holds {
			if cause := context.Cause(hold.Context()); !errors.Is(cause, redlock.ErrLost) {
				t.Errorf("cause of hold %d = %v, want ErrLost", i, cause)
			}
		}
	})
}
