package redlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := redlocktest.Start(t, 5)
		c, err := New(Config{Pools: f.Pools(), RestartGuard: -1})
		if err != nil {
			t.Fatal(err)
		}
		d, err := New(Config{Pools: f.Pools(), RestartGuard: -1})
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		start := time.Now()
		l, err := c.Lock(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		t.Log(time.Since(start), l.Owner(), l.Token(), l.Remaining())
		if _, err := d.TryLock(ctx, "a"); !errors.Is(err, ErrTaken) {
			t.Fatal(err)
		} else {
			t.Log(err)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		_, err = d.Lock(short, "a")
		cancel()
		t.Log(err, errors.Is(err, ErrTaken), errors.Is(err, context.DeadlineExceeded))
		l2, err := c.Lock(l.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		t.Log(l2.Count())
		in, err := d.Inspect(ctx, "a")
		t.Logf("%+v %v", in, err)
		f.Master(0).Kill()
		f.Master(1).Kill()
		time.Sleep(2 * time.Minute)
		t.Log(l.Remaining(), l.Context().Err())
		if err := l2.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		f.Master(2).Kill()
		_, err = d.TryLock(ctx, "b")
		t.Log(err)
		time.Sleep(2 * time.Minute)
		t.Log(l.Remaining(), context.Cause(l.Context()))
		t.Log(l.Unlock(ctx))
		t.Log(l.Unlock(ctx))
		f.Master(2).Restart()
		time.Sleep(time.Second)
		go func() {
			l, err := d.Lock(ctx, "a")
			t.Log("d locked", l, err)
			time.Sleep(time.Second)
			l.Unlock(ctx)
		}()
		synctest.Wait()
		start = time.Now()
		l, err = c.Lock(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		t.Log(time.Since(start), l.Unlock(ctx))
		c.Close()
		d.Close()
	})
}
