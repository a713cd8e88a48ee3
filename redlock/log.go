package redlock

import (
	"context"
	"log/slog"
)

// defaultLogger returns the logger of a client whose Config has none: warnings, and what is worse, go to what is
// slog.Default by then, since a program may make its clients before it has set that.
//
// It is tempting to be silent. But a Lock that waits through an outage, and a hold that was lost, look like a
// program that hangs, or did twice what it should do once; a user who has not thought of a logger has to learn why. A
// server of net/http logs by default as well.
func defaultLogger() *slog.Logger {
	return slog.New(warnings{func() slog.Handler { return slog.Default().Handler() }})
}

// warnings handles what is at least a warning.
type warnings struct{ now func() slog.Handler }

// Enabled implements [slog.Handler].
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.now().Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (w warnings) Handle(ctx context.Context, r slog.Record) error { return w.now().Handle(ctx, r) }

// WithAttrs implements [slog.Handler].
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{func() slog.Handler { return w.now().WithAttrs(attrs) }}
}

// WithGroup implements [slog.Handler].
func (w warnings) WithGroup(name string) slog.Handler {
	return warnings{func() slog.Handler { return w.now().WithGroup(name) }}
}
