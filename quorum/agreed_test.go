package quorum

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAgreed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tokens  []int64
		least   int64
		largest int64
		ok      bool
	}{
		{"all", []int64{7, 7, 7}, 0, 7, true},
		{"a majority", []int64{7, 0, 7}, 0, 7, true},
		{"a majority, and a smaller one", []int64{7, 6, 7}, 0, 7, true},
		{"a majority, and a larger one", []int64{7, 8, 7}, 0, 8, false},
		{"a minority", []int64{7, 0, 0}, 0, 7, false},
		{"half of four", []int64{7, 7, 6, 6}, 0, 7, false},
		{"none", []int64{0, 0, 0}, 0, 0, false},
		{"one of one", []int64{1}, 0, 1, true},
		{"as large as the least", []int64{7, 7, 0}, 7, 7, true},
		{"below the least", []int64{7, 7, 7}, 8, 8, false},
		{"one has the least", []int64{7, 7, 8}, 8, 8, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if largest, ok := Agreed(len(tt.tokens), tt.tokens, tt.least); largest != tt.largest || ok != tt.ok {
				t.Errorf("Agreed(%d, %v, %d) = %d, %v, want %d, %v", len(tt.tokens), tt.tokens, tt.least, largest, ok, tt.largest, tt.ok)
			}
		})
	}
}

// TestAgreedTwin: the second version sorts the tokens and looks at the majority with the largest.
func TestAgreedTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.Int64Range(0, 4), 1, 9).Draw(t, "tokens")
		least := rapid.Int64Range(0, 4).Draw(t, "least")
		n := len(tokens)
		sorted := slices.Sorted(slices.Values(tokens))
		top := max(least, sorted[n-1])
		want := top > 0 && sorted[n-Majority(n)] == top
		if largest, ok := Agreed(n, tokens, least); largest != top || ok != want {
			t.Errorf("Agreed(%d, %v, %d) = %d, %v, want %d, %v", n, tokens, least, largest, ok, top, want)
		}
	})
}
