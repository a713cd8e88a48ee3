package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// newClient returns a new client of the fleet, as another replica would have it.
func newClient(t *testing.T, fleet *redlocktest.Fleet, config redlock.Config) *redlock.Client {
	t.Helper()
	config.Pools = fleet.Pools()
	client, err := redlock.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// call sends a request to a replica's handler.
func call(t *testing.T, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return answer
}

func TestShip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		replica := newHandler(newClient(t, fleet, redlock.Config{}), ship)
		other := newClient(t, fleet, redlock.Config{})

		if got := call(t, replica, "POST", "/orders/42/ship"); got.Code != http.StatusOK {
			t.Errorf("ship = %d, want 200", got.Code)
		}
		hold, err := other.Lock(t.Context(), "orders:42")
		if err != nil {
			t.Fatal(err)
		}

		began := time.Now()
		got := call(t, replica, "POST", "/orders/42/ship")
		if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "2" {
			t.Errorf("ship while it is locked = %d, Retry-After %q, want 503 and 2", got.Code, got.Header().Get("Retry-After"))
		}
		if waited := time.Since(began).Round(100 * time.Millisecond); waited != budget {
			t.Errorf("it waited for %v, want the budget of %v", waited, budget)
		}
		if got := call(t, replica, "DELETE", "/orders/42"); got.Code != http.StatusConflict {
			t.Errorf("cancel while it is locked = %d, want 409", got.Code)
		}

		time.AfterFunc(budget/2, func() { _ = hold.Unlock(context.Background()) })
		if got := call(t, replica, "POST", "/orders/42/ship"); got.Code != http.StatusOK {
			t.Errorf("ship, unlocked within the budget = %d, want 200", got.Code)
		}
		if got := call(t, replica, "DELETE", "/orders/42"); got.Code != http.StatusOK {
			t.Errorf("cancel = %d, want 200", got.Code)
		}
	})
}

// Masters that restarted tell callers when to come back.
func TestGuarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		for _, master := range fleet.Masters() {
			master.Restart()
		}
		replica := newHandler(newClient(t, fleet, redlock.Config{}), ship)
		got := call(t, replica, "POST", "/orders/42/ship")
		if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "30" {
			t.Errorf("ship = %d, Retry-After %q, want 503 and 30", got.Code, got.Header().Get("Retry-After"))
		}
		if got := call(t, replica, "GET", "/ready"); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "restarted lately") {
			t.Errorf("ready = %d %s, want 503 and why", got.Code, got.Body)
		}
		time.Sleep(30 * time.Second)
		if got := call(t, replica, "GET", "/ready"); got.Code != http.StatusOK {
			t.Errorf("ready = %d %s, want 200", got.Code, got.Body)
		}
	})
}

// A service that is told to stop finishes the request that it serves, and leaves no lock behind.
// Sockets take real time.
func TestShutdown(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, terminate := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener, redlock.Config{Pools: fleet.Pools()}) }()

	code := make(chan int, 1)
	go func() {
		answer, err := http.Post("http://"+listener.Addr().String()+"/orders/42/ship", "", nil)
		if err != nil {
			t.Error(err)
			code <- 0
			return
		}
		defer answer.Body.Close()
		code <- answer.StatusCode
	}()
	for began := time.Now(); fleet.Master(0).Holder("orders:42") == ""; time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("the request takes no lock")
		}
	}
	terminate()
	if got := <-code; got != http.StatusOK {
		t.Errorf("the request that was being served got %d, want 200", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("run = %v", err)
	}
	if holder := fleet.Master(0).Holder("orders:42"); holder != "" {
		t.Errorf("%s still has the lock", holder)
	}
}
