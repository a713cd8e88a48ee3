package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// The story prints what ../README.md shows. It uses sockets, so it takes real time.
func TestStory(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	check.OK(t, run(t.Context(), &out))
	check.Shows(t, "../README.md", out.String())
}

// Put finds the hold's token in the context, and sends nothing if there is none.
func TestPut(t *testing.T) {
	client := newClient(t)
	service := httptest.NewServer(NewBucket())
	defer service.Close()
	objects := &Client{service.URL, service.Client()}
	if err := publish(t.Context(), objects, "nobody"); !errors.Is(err, ErrNoLock) {
		t.Errorf("Put without a lock = %v, want %v", err, ErrNoLock)
	}
	var token int64
	err := client.Do(t.Context(), lockName, func(ctx context.Context) error {
		token = redlock.Token(ctx)
		return errors.Join(publish(ctx, objects, "first"), publish(ctx, objects, "second"))
	})
	check.OK(t, err, "two Puts under one hold")
	got, err := objects.send(t.Context(), http.MethodHead, objectName, nil, nil)
	check.OK(t, err)
	if seen := got.header.Get(tokenMetadata); seen != strconv.FormatInt(token, 10) || token == 0 {
		t.Errorf("the bucket has seen token %s, want %d", seen, token)
	}
}

// newClient returns a client of three masters.
func newClient(t *testing.T) *redlock.Client {
	t.Helper()
	client, err := redlock.New(redlock.Config{Pools: redlocktest.Start(t, 3).Pools()})
	check.OK(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A write that lands between the two requests of a Put is seen, whether or not there was an object
// before: that of a later hold stays, and that of an older one is replaced.
func TestOvertaken(t *testing.T) {
	client := newClient(t)
	for name, tt := range map[string]struct {
		// What was written at first, if anything, and what overtakes: by how much its token is above the hold's.
		before, other int64
		want          error
	}{
		"new, by a later hold":      {0, 1, ErrStale},
		"new, by an older hold":     {0, -1, nil},
		"written, by a later hold":  {-2, 1, ErrStale},
		"written, by an older hold": {-2, -1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			service := httptest.NewServer(NewBucket())
			defer service.Close()
			err := client.Do(t.Context(), lockName, func(ctx context.Context) error {
				other := &Client{service.URL, service.Client()}
				write := func(above int64) {
					token := http.Header{tokenMetadata: {strconv.FormatInt(redlock.Token(ctx)+above, 10)}}
					if got, err := other.send(ctx, http.MethodPut, objectName, token, []byte("by another")); err != nil || got.status/100 != 2 {
						t.Errorf("PUT = %d, %v", got.status, err)
					}
				}
				if tt.before != 0 {
					write(tt.before)
				}
				overtake := sync.OnceFunc(func() { write(tt.other) })
				between := roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPut {
						overtake()
					}
					return http.DefaultTransport.RoundTrip(r)
				})
				objects := &Client{service.URL, &http.Client{Transport: between}}
				if err := publish(ctx, objects, "me"); !errors.Is(err, tt.want) {
					t.Errorf("Put = %v, want %v", err, tt.want)
				}
				got, err := other.send(ctx, http.MethodGet, objectName, nil, nil)
				if mine := got.text == "report, me"; mine != (tt.want == nil) {
					t.Errorf("the object is %q", got.text)
				}
				return err
			})
			check.OK(t, err)
		})
	}
}
