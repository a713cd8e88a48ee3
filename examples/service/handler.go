package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"example.com/redlock/redlock"
)

// budget is how long a request may wait for its lock. It is well below the deadline of whoever calls,
// so that an answer still reaches them.
const budget = 2 * time.Second

type handler struct {
	client *redlock.Client
	ship   func(ctx context.Context, order string, token int64) error
}

func newHandler(client *redlock.Client, ship func(context.Context, string, int64) error) http.Handler {
	h := &handler{client: client, ship: ship}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders/{id}/ship", h.shipOrder)
	mux.HandleFunc("DELETE /orders/{id}", h.cancelOrder)
	mux.HandleFunc("GET /ready", h.ready)
	return mux
}

// shipOrder waits for the order's lock as long as its budget lasts.
func (h *handler) shipOrder(w http.ResponseWriter, r *http.Request) {
	order := r.PathValue("id")
	wait, cancel := context.WithTimeout(r.Context(), budget)
	defer cancel()
	hold, err := h.client.Lock(wait, "orders:"+order)
	if err != nil {
		refuse(w, err)
		return
	}
	defer hold.Unlock(context.WithoutCancel(r.Context())) // if ship panics
	// Under the hold's context, the work goes on when the caller hangs up.
	err = h.ship(hold.Context(), order, hold.Token())
	if err := errors.Join(err, hold.Unlock(context.WithoutCancel(r.Context()))); err != nil {
		slog.Error("ship", "order", order, "error", err)
		http.Error(w, "not shipped, or not for certain", http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, "shipped, with fencing token", hold.Token())
}

// cancelOrder does not wait: while somebody ships the order, it is too late to cancel it.
func (h *handler) cancelOrder(w http.ResponseWriter, r *http.Request) {
	hold, err := h.client.TryLock(r.Context(), "orders:"+r.PathValue("id"))
	if errors.Is(err, redlock.ErrTaken) {
		http.Error(w, "the order is being shipped", http.StatusConflict)
		return
	}
	if err != nil {
		refuse(w, err)
		return
	}
	defer hold.Unlock(r.Context()) // nothing was done that a loss could harm
	fmt.Fprintln(w, "canceled")
}

// ready is for the load balancer: it answers within 0.1 s, and says which master lacks what.
func (h *handler) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 100*time.Millisecond)
	defer cancel()
	if err := h.client.Ready(ctx); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// refuse answers a request that did not get its lock: 503, and when to try again.
func refuse(w http.ResponseWriter, err error) {
	slog.Warn("no lock", "error", err) // says what each master answered
	after := budget
	switch {
	case errors.Is(err, redlock.ErrGuarded): // the masters restarted, and say for how long they wait
		if why, ok := errors.AsType[*redlock.MajorityError](err); ok {
			after = why.Guard
		}
	case errors.Is(err, redlock.ErrNoQuorum), errors.Is(err, redlock.ErrTaken):
	default:
		http.Error(w, "no lock", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	http.Error(w, "busy", http.StatusServiceUnavailable)
}
