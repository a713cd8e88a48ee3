package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// The story prints what ../README.md shows. It uses sockets, so it takes real time.
func TestStory(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := anyTokens(out.String()); !strings.Contains(anyTokens(string(readme)), got) {
		t.Errorf("not in README.md:\n%s", got)
	}
}

// anyTokens replaces the tokens in text, which are microseconds of the wall clock.
func anyTokens(text string) string {
	return regexp.MustCompile(`\b\d{15,16}\b`).ReplaceAllString(text, "TOKEN")
}

// What the store answers after it has seen the token 7.
func TestStore(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header map[string]string
		size   int
		status int
	}{
		{"a newer hold", map[string]string{tokenHeader: "8"}, 1, http.StatusOK},
		{"the same hold", map[string]string{tokenHeader: "7"}, 1, http.StatusOK},
		{"an older hold", map[string]string{tokenHeader: "6"}, 1, http.StatusConflict},
		{"not compared as text", map[string]string{tokenHeader: "10"}, 1, http.StatusOK},
		{"no token", nil, 1, http.StatusPreconditionRequired},
		{"not a number", map[string]string{tokenHeader: "x"}, 1, http.StatusBadRequest},
		{"zero", map[string]string{tokenHeader: "0"}, 1, http.StatusBadRequest},
		{"too large an object", map[string]string{tokenHeader: "8"}, maxObject + 1, http.StatusRequestEntityTooLarge},
		{"If-Match", map[string]string{tokenHeader: "8", "If-Match": `"1"`}, 1, http.StatusOK},
		{"If-Match of another", map[string]string{tokenHeader: "8", "If-Match": `"9"`}, 1, http.StatusPreconditionFailed},
		{"stale and If-Match of another", map[string]string{tokenHeader: "6", "If-Match": `"9"`}, 1, http.StatusConflict},
		{"If-None-Match", map[string]string{tokenHeader: "8", "If-None-Match": "*"}, 1, http.StatusPreconditionFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			service := httptest.NewServer(new(Store).Handler())
			defer service.Close()
			put := func(header map[string]string, size int) int {
				h := http.Header{}
				for key, value := range header {
					h.Set(key, value)
				}
				got, err := send(t.Context(), service.Client(), http.MethodPut, service.URL, "a/b", h, make([]byte, size))
				if err != nil {
					t.Fatal(err)
				}
				return got.status
			}
			if got := put(map[string]string{tokenHeader: "7"}, 1); got != http.StatusCreated {
				t.Fatalf("first PUT = %d, want %d", got, http.StatusCreated)
			}
			if got := put(tt.header, tt.size); got != tt.status {
				t.Errorf("PUT = %d, want %d", got, tt.status)
			}
		})
	}
}

// Both clients find the hold's token in the context, and send nothing if there is none.
func TestPut(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name, f := range map[string]struct {
		service http.Handler
		client  func(url string, c *http.Client) putter
		header  string
	}{
		"Store":  {new(Store).Handler(), func(url string, c *http.Client) putter { return &StoreClient{url, c} }, tokenHeader},
		"Bucket": {new(Bucket).Handler(), func(url string, c *http.Client) putter { return &BucketClient{url, c} }, tokenMetadata},
	} {
		t.Run(name, func(t *testing.T) {
			service := httptest.NewServer(f.service)
			defer service.Close()
			objects := f.client(service.URL, service.Client())
			if err := publish(t.Context(), objects, "nobody"); !errors.Is(err, ErrNoLock) {
				t.Errorf("Put without a lock = %v, want %v", err, ErrNoLock)
			}
			var token int64
			err := client.Do(t.Context(), lockName, func(ctx context.Context) error {
				token = redlock.Token(ctx)
				return errors.Join(publish(ctx, objects, "first"), publish(ctx, objects, "second"))
			})
			if err != nil {
				t.Fatalf("two Puts under one hold = %v, want nil", err)
			}
			got, err := send(t.Context(), service.Client(), http.MethodHead, service.URL, objectName, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if seen := tokenOf(got.header.Get(f.header)); seen != token || token == 0 {
				t.Errorf("the service has seen token %d, want %d", seen, token)
			}
		})
	}
}

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A write that lands between the two requests of a BucketClient is seen, whether or not there was an object
// before: that of a later hold stays, and that of an older one is replaced.
func TestBucketClientIsOvertaken(t *testing.T) {
	client, err := redlock.New(redlock.Config{Pools: redlocktest.Start(t, 3).Pools()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for name, tt := range map[string]struct {
		before []int64 // what was written at first: how much its token is above that of the hold
		other  int64   // what overtakes
		want   error
	}{
		"new, by a later hold":      {nil, 1, ErrStale},
		"new, by an older hold":     {nil, -1, nil},
		"written, by a later hold":  {[]int64{-2}, 1, ErrStale},
		"written, by an older hold": {[]int64{-2}, -1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			service := httptest.NewServer(new(Bucket).Handler())
			defer service.Close()
			err := client.Do(t.Context(), lockName, func(ctx context.Context) error {
				put := func(above int64) {
					header := http.Header{tokenMetadata: {strconv.FormatInt(redlock.Token(ctx)+above, 10)}}
					if got, err := send(ctx, service.Client(), http.MethodPut, service.URL, objectName, header, []byte("by another")); err != nil || got.status/100 != 2 {
						t.Errorf("PUT = %v, %v", got, err)
					}
				}
				for _, above := range tt.before {
					put(above)
				}
				overtake := sync.OnceFunc(func() { put(tt.other) })
				between := roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPut {
						overtake()
					}
					return http.DefaultTransport.RoundTrip(r)
				})
				objects := &BucketClient{service.URL, &http.Client{Transport: between}}
				if err := publish(ctx, objects, "me"); !errors.Is(err, tt.want) {
					t.Errorf("Put = %v, want %v", err, tt.want)
				}
				got, err := send(ctx, service.Client(), http.MethodGet, service.URL, objectName, nil, nil)
				if mine := got.text == "report, me"; mine != (tt.want == nil) {
					t.Errorf("the object is %q", got.text)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
