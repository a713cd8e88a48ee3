package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/gomodule/redigo/redis"
	"github.com/rs/zerolog"
)

// proxy is a way to a master that can be made long: toxiproxy, in this process.
//
// Goroutines: toxiproxy's own, one that accepts and eight per connection. They end with
// close and with their connections, and nobody waits for them.
type proxy struct{ toxi *toxiproxy.Proxy }

// directions are the two that toxiproxy knows: to the master, and from it.
var directions = []string{"upstream", "downstream"}

// startProxy begins to pass on to the master at that address. close ends it.
func startProxy(master string) (*proxy, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{toxiproxy.NewProxy(server, master, "127.0.0.1:0", master)}
	for _, direction := range directions {
		if _, err := p.toxi.Toxics.AddToxicJson(latency(direction, 0)); err != nil {
			return nil, fmt.Errorf("toxiproxy: %w", err)
		}
	}
	if err := p.toxi.Start(); err != nil {
		return nil, fmt.Errorf("toxiproxy: %w", err)
	}
	return p, nil
}

func (p *proxy) address() string { return p.toxi.Listen }

func (p *proxy) close() { p.toxi.Stop() }

// move puts the master so far away: half of the round trip there, and half of it back, in
// whole milliseconds each. Only a new connection is made as fast as before.
//
// Call it while nothing passes. toxiproxy changes a toxic without a lock.
func (p *proxy) move(roundTrip time.Duration) error {
	for _, direction := range directions {
		if _, err := p.toxi.Toxics.UpdateToxicJson(toxicName(direction), latency(direction, roundTrip/2)); err != nil {
			return fmt.Errorf("toxiproxy: %w", err)
		}
	}
	return nil
}

// moveTo is move, and measures what it did.
func (p *proxy) moveTo(roundTrip time.Duration) (time.Duration, error) {
	if err := p.move(roundTrip); err != nil {
		return 0, err
	}
	took, err := p.roundTrip()
	if err == nil && took < roundTrip {
		err = fmt.Errorf("a master that is %v away answers after %v", roundTrip, took)
	}
	return took, err
}

// roundTrip measures what move did, on a connection of its own.
func (p *proxy) roundTrip() (time.Duration, error) {
	conn, err := redis.Dial("tcp", p.address())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	asked := time.Now()
	_, err = conn.Do("PING")
	return time.Since(asked), err
}

func toxicName(direction string) string { return "latency-" + direction }

// latency describes a toxic as toxiproxy's API takes it.
func latency(direction string, oneWay time.Duration) io.Reader {
	return strings.NewReader(fmt.Sprintf(`{"name": %q, "type": "latency", "stream": %q, "toxicity": 1, "attributes": {"latency": %d}}`,
		toxicName(direction), direction, oneWay.Milliseconds()))
}
