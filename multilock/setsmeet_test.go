package multilock

import "testing"

func TestSetsMeet(t *testing.T) {
	runs := []string{"aaaaaaaa0", "bbbbbbbb0", "cccccccc0"}
	for _, tt := range []struct {
		other   string
		meets   bool
		missing int
	}{
		{"3:aaaaaaaa,bbbbbbbb,cccccccc", true, 0},
		{"4:aaaaaaaa,bbbbbbbb,cccccccc,dddddddd", true, 0},
		{"3:aaaaaaaa,bbbbbbbb,dddddddd", false, 1},
		{"3:aaaaaaaa,bbbbbbbb,?", true, 0},
		{"3:cccccccc,dddddddd,eeeeeeee", false, 2},
		{"3:cccccccc,dddddddd,eeeeeeee 1/2", false, 2},
		{"nonsense", true, 0},
	} {
		if meets, missing := SetsMeet(runs, tt.other); meets != tt.meets || missing != tt.missing {
			t.Errorf("SetsMeet(%q, %q) = %v, %d, want %v, %d", runs, tt.other, meets, missing, tt.meets, tt.missing)
		}
	}
}
