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

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// newClient returns a new client of the fleet, as another replica would have it.
func newClient(t *testing.T, fleet *redlocktest.Fleet, config redlock.Config) *redlock.Client {
	t.Helper()
	config.Pools = fleet.Pools()
	client, err := redlock.New(config)
	check.OK(t, err)
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

		check.Equal(t, call(t, replica, "POST", "/orders/42/ship").Code, http.StatusOK, "ship")
		hold, err := other.Lock(t.Context(), "orders:42")
		check.OK(t, err)

		began := time.Now()
		got := call(t, replica, "POST", "/orders/42/ship")
		if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "2" {
			t.Errorf("ship while it is locked = %d, Retry-After %q, want 503 and 2", got.Code, got.Header().Get("Retry-After"))
		}
		check.Equal(t, time.Since(began).Round(100*time.Millisecond), budget, "it waited for")
		check.Equal(t, call(t, replica, "DELETE", "/orders/42").Code, http.StatusConflict, "cancel while it is locked")

		time.AfterFunc(budget/2, func() { _ = hold.Unlock(context.Background()) })
		check.Equal(t, call(t, replica, "POST", "/orders/42/ship").Code, http.StatusOK, "ship, unlocked within the budget")
		check.Equal(t, call(t, replica, "DELETE", "/orders/42").Code, http.StatusOK, "cancel")
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
		check.Equal(t, call(t, replica, "GET", "/ready").Code, http.StatusOK, "ready")
	})
}

// A service that is told to stop finishes the request that it serves, and leaves no lock behind.
// Sockets take real time.
func TestShutdown(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
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
	check.Eventually(t, "the request takes its lock", func() bool { return fleet.Master(0).Holder("orders:42") != "" })
	terminate()
	check.Equal(t, <-code, http.StatusOK, "the request that was being served got")
	check.OK(t, <-ended, "run")
	check.Equal(t, fleet.Master(0).Holder("orders:42"), "", "who still has the lock")
}
