package node

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// want checks how many lines have all of words.
func (j *journal) want(t *testing.T, count int, words ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	got := 0
	for line := range strings.Lines(j.text.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			got++
		}
	}
	if got != count {
		t.Errorf("lines with %q: got %d, want %d, in\n%s", words, got, count, j.text.String())
	}
}
