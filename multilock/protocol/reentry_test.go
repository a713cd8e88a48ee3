package protocol

import (
	"testing"
)

// It fails for what the masters say: gone, where a majority no longer has the hold, and otherwise
// refused. The release is left to the hold in each case.
func TestEnterAgainFails(t *testing.T) {
	for _, tt := range []struct {
		name    string
		n       int
		answers []reply // the last of them decides
		want    Verdict
	}{
		{"gone", 3, []reply{busy(Nobody, 0), busy(Nobody, 0)}, Gone},
		{"taken", 3, []reply{busy(x, 1), busy(x, 1)}, Gone},
		{"taken or gone", 3, []reply{busy(x, 1), yes(0), busy(Nobody, 0)}, Gone},
		{"one silent, and gone", 3, []reply{busy(Nobody, 0), silent, busy(Nobody, 0)}, Gone},
		{"one silent, and not", 3, []reply{busy(Nobody, 0), silent, yes(0)}, Refused},
		{"silent", 3, []reply{silent, silent}, Refused},
		{"nobody has a majority", 5, []reply{yes(0), yes(0), busy(x, 1), busy(y, 1), silent}, Refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, tt.n, reenter, func(s *scene) {
				s.start()
				for i, a := range tt.answers {
					s.want(Asking).answer(i, a)
				}
				s.wantFailed(tt.want, 0)
			})
		})
	}
	play(t, 3, reenter, func(s *scene) { s.start().answer(0, yes(0)).giveUp().wantFailed(GivenUp, 0) })
	play(t, 3, reenter, func(s *scene) { s.start().at(full).answers(yes(0), yes(0)).wantFailed(Late, 0) })
	play(t, 3, reenter, func(s *scene) { s.start().answers(yes(0), yes(0)).at(full).take().wantFailed(Late, 0) })
}
