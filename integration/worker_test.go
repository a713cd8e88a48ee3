package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// worker is a client in a process of its own, which runs the program in integration/worker.
type worker struct {
	who     string
	process *exec.Cmd
	stdin   io.Closer
	stdout  *bufio.Reader
}

// buildWorker builds the worker program and returns its path. args are more arguments for go build.
func buildWorker(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "worker")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	args = append([]string{"build", "-buildvcs=false", "-o", program}, args...)
	start := time.Now()
	if out, err := exec.CommandContext(ctx, "go", append(args, "example.com/redlock/integration/worker")...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	t.Logf("building the worker took %v", time.Since(start))
	return program
}

// startWorkers starts so many workers, each of which has its name behind args, and waits for the first
// line of each.
func (f *fleet) startWorkers(t *testing.T, program string, n int, cfg redlock.Config, args ...string) []*worker {
	t.Helper()
	workers := make([]*worker, n)
	for i := range workers {
		who := fmt.Sprint("worker", i)
		workers[i] = f.startWorker(t, program, who, nil, cfg, append(slices.Clone(args), who)...)
		workers[i].line(t)
	}
	return workers
}

// startWorker starts the program as a client of the fleet, for one name. It is killed when the test
// ends, if it has not ended by then.
func (f *fleet) startWorker(t *testing.T, program, who string, env []string, cfg redlock.Config, args ...string) *worker {
	t.Helper()
	var masters []string
	for _, m := range f.masters {
		masters = append(masters, m.url())
	}
	w := &worker{who: who, process: exec.Command(program, append([]string{
		"-masters", strings.Join(masters, ","),
		"-name", "orders:42",
		"-lease", cfg.Lease.String(),
		"-maxlease", cfg.MaxLease.String(),
		"-guard", cfg.RestartGuard.String(),
	}, args...)...)}
	w.process.Env = append(os.Environ(), env...)
	w.process.Stderr = f.log
	var err error
	if w.stdin, err = w.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := w.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.stdout = bufio.NewReader(stdout)
	if err := w.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.process.Process.Kill() // it may be stopped, or gone
		_ = w.process.Wait()
	})
	return w
}

// line waits for the worker's next line.
func (w *worker) line(t *testing.T) string {
	t.Helper()
	line, err := w.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("worker %s has said %q: %v", w.who, line, err)
	}
	return strings.TrimSpace(line)
}

// end lets the worker end and returns its last line. If the worker fails, so does the test.
func (w *worker) end(t *testing.T) string {
	t.Helper()
	w.stdin.Close()
	line := w.line(t)
	if err := w.process.Wait(); err != nil {
		t.Errorf("worker %s: %v", w.who, err)
	}
	return line
}
