// Package logger passes what a client logs on to the user's handler, one message after the other, in a goroutine of its
// own. So whoever logs may hold any lock, and a handler that is slow, or blocks, delays nobody.
package logger

import (
	"context"
	"log/slog"
	"time"

	"example.com/redlock/internal/queue"
)

// maxMessages bounds those that wait for the handler.
const maxMessages = 1_000

// Handler has the messages of a client that another handler is still to get. That one is asked at once which levels are
// enabled.
type Handler struct {
	slog.Handler
	messages *queue.Queue
}

// New makes a Handler of a new client for h. Close waits for h for as long as patience.
func New(h slog.Handler, patience time.Duration) *Handler {
	return &Handler{h, queue.New(patience, func(n int) func() {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "redlock: messages are missing, since the log's handler was too slow for them", 0)
		r.AddAttrs(slog.Int("messages", n))
		return func() {
			if ctx := context.Background(); h.Enabled(ctx, r.Level) {
				_ = h.Handle(ctx, r)
			}
		}
	})}
}

// Handle implements [slog.Handler].
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	h.messages.Add(func() { _ = h.Handler.Handle(ctx, r) }, maxMessages) // slog.Logger drops the error as well
	return nil
}

// WithAttrs implements [slog.Handler].
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{h.Handler.WithAttrs(attrs), h.messages}
}

// WithGroup implements [slog.Handler].
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.Handler.WithGroup(name), h.messages}
}

// Close returns once the handler has all messages, or when it takes too long. What is logged later is dropped. It is
// called once.
func (h *Handler) Close() { h.messages.Close() }
