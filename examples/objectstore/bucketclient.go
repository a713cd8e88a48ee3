package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"example.com/redlock/redlock"
)

// tokenMetadata is where the token is in an object's metadata.
const tokenMetadata = metadataPrefix + tokenHeader

// BucketClient writes to a [Bucket], which cannot compare tokens, by a loop of compare and
// set: read the token in the metadata and the ETag; if the token is not that of a later
// hold, write on the condition that the ETag is still the same.
//
// It is as safe as a service that compares tokens itself: whatever lands between the look
// and the write changes the ETag, so the write replaces what was looked at or nothing.
//
// This asks of the store that every write changes the ETag. That of S3 is a hash of the
// data, without the metadata: a later hold that writes the same bytes with its larger token
// leaves it as it was, and an older one could then replace them, and the token. On S3, put
// the token into the data as well, as a field or a first line. A GCS generation is fine as
// it is. The bucket must not have rules that delete objects: the token goes with them.
type BucketClient struct {
	URL  string // of the bucket, without a slash at its end
	HTTP *http.Client
}

// Put stores data, with the fencing token of the hold that ctx belongs to: see
// [StoreClient.Put], also for its errors.
//
// Cost: two requests; two more for each other write that lands in between.
func (c *BucketClient) Put(ctx context.Context, name string, data []byte) error {
	token := redlock.Token(ctx)
	if token == 0 {
		return ErrNoLock
	}
	for {
		done, err := c.try(ctx, name, data, token)
		if done || err != nil {
			return err
		}
		// Another write was faster. This ends, without a bound or a pause: those of older
		// holds can only be the few that were on their way, and after one of a later hold
		// the next look says ErrStale.
	}
}

// try looks and writes once. It is not done when another write landed in between.
func (c *BucketClient) try(ctx context.Context, name string, data []byte, token int64) (done bool, err error) {
	old, err := send(ctx, c.HTTP, http.MethodHead, c.URL, name, nil, nil)
	if err != nil {
		return false, fmt.Errorf("objects: look at %q: %w", name, err)
	}
	header := http.Header{tokenMetadata: {strconv.FormatInt(token, 10)}}
	switch old.status {
	case http.StatusOK:
		if newest := tokenOf(old.header.Get(tokenMetadata)); newest > token {
			return false, fmt.Errorf("%w: %q has seen %d, this is %d", ErrStale, name, newest, token)
		}
		header.Set("If-Match", old.header.Get("ETag"))
	case http.StatusNotFound:
		header.Set("If-None-Match", "*")
	default:
		return false, fmt.Errorf("objects: look at %q: %w", name, old)
	}
	written, err := send(ctx, c.HTTP, http.MethodPut, c.URL, name, header, data)
	switch {
	case err != nil:
		return false, fmt.Errorf("objects: put %q: %w", name, err)
	case written.status == http.StatusPreconditionFailed:
		return false, nil // on S3, also 409 and 404: see Bucket
	case written.status/100 != 2:
		return false, fmt.Errorf("objects: put %q: %w", name, written)
	}
	return true, nil
}
