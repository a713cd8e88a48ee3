package wire

import (
	"bytes"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestStreamUnderFaults: what is sent arrives whole and in order, whatever happens on the way.
func TestStreamUnderFaults(t *testing.T) {
	w, client, master := ends(t)
	sent := make([]byte, 3<<20) // more than may be on its way
	for i := range sent {
		sent[i] = byte(i / 7)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := client.Write(sent); err != nil {
			t.Errorf("Write() = %v", err)
		}
		if err := client.CloseWrite(); err != nil {
			t.Errorf("CloseWrite() = %v", err)
		}
	})
	wg.Go(func() {
		for range 5 {
			for _, fault := range []func(){
				func() { w.Cut(There) },
				func() { w.Slow(3*time.Millisecond, 3*time.Millisecond) },
				func() { w.Lose(0.01) },
			} {
				fault()
				time.Sleep(5 * time.Millisecond)
			}
			w.Mend()
		}
	})
	got, err := io.ReadAll(master)
	wg.Wait()
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes arrived, %v, want the %d that were sent", len(got), err, len(sent))
	}
}

// TestManyConnections: hundreds of connections of many wires cost little, and Close ends what is in the
// midst of anything. (TestMain finds goroutines that are left.)
func TestManyConnections(t *testing.T) {
	const wires, conns = 40, 20
	master := echo(t)
	before := memory()
	all := make([]*Wire, wires)
	for i := range all {
		w := start(t, master)
		all[i] = w
		for range conns {
			conn := dial(t, w)
			send(t, conn, "x")
			want(t, conn, "x")
		}
		if n := w.Conns(); n != conns {
			t.Errorf("Conns() = %d, want %d", n, conns)
		}
	}
	if each := (memory() - before) / (wires * conns); each > 64<<10 {
		t.Errorf("a connection takes %d bytes, want at most 64 KiB", each)
	}
	for i, w := range all {
		switch i % 4 {
		case 0:
			w.Cut(Both)
		case 1:
			w.Slow(time.Hour, time.Hour)
		case 2:
			w.Lose(1)
		}
		send(t, dial(t, w), "on its way")
		w.Resets(time.Hour)
	}
	began := time.Now()
	for _, w := range all {
		w.Close()
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
}

// TestCloseBehindAFullWindow: a sender that is held up does not hold up Close.
func TestCloseBehindAFullWindow(t *testing.T) {
	w, client, _ := ends(t)
	w.Cut(Both)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := client.Write(make([]byte, 64<<20))
		wantReset(t, "the client", err)
	})
	for s := theStream(t, w); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		full := s.bytes >= window
		s.mu.Unlock()
		if full {
			break
		}
	}
	w.Close()
	wg.Wait()
}

// theStream returns the one to the master of the only connection.
func theStream(t *testing.T, w *Wire) *stream {
	t.Helper()
	links := w.all()
	if len(links) != 1 {
		t.Fatalf("%d connections, want 1", len(links))
	}
	return links[0].there
}

// memory returns how many bytes the process uses, for its stacks too.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
