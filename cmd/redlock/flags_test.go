package main

import (
	"bytes"
	"encoding"
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A flag means what its text says: 0 does not stand for the default, nor a negative duration for "off".
func TestDurations(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		text                      string
		positive, patience, guard time.Duration // bad where it is refused
	}{
		{"30s", 30 * s, 30 * s, 30 * s},
		{"0", bad, 0, -1},
		{"0s", bad, 0, -1},
		{"-1s", bad, bad, bad},
		{"30", bad, bad, bad},
		{"off", bad, bad, -1},
		{"on", bad, bad, bad},
		{"", bad, bad, bad},
	} {
		var p positive
		wantDuration(t, "positive", c.text, &p, (*time.Duration)(&p), c.positive)
		var w patience
		wantDuration(t, "patience", c.text, &w, (*time.Duration)(&w), c.patience)
		var g guard
		wantDuration(t, "guard", c.text, &g, (*time.Duration)(&g), c.guard)
	}
}

// bad stands for text that is refused.
const bad = time.Duration(math.MinInt64)

func wantDuration(t *testing.T, kind, text string, u encoding.TextUnmarshaler, got *time.Duration, want time.Duration) {
	t.Helper()
	err := u.UnmarshalText([]byte(text))
	if err != nil && strings.Contains(err.Error(), strconv.Quote(text)) {
		*got = bad
	}
	if *got != want {
		t.Errorf("%s from %q = %v, %v, want %v", kind, text, *got, err, want)
	}
}

func TestDescribe(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}},
	}
	if got, want := describe(info), "redlock v1.2.3 0123456789ab+changes go1.26.0"; got != want {
		t.Errorf("describe = %q, want %q", got, want)
	}
	if got, want := describe(&debug.BuildInfo{}), "redlock (devel)"; got != want {
		t.Errorf("describe of nothing = %q, want %q", got, want)
	}
}

func TestPlainLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newPlainLog(&out))
	log.Info("not shown")
	log.Warn("two words")
	log.With("name", "n").WithGroup("g").Warn("redlock: renewal failed", "left", time.Second, "err", errors.New("a b"))
	want := "redlock: two words\nredlock: renewal failed name=n g.left=1s g.err=\"a b\"\n"
	if out.String() != want {
		t.Errorf("plainLog wrote\n%s\nwant\n%s", &out, want)
	}
}
