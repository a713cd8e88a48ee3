package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"example.com/redlock/internal/awake"
)

const (
	// tcpTimeout is how long one address may take to connect: less than until TCP would try again by itself.
	tcpTimeout = FirstPatience * 3 / 4

	// headStart is how long an address has before the next one of the same name is tried as well. The first may drop whatever
	// comes, as IPv6 often does where it leads nowhere. It is shorter than the default Config.Timeout, so that
	// the master does not go down meanwhile. RFC 8305 has the same.
	headStart = 250 * time.Millisecond

	// mostAddresses bounds how many addresses of a name are tried.
	mostAddresses = 8
)

// reach makes the connection under TLS and Redis. ctx bounds the look-up of a name, which may take long where
// tcpTimeout must not.
func (d Dialer) reach(ctx context.Context, network, address string) (net.Conn, error) {
	switch {
	case d.Dial != nil:
		conn, err := d.Dial(ctx, network, address)
		switch {
		case err != nil:
			discard(conn)
			return nil, &ownError{what: noConnection, err: err}
		case conn == nil:
			return nil, errors.New("no connection from Dial, and no error")
		case conn.SetDeadline(time.Time{}) != nil:
			return abandonable(conn), nil
		}
		return conn, nil
	case network == "unix":
		return connect(ctx, network, address)
	}
	addresses, err := d.lookUp(ctx, address)
	if err != nil {
		return nil, err
	}
	each := connect
	if d.connect != nil {
		each = d.connect
	}
	return first(ctx, addresses, func(ctx context.Context, address string) (net.Conn, error) {
		return each(ctx, network, address)
	})
}

// discard closes what came with an error: nothing, mostly, or a pointer to it.
func discard(conn net.Conn) {
	defer func() { _ = recover() }()
	conn.Close()
}

// lookUp returns the addresses of host:port, in the order in which to try them. Its errors are a *net.DNSError, which
// says that it was the look-up, and of what.
func (d Dialer) lookUp(ctx context.Context, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); err == nil { // a look-up would lose its zone
		return inOrder([]netip.Addr{ip}, port), nil
	}
	find := net.DefaultResolver.LookupNetIP
	if d.find != nil {
		find = d.find
	}
	found, err := find(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	return inOrder(found, port), nil
}

// inOrder returns up to mostAddresses addresses, with port, in the order in which to try them: that of the look-up,
// but the first of the other family comes second, since one family may lead nowhere.
func inOrder(found []netip.Addr, port string) (addresses []string) {
	v4 := found[0].Unmap().Is4()
	if other := slices.IndexFunc(found, func(ip netip.Addr) bool { return ip.Unmap().Is4() != v4 }); other > 1 {
		found[1], found[other] = found[other], found[1]
	}
	for _, ip := range found[:min(len(found), mostAddresses)] {
		addresses = append(addresses, net.JoinHostPort(ip.Unmap().String(), port))
	}
	return addresses
}

// connect connects to one address, within tcpTimeout.
func connect(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := awake.After(tcpTimeout, func() { cancel(errUnreached) })
	defer limit.Stop()
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil && context.Cause(ctx) == errUnreached {
		err = errUnreached
	}
	return conn, err
}

// first connects to the first of one or more addresses that answers. The next one is tried when one has failed, and as
// well as those before it if they take longer than headStart.
//
// net.Dialer gives each of them two seconds or more, so that none but the first had a chance.
func first(ctx context.Context, addresses []string, connect func(context.Context, string) (net.Conn, error)) (conn net.Conn, err error) {
	if len(addresses) == 1 {
		return connect(ctx, addresses[0])
	}
	type outcome struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	outcomes, running := make(chan outcome), 0
	// Goroutines: one for each address that is tried. They end soon after ctx does, and first waits for them.
	try := func() {
		address := addresses[0]
		addresses = addresses[1:]
		running++
		go func() {
			conn, err := connect(ctx, address)
			outcomes <- outcome{conn, err}
		}()
	}
	defer func() {
		cancel()
		for range running {
			if late := <-outcomes; late.err == nil {
				late.conn.Close()
			}
		}
	}()
	more := func() bool { return len(addresses) > 0 && ctx.Err() == nil }
	for try(); running > 0; {
		var turn <-chan time.Time
		if more() {
			turn = time.After(headStart)
		}
		select {
		case <-turn:
			try()
		case o := <-outcomes:
			running--
			if o.err == nil {
				return o.conn, nil
			}
			if err == nil || err == errUnreached { // a reason says more
				err = o.err
			}
			if more() {
				try()
			}
		}
	}
	return nil, err
}

// abandonable returns a connection that can be given up, over one that cannot since it has no deadlines. Connections through
// SSH are like that; not even their Close ends a Read until the other side agrees.
//
// Goroutines: two, which pass on what is read and written. They end with the connection, or, where raw goes on after
// its Close, when that ends.
func abandonable(raw net.Conn) net.Conn {
	near, far := net.Pipe()
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		far.Close()
		raw.Close()
	}
	go pass(far, raw)
	go pass(raw, far)
	return near
}
