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

// Errors of both clients.
var (
	// ErrStale says that a later hold has written the object. It is final.
	ErrStale = errors.New("objects: stale fencing token")
	// ErrNoLock says that the context does not belong to a hold: a mistake in the program,
	// found before the request is sent.
	ErrNoLock = errors.New("objects: write without a lock")
)

// StoreClient writes to a service that compares tokens: see [NewStore].
type StoreClient struct {
	URL  string // of the service, without a slash at its end
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
// cannot be called back, which is why the service checks the token.
func (c *StoreClient) Put(ctx context.Context, name string, data []byte) error {
	token := redlock.Token(ctx)
	if token == 0 {
		return ErrNoLock
	}
	header := http.Header{tokenHeader: {strconv.FormatInt(token, 10)}}
	got, err := send(ctx, c.HTTP, http.MethodPut, c.URL, name, header, data)
	switch {
	case err != nil:
		return err
	case got.status == http.StatusConflict:
		return fmt.Errorf("%w: %q has seen %s, this is %d", ErrStale, name, got.header.Get(tokenHeader), token)
	case got.status/100 != 2:
		return got
	}
	return nil
}

// answer is the part of a response that the clients need. As an error, it says that the status was not expected.
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
func send(ctx context.Context, client *http.Client, method, base, name string, header http.Header, data []byte) (answer, error) {
	a := answer{url: base + "/objects/" + url.PathEscape(name)}
	request, err := http.NewRequestWithContext(ctx, method, a.url, bytes.NewReader(data))
	if err != nil {
		return a, err
	}
	maps.Copy(request.Header, header)
	response, err := client.Do(request)
	if err != nil {
		return a, fmt.Errorf("objects: %w", err) // with the method and the URL
	}
	defer response.Body.Close()
	// If the body is not read to its end, the connection cannot be reused.
	text, err := io.ReadAll(io.LimitReader(response.Body, maxText))
	a.status, a.header, a.text = response.StatusCode, response.Header, strings.TrimSpace(string(text))
	return a, err
}
