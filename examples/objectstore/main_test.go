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

// put writes an object with these headers, and returns the status.
func put(t *testing.T, service *httptest.Server, header map[string]string, data []byte) int {
	t.Helper()
	h := http.Header{}
	for key, value := range header {
		h.Set(key, value)
	}
	got, err := send(t.Context(), service.Client(), http.MethodPut, service.URL, objectName, h, data)
	if err != nil {
		t.Fatal(err)
	}
	return got.status
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
			service := httptest.NewServer(NewStore())
			defer service.Close()
			if got := put(t, service, map[string]string{tokenHeader: "7"}, nil); got != http.StatusCreated {
				t.Fatalf("first PUT = %d, want %d", got, http.StatusCreated)
			}
			if got := put(t, service, tt.header, make([]byte, tt.size)); got != tt.status {
				t.Errorf("PUT = %d, want %d", got, tt.status)
			}
		})
	}
}

// Both clients find the hold's token in the context, and send nothing if there is none.
func TestPut(t *testing.T) {
	client := newClient(t)
	for name, f := range map[string]struct {
		service http.Handler
		client  func(url string, c *http.Client) putter
		header  string
	}{
		"Store":  {NewStore(), func(url string, c *http.Client) putter { return &StoreClient{url, c} }, tokenHeader},
		"Bucket": {NewBucket(), func(url string, c *http.Client) putter { return &BucketClient{url, c} }, tokenMetadata},
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

// newClient returns a client of three masters.
func newClient(t *testing.T) *redlock.Client {
	t.Helper()
	client, err := redlock.New(redlock.Config{Pools: redlocktest.Start(t, 3).Pools()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A write that lands between the two requests of a BucketClient is seen, whether or not there was an object
// before: that of a later hold stays, and that of an older one is replaced.
func TestBucketClientIsOvertaken(t *testing.T) {
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
				write := func(above int64) {
					token := strconv.FormatInt(redlock.Token(ctx)+above, 10)
					if status := put(t, service, map[string]string{tokenMetadata: token}, []byte("by another")); status/100 != 2 {
						t.Errorf("PUT = %d", status)
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
