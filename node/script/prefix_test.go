package script

import (
	"strings"
	"testing"
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
				if h, ok := p.DecodeHandOff(message + key); !ok || h.Key != name {
					t.Errorf("%q: %q of %q: got %+v, %v", p, message, key, h, ok)
				}
				if h, ok := other.DecodeHandOff(message + key); ok {
					t.Errorf("%q: %q of %q: got %+v, want none", other, message, key, h)
				}
			}
		}
		if got, want := p.Key(Slots("x")), Slots(string(p)+"x"); got != want {
			t.Errorf("%q: the slots of x are at %q, want %q", p, got, want)
		}
	}
}
