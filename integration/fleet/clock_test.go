package fleet

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// ahead returns by how much a master's clock is ahead of ours.
func ahead(t *testing.T, m *Master) time.Duration {
	t.Helper()
	now, err := redis.Int64s(m.Do("TIME"))
	did(t, err)
	return time.Until(time.Unix(now[0], now[1]*1000))
}

// wantAhead allows for a slow answer.
func wantAhead(t *testing.T, m *Master, want time.Duration) {
	t.Helper()
	if got := ahead(t, m); (got - want).Abs() > time.Second {
		t.Errorf("the clock is %v ahead, want %v", got, want)
	}
}

// expires stores a key that expires after life, and returns after what time of ours it is gone.
func expires(t *testing.T, m *Master, life time.Duration) time.Duration {
	t.Helper()
	do(t, m, "SET", "key", "value", "PX", life.Milliseconds())
	began := time.Now()
	eventually(t, 10*time.Second, "the key is gone", func() bool { return do(t, m, "EXISTS", "key") == int64(0) })
	return time.Since(began)
}

// TestClocks: only the wall clock moves, and keys expire by it.
func TestClocks(t *testing.T) {
	t.Parallel()
	m := one(t, Config{Clocks: true})
	wantAhead(t, m, 0)

	do(t, m, "SET", "key", "value", "EX", 1000)
	did(t, m.MoveClock(time.Hour))
	wantAhead(t, m, time.Hour)
	if there := do(t, m, "EXISTS", "key"); there != int64(0) {
		t.Error("a key that was to expire after 1000 s is still there when the clock is an hour ahead")
	}
	did(t, m.MoveClock(-3*time.Hour))
	wantAhead(t, m, -2*time.Hour)
	did(t, m.Kill())
	did(t, m.Start())
	wantAhead(t, m, -2*time.Hour)
	did(t, m.RightClock())
	wantAhead(t, m, 0)

	did(t, m.RunClock(2))
	wantAhead(t, m, 0)
	if took := expires(t, m, 2*time.Second); took < 900*time.Millisecond || took > 1900*time.Millisecond {
		t.Errorf("while the clock runs at twice the speed, a key that was to expire after 2 s was gone after %v", took)
	}
	const busy = 500 * time.Millisecond
	began := time.Now()
	did(t, m.Occupy(busy)) // by the monotonic clock
	if took := time.Since(began); took < busy {
		t.Errorf("while the clock runs at twice the speed, %v took %v", busy, took)
	}
	did(t, m.RunClock(1))
	stays := ahead(t, m)
	if stays < 900*time.Millisecond {
		t.Errorf("the clock is %v ahead, want what it gained", stays)
	}
	did(t, m.RunClock(0.5))
	if took := expires(t, m, time.Second); took < 1900*time.Millisecond {
		t.Errorf("while the clock runs at half the speed, a key that was to expire after 1 s was gone after %v", took)
	}
	did(t, m.RunClock(10_000)) // shows if it goes on running
	did(t, m.RightClock())
	wantAhead(t, m, 0)
}
