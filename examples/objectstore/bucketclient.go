package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"example.com/redlock/redlock"
)

// tokenMetadata is the metadata header that holds the token.
const tokenMetadata = metadataPrefix + tokenHeader

// BucketClient writes to a bucket, see [NewBucket], which cannot compare tokens, in a compare-and-set loop: read
// the ETag, and the token in the metadata; if the token is not that of a later hold, write on the
// condition that the ETag is still the same.
//
// This is as safe as a service that compares tokens itself: whatever lands between the read and
// the write changes the ETag, so the write replaces what was read or nothing.
//
// Every write must change the ETag. That of S3 is a hash of the data, without the metadata: when a
// later hold writes the same bytes with its larger token, the ETag stays the same, and an older
// hold could then replace the data and the token. On S3, put the token into the data as well, as a
// field or a first line. A GCS generation is fine as it is. The bucket must not have rules that
// delete objects: the token goes with them.
type BucketClient struct {
	URL  string // of the bucket, without a slash at its end
	HTTP *http.Client
}

// Put stores data, with the fencing token of the hold that ctx belongs to: see
// [StoreClient.Put], also for its errors.
//
// Cost: two requests, and two more for each other write that lands in between.
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
		// Another write came first. The loop needs neither a limit nor a pause: older holds can
		// only have a few writes on their way, and after a write of a later hold the next read
		// returns ErrStale.
	}
}

// try reads and writes once. It returns false when another write landed in between.
func (c *BucketClient) try(ctx context.Context, name string, data []byte, token int64) (done bool, err error) {
	old, err := send(ctx, c.HTTP, http.MethodHead, c.URL, name, nil, nil)
	if err != nil {
		return false, err
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
		return false, old
	}
	written, err := send(ctx, c.HTTP, http.MethodPut, c.URL, name, header, data)
	switch {
	case err != nil:
		return false, err
	case written.status == http.StatusPreconditionFailed:
		return false, nil // on S3, also 409 and 404: see NewBucket
	case written.status/100 != 2:
		return false, written
	}
	return true, nil
}
