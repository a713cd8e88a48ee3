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
			if owner, got, ok := p.DecodeWanted(keeper + " wanted " + key); !ok || owner != keeper || got != name {
				t.Errorf("%q: somebody wants %q: got %q of %q, %v", p, key, got, owner, ok)
			}
			if h, ok := p.DecodeHandOff("a:r1 1 50 " + key); !ok || h.Key != name {
				t.Errorf("%q: a hand-off of %q: got %+v, %v", p, key, h, ok)
			}
			if h, ok := other.DecodeHandOff("a:r1 1 50 " + key); ok {
				t.Errorf("%q: a hand-off of %q: got %+v, want none", other, key, h)
			}
		}
		if got, want := p.Key(Slots("x")), Slots(string(p)+"x"); got != want {
			t.Errorf("%q: the slots of x are at %q, want %q", p, got, want)
		}
	}
}
