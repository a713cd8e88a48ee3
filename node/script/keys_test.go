package script

import "testing"

// The keys of two names are never the same, whatever braces they have.
func TestKeysOfTwoNamesDiffer(t *testing.T) {
	names := []string{"a", "{a}", "{a}:", "{{a}}", "a}", "{a", "{a}}", "a:", "a}:", "{", "}", "{}", "{}:", "x{a}", "{a}x"}
	whose := make(map[string]string)
	for _, name := range names {
		k := keysOf(name)
		if k.fence != fenceKey(name) {
			t.Errorf("counter of %q: %q and %q", name, k.fence, fenceKey(name))
		}
		for _, key := range []string{k.fence, k.queue, k.turn} {
			if other, ok := whose[key]; ok {
				t.Errorf("%q is a key of %q and of %q", key, other, name)
			}
			whose[key] = name
		}
	}
}
