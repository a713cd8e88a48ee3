package main

import (
	"strings"
	"testing"
	"time"
)

// A trace tells, in order, what all masters were asked in a stretch of time and just before it.
func TestTrace(t *testing.T) {
	tr := new(trace)
	for master, text := range []string{
		`1700000000.002500 [0 127.0.0.1:50000] "PING"`,
		`1700000000.001250 [0 lua] "hset" "name" "owner" "1"`,
		`1700000000.009000 [0 lua] "too" "late"`,
		`1699999999.990000 [0 lua] "too" "early"`,
		`1700000000.000999 [0 lua] "just" "before"`,
	} {
		l, err := parseLine(master+1, text)
		if err != nil {
			t.Fatalf("parseLine(%s) = %v", text, err)
		}
		tr.lines = append(tr.lines, l)
	}
	begin := time.Unix(1700000000, 1_250_700) // the masters tell microseconds only
	var out strings.Builder
	tr.tell(&out, "what happened", begin, begin.Add(5*time.Millisecond))
	const want = "what happened\n" +
		"\t   -0.251 ms  master 5  [0 lua] \"just\" \"before\"\n" +
		"\t    0.000 ms  master 2  [0 lua] \"hset\" \"name\" \"owner\" \"1\"\n" +
		"\t    1.250 ms  master 1  [0 127.0.0.1:50000] \"PING\"\n"
	if got := out.String(); got != want {
		t.Errorf("told:\n%swant:\n%s", got, want)
	}
	if _, err := parseLine(1, "OK"); err == nil {
		t.Error("parseLine(OK) = nil, want an error: that is no command")
	}
}
