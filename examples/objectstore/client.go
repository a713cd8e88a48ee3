package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"example.com/redlock/redlock"
)

var (
	// ErrStale says that a later hold has written the object. It is final.
	ErrStale = errors.New("objects: stale fencing token")
	// ErrNoLock says that the context does not belong to a hold: a mistake in the program,
	// found before the request is sent.
	ErrNoLock = errors.New("objects: write without a lock")
)

// tokenMetadata is the metadata header that holds the token.
const tokenMetadata = metadataPrefix + "Fencing-Token"

// Client writes to a bucket, see [NewBucket], which cannot compare tokens, in a compare-and-set loop: read
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
type Client struct {
	URL  string // of the bucket, without a slash at its end
	HTTP *http.Client
}

// Put stores data, with the fencing token of the hold that ctx belongs to. The functions between
// the one that locked and this one need not know about tokens: they only pass ctx on, as they do
// anyway.
//
// The innermost hold counts, so ctx must not belong to another lock that was taken meanwhile for
// something else. Where locks are nested, pass the token as an argument, as ../sqlrow does.
//
// ErrStale: a later hold has written the object. ErrNoLock: ctx has no token. After any other
// error, that of ctx included, data may be stored, now or later: a request that is on its way
// cannot be called back, which is why there is a fence.
//
// Cost: two requests, and two more for each other write that lands in between.
func (c *Client) Put(ctx context.Context, name string, data []byte) error {
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
func (c *Client) try(ctx context.Context, name string, data []byte, token int64) (done bool, err error) {
	old, err := c.send(ctx, http.MethodHead, name, nil, nil)
	if err != nil {
		return false, err
	}
	header := http.Header{tokenMetadata: {strconv.FormatInt(token, 10)}}
	switch old.status {
	case http.StatusOK:
		// Without a token, the object was never fenced.
		if newest, _ := strconv.ParseInt(old.header.Get(tokenMetadata), 10, 64); newest > token {
			return false, fmt.Errorf("%w: %q has seen %d, this is %d", ErrStale, name, newest, token)
		}
		header.Set("If-Match", old.header.Get("ETag"))
	case http.StatusNotFound:
		header.Set("If-None-Match", "*")
	default:
		return false, old
	}
	written, err := c.send(ctx, http.MethodPut, name, header, data)
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

// answer is the part of a response that the client needs. As an error, it says that the status was not expected.
type answer struct {
	url    string
	status int
	header http.Header
	text   string // the beginning of the body
}

// maxText bounds how much of an answer is read, in bytes.
const maxText = 1 << 10

func (a answer) Error() string {
	return fmt.Sprintf("objects: %s: status %d: %s", a.url, a.status, a.text)
}

// send makes a request about an object. It does not interpret the status.
func (c *Client) send(ctx context.Context, method, name string, header http.Header, data []byte) (answer, error) {
	a := answer{url: c.URL + "/objects/" + url.PathEscape(name)}
	request, err := http.NewRequestWithContext(ctx, method, a.url, bytes.NewReader(data))
	if err != nil {
		return a, err
	}
	maps.Copy(request.Header, header)
	response, err := c.HTTP.Do(request)
	if err != nil {
		return a, fmt.Errorf("objects: %w", err) // with the method and the URL
	}
	defer response.Body.Close()
	// If the body is not read to its end, the connection cannot be reused.
	text, err := io.ReadAll(io.LimitReader(response.Body, maxText))
	a.status, a.header, a.text = response.StatusCode, response.Header, strings.TrimSpace(string(text))
	return a, err
}
