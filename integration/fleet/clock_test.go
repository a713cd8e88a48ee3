package fleet

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// look is when a master was asked for the time, and when it had answered, by our clock.
type look struct{ asked, told, answered time.Time }

func lookAt(t *testing.T, m *Master) look {
	t.Helper()
	l := look{asked: time.Now()}
	now, err := redis.Int64s(m.Do("TIME"))
	did(t, err)
	l.answered, l.told = time.Now(), time.Unix(now[0], now[1]*1000)
	return l
}

// wantAhead allows for a slow answer, and for what the clock gained since then.
func wantAhead(t *testing.T, m *Master, want, gained time.Duration) {
	t.Helper()
	const off = 100 * time.Millisecond
	l := lookAt(t, m)
	if least, most := l.told.Sub(l.answered), l.told.Sub(l.asked); most < want-off || least > want+gained+off {
		t.Errorf("the clock is %v to %v ahead, want %v", least, most, want)
	}
}

// wantPace looks twice. However slow the answers are, the time between them is known within limits.
func wantPace(t *testing.T, m *Master, want float64) {
	t.Helper()
	first := lookAt(t, m)
	time.Sleep(time.Second)
	second := lookAt(t, m)
	passed := second.told.Sub(first.told).Seconds()
	if least, most := second.asked.Sub(first.answered).Seconds(), second.answered.Sub(first.asked).Seconds(); passed < 0.9*want*least || passed > 1.1*want*most {
		t.Errorf("%.2f s passed by a clock that runs at %v, in %.2f to %.2f s", passed, want, least, most)
	}
}

// TestClocks: only the wall clock moves, and keys expire by it.
func TestClocks(t *testing.T) {
	t.Parallel()
	m := one(t, Config{Clocks: true})
	wantAhead(t, m, 0, 0)

	do(t, m, "SET", "key", "value", "EX", 1000)
	did(t, m.MoveClock(time.Hour))
	wantAhead(t, m, time.Hour, 0)
	if there := do(t, m, "EXISTS", "key"); there != int64(0) {
		t.Error("a key that was to expire after 1000 s is still there when the clock is an hour ahead")
	}
	did(t, m.MoveClock(-3*time.Hour))
	wantAhead(t, m, -2*time.Hour, 0)
	did(t, m.Kill())
	did(t, m.Start())
	wantAhead(t, m, -2*time.Hour, 0)
	did(t, m.RightClock())
	wantAhead(t, m, 0, 0)

	runs := time.Now()
	did(t, m.RunClock(2))
	wantAhead(t, m, 0, time.Since(runs)+time.Second)
	wantPace(t, m, 2)
	const busy = 500 * time.Millisecond
	began := time.Now()
	did(t, m.Occupy(busy)) // by the monotonic clock
	if took := time.Since(began); took < busy {
		t.Errorf("while the clock runs at twice the speed, %v took %v", busy, took)
	}
	did(t, m.RunClock(1))
	if l := lookAt(t, m); l.told.Sub(l.asked) < 900*time.Millisecond {
		t.Errorf("the clock is %v ahead, want what it gained", l.told.Sub(l.asked))
	}
	did(t, m.RunClock(0.5))
	wantPace(t, m, 0.5)
	did(t, m.RunClock(10_000)) // shows if it goes on running
	did(t, m.RightClock())
	wantAhead(t, m, 0, 0)
}
