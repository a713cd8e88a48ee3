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

// proxy forwards to a master with a delay that can be set: toxiproxy, in this process.
//
// Goroutines: toxiproxy's own, one that accepts and eight per connection. They end after close and
// when their connections end; nobody waits for them.
type proxy struct{ toxi *toxiproxy.Proxy }

// directions are toxiproxy's names: to the master, and from it.
var directions = []string{"upstream", "downstream"}

// startProxy starts to forward to the master at that address. close ends it.
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

// move sets the round trip to the master: half of it in each direction, each in whole milliseconds.
// Opening a connection stays as fast as before.
//
// Call it only while nothing is in transit: toxiproxy changes a toxic without locking.
func (p *proxy) move(roundTrip time.Duration) error {
	for _, direction := range directions {
		if _, err := p.toxi.Toxics.UpdateToxicJson(toxicName(direction), latency(direction, roundTrip/2)); err != nil {
			return fmt.Errorf("toxiproxy: %w", err)
		}
	}
	return nil
}

// moveTo calls move, then measures the round trip.
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

// roundTrip measures the round trip on a new connection.
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

// latency describes a toxic in the form that toxiproxy's API accepts.
func latency(direction string, oneWay time.Duration) io.Reader {
	return strings.NewReader(fmt.Sprintf(`{"name": %q, "type": "latency", "stream": %q, "toxicity": 1, "attributes": {"latency": %d}}`,
		toxicName(direction), direction, oneWay.Milliseconds()))
}
