package main

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

func TestGuard(t *testing.T) {
	for _, c := range []struct {
		text string
		want guard
		ok   bool
	}{
		{"off", -1, true},
		{"0", -1, true},
		{"30s", guard(30 * time.Second), true},
		{"-1s", 0, false},
		{"on", 0, false},
		{"", 0, false},
	} {
		var g guard
		if err := g.UnmarshalText([]byte(c.text)); (err == nil) != c.ok || g != c.want {
			t.Errorf("UnmarshalText(%q) = %v, %v, want %v, ok %t", c.text, g, err, c.want, c.ok)
		}
	}
}

func TestChildEnv(t *testing.T) {
	got := childEnv([]string{"A=1", "REDLOCK_MASTERS=redis://:secret@m", "REDLOCK_NAME=outer", "REDLOCK_TOKEN=1", "REDLOCK_LEASE=5s"}, "inner", 17)
	want := []string{"A=1", "REDLOCK_LEASE=5s", "REDLOCK_NAME=inner", "REDLOCK_TOKEN=17"}
	if !slices.Equal(got, want) {
		t.Errorf("childEnv = %q, want %q", got, want)
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
