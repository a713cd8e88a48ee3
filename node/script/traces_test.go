package script

import (
	"slices"
	"strings"
	"testing"
)

// TestTypeOf: every key that commands leave has the type that TypeOf says. The keys are those of
// TestTraces.
func TestTypeOf(t *testing.T) {
	const owner = "0b5c9aa4-1d0f-4c1c-9d0e-2f6b7f6f2b11:r3"
	for key, want := range map[string]string{
		"redlock_fence:{n}":          "string",
		"redlock_wait:{n}":           "zset",
		"redlock_wait:{n}" + owner:   "string",
		"redlock_turn:{n}":           "string",
		"redlock_forced:{n}" + owner: "string",
		"redlock_read:{n}":           "zset",
		"redlock_slot:{n}:7":         "hash",
		"redlock_client:{a}":         "string",
		"redlock_sets":               "string",
		"redlock_sets:da39a3ee":      "zset",
	} {
		if got := TypeOf(key); got != want {
			t.Errorf("TypeOf(%q) = %q, want %q", key, got, want)
		}
	}
}

// TestTraces: every kind of key is among the traces of a name, and each is a key of one family.
func TestTraces(t *testing.T) {
	for _, name := range []string{"n", "{n}", "a}b"} {
		traces := append(Traces(name, "me:r1"), Traces(SlotKey(name, 0), "me:r1")...)
		families := Families(name, "")
		if len(families)+len(RecordFamilies()) != len(prefixes)+1 {
			t.Errorf("%d families, want one for the lock and one for each of %q", len(families), prefixes)
		}
		for pattern, key := range families {
			if !slices.ContainsFunc(traces, func(trace string) bool { return strings.HasPrefix(trace, key) }) {
				t.Errorf("Traces(%q) = %v, which has nothing of %s", name, traces, pattern)
			}
		}
	}
}
