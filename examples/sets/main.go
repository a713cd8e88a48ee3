// Command sets keeps the lock orders:43 until it is interrupted, on several sets of masters, which change while
// others run. docs/changes.md has it, with one master for each set.
//
//	NOW='1=127.0.0.1:7001 2=127.0.0.1:7002' go run ./sets api-1
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"example.com/redlock/redlock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[len(os.Args)-1]); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// run waits for the lock, and has it until ctx ends.
func run(ctx context.Context, name string) error {
	cfg := redlock.SetsConfig{Sets: map[string]redlock.Config{}}
	list := func(variable string) (ids []string) {
		for set := range strings.FieldsSeq(os.Getenv(variable)) { // "1=m1,m2,m3"
			id, masters, _ := strings.Cut(set, "=")
			cfg.Sets[id] = redlock.Config{Name: name, Masters: strings.Split(masters, ",")}
			ids = append(ids, id)
		}
		return ids
	}
	cfg.Now, cfg.Next = list("NOW"), list("NEXT")
	client, err := redlock.NewSets(cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Do(ctx, "orders:43", func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
}
