// Package goredis turns the options of go-redis clients into masters, so that a service has its addresses,
// certificates and passwords in one place:
//
//	cfg, err := goredis.Config(options...) // a *redis.Options for each master
//	…
//	client, err := redlock.New(cfg)
//
// Until the project is published, a module that uses it needs two replacements:
//
//	go mod edit -replace example.com/redlock=../redlock -replace example.com/redlock/goredis=../redlock/goredis
//
// # Concurrency
//
// Config may be called from any goroutine. The functions in the options are called from several.
//
// # Errors
//
// Config refuses options that a lock cannot honour; [redlock.New] refuses the rest as usual.
package goredis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"

	"example.com/redlock/redlock"
)

// Config returns a redlock.Config for independent masters, each of which has the options of a go-redis
// client of its own. Everything but Masters, Credentials and Dial is left for the caller to set.
//
// It takes over Network, Addr, DB, TLSConfig and Dialer, and for user and password what go-redis would:
// StreamingCredentialsProvider, CredentialsProviderContext, CredentialsProvider, or Username and Password.
// These are asked at each connection. A connection that lives is not authenticated again when a streaming
// provider has new credentials; where the server closes it instead, the next one has them.
//
// The options of a client that runs, Client.Options, do as well. There go-redis has filled in Dialer. As in go-redis,
// a Dialer does everything by itself, and TLSConfig is only for where there is none.
//
// Options that limit or change what is sent cannot be honoured, and are an error: Limiter and OnConnect. Pools,
// timeouts, retries, buffers, Protocol and names are the go-redis client's own, and have no meaning here: see
// [redlock.Config]. Of them, DialTimeout bounds how long TCP and TLS take where there is a TLSConfig, or a Dialer that
// go-redis has filled in.
//
// Masters that are added to the Config have no options here, and are not connected to.
func Config(options ...*redis.Options) (redlock.Config, error) {
	cfg := redlock.Config{}
	masters := make(map[string]*redis.Options)
	for i, o := range options {
		address, name, err := addressOf(o)
		if err != nil {
			return cfg, fmt.Errorf("goredis: options %d: %w", i, err)
		}
		cfg.Masters = append(cfg.Masters, address)
		masters[name] = o
	}
	cfg.Credentials = func(ctx context.Context, master string) (user, password string, err error) {
		o := masters[master]
		if o == nil {
			return "", "", errUnknown(master)
		}
		return credentials(ctx, o)
	}
	if slices.ContainsFunc(options, func(o *redis.Options) bool { return o.Dialer != nil || o.TLSConfig != nil }) {
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			o := masters[address]
			if o == nil { // its URL has a password
				return nil, errUnknown(address)
			}
			return dial(ctx, o, network, address)
		}
	}
	return cfg, nil
}

func errUnknown(master string) error {
	return fmt.Errorf("goredis: no options for %s: give Config those of each master", master)
}

// addressOf returns a master's URL, and its name as redlock has it.
func addressOf(o *redis.Options) (address, name string, err error) {
	switch {
	case o == nil:
		return "", "", errors.New("nil")
	case o.Limiter != nil:
		return "", "", errors.New("a Limiter is not asked by a lock")
	case o.OnConnect != nil:
		return "", "", errors.New("OnConnect needs a connection of go-redis")
	}
	if o.Network == "unix" || o.Network == "" && strings.HasPrefix(o.Addr, "/") {
		u := url.URL{Scheme: "unix", Path: o.Addr, RawQuery: "db=" + strconv.Itoa(o.DB)}
		return u.String(), o.Addr, nil
	}
	if o.Network != "" && o.Network != "tcp" {
		return "", "", fmt.Errorf("network %q, want tcp or unix", o.Network)
	}
	host, port, err := net.SplitHostPort(cmp.Or(o.Addr, "localhost:6379"))
	if err != nil {
		return "", "", err
	}
	name = net.JoinHostPort(cmp.Or(host, "localhost"), port)
	u := url.URL{Scheme: "redis", Host: name, Path: "/" + strconv.Itoa(o.DB)}
	return u.String(), name, nil
}

// credentials returns what go-redis would log in with now.
func credentials(ctx context.Context, o *redis.Options) (user, password string, err error) {
	switch {
	case o.StreamingCredentialsProvider != nil:
		now, unsubscribe, err := o.StreamingCredentialsProvider.Subscribe(deaf{})
		if err != nil {
			return "", "", err
		}
		user, password = now.BasicAuth()
		return user, password, unsubscribe()
	case o.CredentialsProviderContext != nil:
		return o.CredentialsProviderContext(ctx)
	case o.CredentialsProvider != nil:
		user, password = o.CredentialsProvider()
		return user, password, nil
	}
	return o.Username, o.Password, nil
}

// deaf hears of no later credentials: see Config.
type deaf struct{}

func (deaf) OnNext(auth.Credentials) {}
func (deaf) OnError(error)           {}

// dial connects as go-redis would, but not for longer than ctx. With the timeout, several addresses of a name have a
// share of it each.
func dial(ctx context.Context, o *redis.Options, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: cmp.Or(o.DialTimeout, 5*time.Second)}
	switch {
	case o.Dialer != nil:
		return o.Dialer(ctx, network, address)
	case o.TLSConfig != nil:
		secure := o.TLSConfig.Clone()
		if verify := secure.VerifyConnection; verify != nil { // as redlock.Config.TLS has it
			host, _, _ := net.SplitHostPort(address)
			secure.VerifyConnection = func(s tls.ConnectionState) error {
				s.ServerName = cmp.Or(secure.ServerName, host)
				return verify(s)
			}
		}
		return (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, network, address)
	}
	return dialer.DialContext(ctx, network, address)
}
