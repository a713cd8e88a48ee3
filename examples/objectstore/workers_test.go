package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

const (
	seeds   = 4
	workers = 3
	rounds  = 8 // of each worker
)

// blind writes without reading first. It stores its token only for the record.
type blind BucketClient

func (b *blind) Put(ctx context.Context, name string, data []byte) error {
	header := http.Header{tokenMetadata: {strconv.FormatInt(redlock.Token(ctx), 10)}}
	_, err := send(ctx, b.HTTP, http.MethodPut, b.URL, name, header, data)
	return err
}

// fence is a service and a client of it.
type fence struct {
	service func() http.Handler
	client  func(*http.Client) putter
	drop    string // see network
}

func newStore() http.Handler  { return new(Store).Handler() }
func newBucket() http.Handler { return new(Bucket).Handler() }

func storeClient(c *http.Client) putter  { return &StoreClient{URL: "http://store", HTTP: c} }
func bucketClient(c *http.Client) putter { return &BucketClient{URL: "http://bucket", HTTP: c} }
func blindClient(c *http.Client) putter  { return &blind{URL: "http://bucket", HTTP: c} }

// TestWorkers: no write of an older hold lands after one of a newer hold.
//
// Replay one seed: go test ./objectstore -run 'TestWorkers/.*/seed=3$' -v
// (The seed fixes the delays. The scheduler decides the order of events that fall into one instant
// of the bubble.)
func TestWorkers(t *testing.T) {
	for name, f := range map[string]fence{
		"Store":  {newStore, storeClient, ""},
		"Bucket": {newBucket, bucketClient, ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			for seed := range uint64(seeds) {
				t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
					late, stale := simulate(t, seed, f)
					if late > 0 {
						t.Errorf("%d writes landed after one of a later hold", late)
					}
					refused += stale
				})
			}
			if refused == 0 {
				t.Error("nothing was refused: no write was late, and this test has shown nothing")
			}
		})
	}
}

// The test above fails with less of a fence, even though each worker obeys its context.
func TestWorkersUnfenced(t *testing.T) {
	for name, f := range map[string]fence{
		"no check":             {newBucket, blindClient, ""},
		"look without a match": {newBucket, bucketClient, "If-"},
	} {
		t.Run(name, func(t *testing.T) {
			const tries = 4 * seeds
			for seed := range uint64(tries) {
				if late, _ := simulate(t, seed, f); late > 0 {
					return
				}
			}
			t.Errorf("no seed of %d shows a write that landed after one of a later hold", tries)
		})
	}
}

// simulate lets workers write over a network that delays requests. It returns how many writes
// landed after one of a later hold, and how many the service refused.
func simulate(t *testing.T, seed uint64, f fence) (late, refused int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		n := &network{service: f.service(), drop: f.drop, random: rand.New(rand.NewPCG(seed, 0))}
		objects := f.client(&http.Client{Transport: n})
		var work sync.WaitGroup
		for range workers {
			client := newClient(t, fleet)
			work.Go(func() {
				for range rounds {
					if err := update(t.Context(), client, objects); err != nil {
						t.Error(err)
					}
				}
			})
		}
		work.Wait()
		n.sent.Wait()
		late, refused = n.disorder(), n.refused
		t.Logf("seed %d: %d writes landed, %d late; %d were refused", seed, len(n.landed), late, refused)
	})
	return late, refused
}

// update writes once, as a worker should: it obeys the context of its hold, gives up a request that
// takes too long, and unlocks only after that. Yet its write may still be on its way.
func update(ctx context.Context, client *redlock.Client, objects putter) error {
	err := client.Do(ctx, lockName, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return publish(ctx, objects, "by a worker")
	})
	if errors.Is(err, ErrStale) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// newClient returns a new client, as another process would have it.
func newClient(t *testing.T, fleet *redlocktest.Fleet) *redlock.Client {
	t.Helper()
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}
