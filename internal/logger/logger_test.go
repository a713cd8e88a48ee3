package logger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"testing/slogtest"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
)

// TestAHandlerGetsWhatItWouldGet: a message is what the user's handler would have got at once: with its attributes and
// its groups.
func TestAHandlerGetsWhatItWouldGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		err := slogtest.TestHandler(New(slog.NewJSONHandler(&out, nil), 0), func() (all []map[string]any) {
			synctest.Wait()
			for line := range bytes.Lines(out.Bytes()) {
				var one map[string]any
				check.OK(t, json.Unmarshal(line, &one))
				all = append(all, one)
			}
			return all
		})
		check.OK(t, err)
	})
}

// slow is a handler that blocks at its first message until it is let go.
type slow struct {
	slog.Handler
	let  chan struct{}
	told *[]string
}

func (s slow) Enabled(context.Context, slog.Level) bool { return true }

func (s slow) Handle(_ context.Context, r slog.Record) error {
	<-s.let
	text := r.Time.Format("05 ") + r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	*s.told = append(*s.told, text)
	return nil
}

// TestASlowHandlerMisses: a handler gets the messages in their order, with the time of each. Those for which there is no
// room are dropped, and counted.
func TestASlowHandlerMisses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{slog.DiscardHandler, make(chan struct{}), new([]string)}
		h := New(s, time.Second)
		log := func(from, to int) {
			for i := from; i < to; i++ {
				slog.New(h).Info(fmt.Sprint(i))
			}
		}
		log(0, 1)
		synctest.Wait() // it blocks
		time.Sleep(time.Second)
		log(1, maxMessages+8)
		time.Sleep(time.Second)
		close(s.let)
		synctest.Wait()
		time.Sleep(time.Second)
		log(maxMessages+8, maxMessages+9)
		h.Close()
		log(0, 1)
		synctest.Wait()
		want := []string{"00 0"}
		for i := range maxMessages {
			want = append(want, fmt.Sprint("01 ", i+1))
		}
		want = append(want, "03 redlock: messages are missing, since the log's handler was too slow for them messages=7", fmt.Sprint("03 ", maxMessages+8))
		check.Equal(t, fmt.Sprint(*s.told), fmt.Sprint(want), "what the handler got")
	})
}

// TestCloseSaysWhatIsMissing: the count of messages that were dropped is told when none comes after them, too.
func TestCloseSaysWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{slog.DiscardHandler, make(chan struct{}), new([]string)}
		h := New(s, time.Second)
		slog.New(h).Info("handled")
		synctest.Wait() // it blocks
		for range maxMessages + 9 {
			slog.New(h).Info("waits")
		}
		time.AfterFunc(time.Second/2, func() { close(s.let) })
		h.Close()
		last := (*s.told)[len(*s.told)-1]
		check.Equal(t, last, "00 redlock: messages are missing, since the log's handler was too slow for them messages=9", "the last message")
	})
}
