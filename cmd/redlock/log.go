package main

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"example.com/redlock/internal/quote"
)

// plainLog is what slog's text handler writes warnings and errors to, for people at a terminal: without time and
// level, and with the message in front:
//
//	redlock: the hold is ending: TERM to the command left=1.2s
//
// With --verbose, slog's own format is used instead.
type plainLog struct{ out io.Writer }

func newPlainLog(out io.Writer) slog.Handler {
	return slog.NewTextHandler(plainLog{out}, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}})
}

// Write rewrites a line of the handler, which begins with msg= and the message, in quotes where it needs them.
func (p plainLog) Write(line []byte) (int, error) {
	text := strings.TrimPrefix(string(line), slog.MessageKey+"=")
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		quoted = text[:strings.IndexAny(text, " \n")]
	}
	message := quoted
	if err == nil {
		message, _ = strconv.Unquote(quoted) // it is quoted
	}
	_, err = fmt.Fprintf(p.out, "redlock: %s%s", quote.Text(strings.TrimPrefix(message, "redlock: ")), text[len(quoted):])
	return len(line), err
}
