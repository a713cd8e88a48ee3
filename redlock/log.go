package redlock

import (
	"context"
	"log/slog"
)

// defaultLogger returns the logger of a client whose Config has none: warnings, and what is worse, go to
// slog.Default.
//
// It is tempting to be silent. But a Lock that waits through an outage, and a hold that was lost, look like a
// program that hangs, or did twice what it should do once; a user who has not thought of a logger has to learn why. A
// server of net/http logs by default as well.
func defaultLogger() *slog.Logger { return slog.New(warnings{slog.Default().Handler()}) }

// warnings handles what is at least a warning.
type warnings struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}
