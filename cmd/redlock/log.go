package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"

	"example.com/redlock/internal/quote"
)

// plainLog writes warnings and errors in a form for people at a terminal:
//
//	redlock: the hold is ending: TERM to the command left=1.2s
//
// With --verbose, slog's own text format is used instead, with times.
type plainLog struct {
	mu    *sync.Mutex // shared by all handlers that derive from one
	out   io.Writer
	attrs slog.Handler // writes the attributes into text
	text  *bytes.Buffer
}

func newPlainLog(out io.Writer) *plainLog {
	text := &bytes.Buffer{}
	return &plainLog{
		mu: &sync.Mutex{}, out: out, text: text,
		attrs: slog.NewTextHandler(text, &slog.HandlerOptions{ReplaceAttr: dropHead}),
	}
}

// dropHead leaves out the attributes that every record has.
func dropHead(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// Enabled lets warnings and errors pass.
func (*plainLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle writes one line.
func (p *plainLog) Handle(ctx context.Context, r slog.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Reset()
	if err := p.attrs.Handle(ctx, r); err != nil {
		return err
	}
	line := "redlock: " + quote.Text(strings.TrimPrefix(r.Message, "redlock: "))
	if p.text.Len() > 1 {
		line += " "
	}
	_, err := io.WriteString(p.out, line+p.text.String())
	return err
}

// WithAttrs adds attributes to every line.
func (p *plainLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *p
	with.attrs = p.attrs.WithAttrs(attrs)
	return &with
}

// WithGroup qualifies the attributes that follow.
func (p *plainLog) WithGroup(name string) slog.Handler {
	with := *p
	with.attrs = p.attrs.WithGroup(name)
	return &with
}
