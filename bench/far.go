package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Masters that are a network away, as those of most users are.

// away is how much longer a round trip takes.
const away = 500 * time.Microsecond

// relays is the variable that makes this program relay to those addresses, instead of measuring.
const relays = "REDLOCK_BENCH_RELAYS"

func measureFar(ctx context.Context, e *env) (_ []figure, err error) {
	far, stop, err := e.fleet.far(ctx)
	if err != nil {
		return nil, err
	}
	defer closing(stop, &err)
	own := *e
	own.fleet = far
	clients, closeAll, err := own.open(ctx, 1, lease)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	own.clients = clients
	return measureUncontended(ctx, &own)
}

// far returns the same masters behind relays, which a child process has until stop is called.
func (f *fleet) far(ctx context.Context) (far *fleet, stop func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	child := exec.CommandContext(ctx, program)
	child.Env = append(os.Environ(), relays+"="+strings.Join(f.addresses(len(f.masters)), " "))
	child.SysProcAttr, child.Stderr = childAttr(), os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := child.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() error {
		_ = child.Process.Kill()
		_ = child.Wait() // its error only says that the process was killed
		return nil
	}
	copied, lines := *f, bufio.NewScanner(out)
	copied.masters = nil
	for _, m := range f.masters {
		if !lines.Scan() {
			_ = stop()
			return nil, nil, fmt.Errorf("the relays do not start: %w", lines.Err())
		}
		copied.masters = append(copied.masters, &master{address: lines.Text(), server: m.server, control: m.control})
	}
	return &copied, stop, nil
}

// relay relays to the addresses, and prints its own for each, until the process is killed. The wires of the trials
// (integration/wire) wait by the timers of the runtime: with them an acquire took 2.6 ms, and with these 1.0.
func relay(addresses []string) error {
	for _, to := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go func() {
			for {
				from, err := listener.Accept()
				if err != nil {
					return
				}
				server, err := net.Dial("tcp", to)
				if err != nil {
					_ = from.Close()
					continue
				}
				go pass(server, from)
				go pass(from, server)
			}
		}()
		fmt.Println(listener.Addr())
	}
	select {}
}

// chunk is what was read at once, and when it is to be passed on.
type chunk struct {
	due  time.Time
	data []byte
}

// pass passes on to one connection what comes from the other, half of away later, until either fails.
func pass(to, from net.Conn) {
	chunks := make(chan chunk, 1024)
	go func() {
		defer close(chunks)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if n > 0 {
				chunks <- chunk{time.Now().Add(away / 2), data[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range chunks {
		nap(time.Until(c.due))
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
	for range chunks { // the reader ends
	}
}
