package script

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// TestPrefix: a key leads back to its name, and that of a client with another prefix to none. What masters publish
// has the name.
func TestPrefix(t *testing.T) {
	const other = Prefix("b:")
	keeper := strings.TrimSuffix(id("a:r1"), "r1") + "k1"
	for _, p := range []Prefix{"", "a:", "{a}:", "a{", "a b "} {
		for _, name := range []string{"x", "{x}", "x y", SlotKey("x", 7), SlotKey("{x}", 999), SlotKey("x:", 0)} {
			key := p.Key(name)
			semaphore, slot := SlotOf(name)
			whole, at := SlotOf(key)
			if got, ok := p.Name(key); !ok || got != name || at != slot || semaphore != "" && whole != string(p)+semaphore {
				t.Errorf("%q: %q has the key %q, which has the name %q, %v", p, name, key, got, ok)
			}
			if got, ok := other.Name(key); ok {
				t.Errorf("%q: the key %q has the name %q", other, key, got)
			}
			for _, message := range []string{"a:r1 1 50 ", keeper + " wanted "} {
				h, ok := p.DecodeHandOff(message + key)
				check.That(t, ok && h.Key == name, "%q: %q of %q: got %+v, %v", p, message, key, h, ok)
				if h, ok := other.DecodeHandOff(message + key); ok {
					t.Errorf("%q: %q of %q: got %+v, want none", other, message, key, h)
				}
			}
		}
		check.Equal(t, p.Key(Slots("x")), Slots(string(p)+"x"), "%q: the slots of x", p)
	}
}

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
		check.Equal(t, TypeOf(key), want, "TypeOf(%q)", key)
	}
}

// TestTraces: every kind of key is among the traces of a name, and each is a key of one family.
func TestTraces(t *testing.T) {
	for _, name := range []string{"n", "{n}", "a}b"} {
		traces := append(Traces(name, "me:r1"), Traces(SlotKey(name, 0), "me:r1")...)
		families := Families(name, "")
		check.Equal(t, len(families)+len(RecordFamilies()), len(prefixes)+1, "families: of the lock, and of each of %q", prefixes)
		for pattern, key := range families {
			check.That(t, slices.ContainsFunc(traces, func(trace string) bool { return strings.HasPrefix(trace, key) }), "Traces(%q) = %v, which has nothing of %s", name, traces, pattern)
		}
	}
}

// The keys of two names are never the same, whatever braces they have.
func TestKeysOfTwoNamesDiffer(t *testing.T) {
	names := []string{"a", "{a}", "{a}:", "{{a}}", "a}", "{a", "{a}}", "a:", "a}:", "{", "}", "{}", "{}:", "x{a}", "{a}x"}
	whose := make(map[string]string)
	for _, name := range names {
		keys := []string{Slots(name), SlotKey(name, 7)}
		for _, lock := range []string{name, SlotKey(name, 7), SlotKey(name, 71)} {
			keys = append(keys, belonging(fencePrefix, lock), belonging(queuePrefix, lock))
		}
		for _, key := range keys {
			check.That(t, Reserved(key) != "", "%q may be the name of another lock", key)
			other, ok := whose[key]
			check.That(t, !ok, "%q is a key of %q and of %q", key, other, name)
			whose[key] = name
		}
	}
}

// TestSlotOf: a slot's name says of which semaphore it is, and which; nothing else does.
func TestSlotOf(t *testing.T) {
	for _, name := range []string{"a", "{a}", "{a}:", "a:7", "{a}:7", "}", "{", "a{b}c:1", ":"} {
		for _, slot := range []int{0, 7, MaxPermits - 1} {
			got, n := SlotOf(SlotKey(name, slot))
			check.That(t, got == name && n == slot, "SlotOf(%q) = %q, %d, want %q, %d", SlotKey(name, slot), got, n, name, slot)
		}
		if got, n := SlotOf(Slots(name)); got != name || n != -1 {
			t.Errorf("SlotOf(%q) = %q, %d, want %q, -1", Slots(name), got, n, name)
		}
		check.Equal(t, FreedKey(Slots(name), "7"), SlotKey(name, 7), "FreedKey of %q", name)
		for _, message := range []string{"", "x", "-1", "07", "1000", "7:7"} {
			check.Equal(t, FreedKey(Slots(name), message), Slots(name), "FreedKey of %q with %q", name, message)
		}
	}
	for _, key := range []string{"", "a", "redlock_slot:", "redlock_slot:7", "redlock_slot:{}:7", "redlock_slot:a:7", "redlock_slot:{a}", "redlock_slot:{a}:07", "redlock_slot:{a}:1000", "redlock_slots:{a}:7"} {
		name, slot := SlotOf(key)
		check.That(t, name == "" && slot == -1, "SlotOf(%q) = %q, %d, want none", key, name, slot)
	}
	check.Equal(t, FreedKey("a", "7"), "a", "FreedKey of a lock")
}

// TestWirePage: docs/design/wire.md has each key and channel that scripts and clients use, the fields of what clients
// publish, and the scripts.
func TestWirePage(t *testing.T) {
	const file = "../../docs/design/wire.md"
	page := check.File(t, file)
	keys := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(redlock_[a-z]+:?)[^|]*\\| (?:string|hash|sorted set) \\|").FindAllStringSubmatch(page, -1) {
		keys[row[1]] = true
	}
	for _, prefix := range prefixes {
		check.That(t, keys[prefix], "the page has no key %s", prefix)
		delete(keys, prefix)
	}
	for prefix := range keys {
		t.Errorf("the page has the key %s, which nobody uses", prefix)
	}
	used := regexp.MustCompile(`'(red(?:lock|isson)_[a-z_]+:?)`)
	for _, name := range scripts(t) {
		for _, match := range used.FindAllStringSubmatch(text(name), -1) {
			check.That(t, strings.Contains(page, "`"+match[1]), "%s uses %s, which the page does not have", name, match[1])
		}
	}
	for _, channel := range []string{HandOffChannel("u"), FreedChannel("n"), FreedChannel(Slots("s"))} {
		check.Shows(t, file, "| `"+strings.TrimSuffix(channel, "u")+"`")
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Record](), reflect.TypeFor[Terms](), reflect.TypeFor[Master]()} {
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page does not have %s of %s", name, of.Name())
			}
		}
	}
	_, list, _ := strings.Cut(page, "\n## Scripts\n")
	for _, name := range scripts(t) {
		isWhole := strings.Contains(text(name), "KEYS[1]") || strings.Contains(text(name), "ARGV[1]") // not a part of others
		check.Equal(t, strings.Contains(list, "`"+name+"`"), isWhole, "the page has %s", name)
	}
}

// scripts returns the names of the files.
func scripts(t *testing.T) (names []string) {
	t.Helper()
	entries, err := files.ReadDir(".")
	check.OK(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestConstantsOfScripts: each constant is in a script, by its name, and each name in a script is one: of a
// constant, or what Redis has.
func TestConstantsOfScripts(t *testing.T) {
	var all strings.Builder
	for _, name := range scripts(t) {
		raw, err := files.ReadFile(name)
		check.OK(t, err)
		all.Write(raw)
		for _, word := range regexp.MustCompile(`\b[A-Z]+_?[A-Z]+\b`).FindAllString(text(name), -1) {
			check.That(t, slices.Contains([]string{"KEYS", "ARGV", "EVAL", "PX", "ERR", "NOTLOCK", "WRONGTYPE"}, word), "%s has %s, which no master knows", name, word)
		}
	}
	for c := range slices.Chunk(constants, 2) {
		check.That(t, strings.Contains(all.String(), c[0]), "no script has %s", c[0])
		for o := range slices.Chunk(constants, 2) {
			check.That(t, o[0] == c[0] || !strings.Contains(o[0], c[0]), "%s is a part of %s", c[0], o[0])
		}
	}
}
