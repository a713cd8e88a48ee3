package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// network is between the clients and a service. It is an http.RoundTripper without sockets, so that
// a bubble owns its time. It delivers every request sooner or later, even when the client has given
// up: that is why a context is not enough of a fence.
type network struct {
	service http.Handler
	drop    string // if not empty, headers that begin with it are lost

	sent sync.WaitGroup // requests under way; the goroutine of each ends when it is delivered

	mu      sync.Mutex
	random  *rand.Rand
	landed  []landing
	refused int
}

// landing is a write that was accepted.
type landing struct{ generation, token int64 }

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	request := r.Clone(context.WithoutCancel(r.Context()))
	if r.Body != nil { // which the client may close before the delivery
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(data))
	}
	for key := range request.Header {
		if n.drop != "" && strings.HasPrefix(key, n.drop) {
			request.Header.Del(key)
		}
	}
	delay := n.delay()
	delivered := make(chan *http.Response, 1) // buffered, since the client may have given up
	n.sent.Go(func() {
		time.Sleep(delay)
		w := httptest.NewRecorder()
		n.service.ServeHTTP(w, request)
		n.record(request, w.Result())
		delivered <- w.Result()
	})
	select {
	case response := <-delivered:
		return response, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// delay is short most of the time; one in four may be longer than a worker waits for its request.
func (n *network) delay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	most := 50 * time.Millisecond
	if n.random.IntN(4) == 0 {
		most = 4 * time.Second
	}
	return time.Duration(n.random.Int64N(int64(most)))
}

func (n *network) record(request *http.Request, response *http.Response) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if request.Method != http.MethodPut {
		return
	}
	if response.StatusCode/100 != 2 {
		n.refused++
		return
	}
	etag := strings.Trim(response.Header.Get("ETag"), `"`)
	generation, err := strconv.ParseInt(etag, 10, 64)
	if err != nil {
		panic(err) // the services of this package have such ETags
	}
	token := tokenOf(cmp.Or(request.Header.Get(tokenHeader), request.Header.Get(tokenMetadata)))
	n.landed = append(n.landed, landing{generation, token})
}

// disorder returns how many writes landed after one of a later hold. The service numbers the writes,
// so the order in which they were recorded does not matter.
func (n *network) disorder() (late int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.SortFunc(n.landed, func(a, b landing) int { return cmp.Compare(a.generation, b.generation) })
	newest := int64(0)
	for _, l := range n.landed {
		if l.token < newest {
			late++
		}
		newest = max(newest, l.token)
	}
	return late
}
