package redlock_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// readme is the example of README.md.
func readme(ctx context.Context, masters []string, write func(context.Context, int64)) error {
	client, err := redlock.New(redlock.Config{
		Masters: masters, // 3 or 5 independent ones: host:port, or redis:// or rediss:// URLs
		Logger:  slog.Default(),
	})
	if err != nil {
		return err
	}
	defer client.Close()

	hold, err := client.Lock(ctx, "orders:42") // waits until held or ctx ends; renewed until Unlock
	if err != nil {
		return err
	}
	defer hold.Unlock(ctx)
	write(hold.Context(), hold.Token()) // the context ends when the hold does, whatever the reason
	return nil
}

// The example of README.md is the code above, to the letter, and works.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```go\n")
	example, _, found := strings.Cut(example, "```")
	if !found {
		t.Fatal("README.md has no example")
	}
	for line := range strings.Lines(example) {
		if !strings.Contains(string(source), "\n\t"+line) && strings.TrimSpace(line) != "" {
			t.Errorf("README.md has a line that is not in the tested example: %s", line)
		}
	}

	fleet := redlocktest.Start(t, 3)
	wrote := false
	err = readme(t.Context(), fleet.URLs(), func(ctx context.Context, token int64) {
		wrote = ctx.Err() == nil && token > 0
	})
	if err != nil || !wrote {
		t.Errorf("readme = %v, wrote = %v", err, wrote)
	}
}
