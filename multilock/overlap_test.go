package multilock

import (
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// TestWhatARestartExplains: another set counts once it was published over 25 s, since this client's
// masters changed last, and was seen for 10 s.
func TestWhatARestartExplains(t *testing.T) {
	const (
		ours = "3:aaaaaaaa,bbbbbbbb,dddddddd"
		old  = "3:aaaaaaaa,bbbbbbbb,cccccccc" // before one restarted
		hour = time.Hour
	)
	type look struct{ at, first, last time.Duration } // since this client's masters changed last
	for _, tt := range []struct {
		name  string
		set   string
		looks []look
		want  bool
	}{
		{"nobody uses it any more", old, []look{{0, -hour, -time.Second}, {18 * time.Second, -hour, -time.Second}, {36 * time.Second, -hour, -time.Second}}, false},
		{"somebody finds out 18 s later", old, []look{{0, -hour, -time.Second}, {18 * time.Second, -hour, 18 * time.Second}, {36 * time.Second, -hour, 18 * time.Second}}, false},
		{"it is used on", old, []look{{0, -hour, -time.Second}, {18 * time.Second, -hour, 15 * time.Second}, {36 * time.Second, -hour, 33 * time.Second}}, true},
		{"this client was suspended", old, []look{{hour, -hour, hour}}, false},
		{"and finds it again", old, []look{{hour, -hour, hour}, {hour + 12*time.Second, -hour, hour + 10*time.Second}}, true},
		{"it is new", "3:aaaaaaaa,eeeeeeee,ffffffff", []look{{hour, hour, hour}, {hour + 12*time.Second, hour, hour + 12*time.Second}, {hour + 24*time.Second, hour, hour + 24*time.Second}}, false},
		{"it is there to stay", "3:aaaaaaaa,eeeeeeee,ffffffff", []look{{hour, hour, hour}, {hour + 12*time.Second, hour, hour + 12*time.Second}, {hour + 26*time.Second, hour, hour + 25*time.Second}}, true},
		{"the master's clock was set back", old, []look{{hour, -hour, 2 * hour}, {hour + 18*time.Second, -hour, 2 * hour}}, false},
		{"it is one of several", "3:aaaaaaaa,eeeeeeee,ffffffff west", []look{{hour, 0, hour}, {hour + 18*time.Second, 0, hour + 18*time.Second}}, false},
		{"it may be the same", "3:aaaaaaaa,?,?", []look{{hour, 0, hour}, {hour + 18*time.Second, 0, hour + 18*time.Second}}, false},
		{"it may not be the same", "3:aaaaaaaa,eeeeeeee,?", []look{{hour, 0, hour}, {hour + 18*time.Second, 0, hour + 18*time.Second}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				p := &fx.m.presence
				p.changed, p.at[0].set = clock.Now(), ours
				if tt.name == "it is one of several" {
					p.at[0].set = inUse(ours, "east")
				}
				shown := time.Now()
				ms := func(d time.Duration) int64 { return shown.Add(d).UnixMilli() }
				for _, l := range tt.looks {
					fx.m.compare(0, []script.Use{{Set: tt.set, First: ms(l.first), Last: ms(l.last)}}, p.changed.Add(l.at), ms(l.at))
				}
				if got := len(fx.log.lines("another set of masters")); got > 1 || (got == 1) != tt.want {
					t.Errorf("the log has it %d times, want %v", got, tt.want)
				}
			})
		})
	}
}

// TestStaleSetsAreForgotten: what a master keeps of sets that nobody uses is taken away, and more than 64
// are not kept.
func TestStaleSetsAreForgotten(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		p := &fx.m.presence
		p.at[0].set = "3:aaaaaaaa,bbbbbbbb,cccccccc"
		shown := time.Now()
		uses := []script.Use{
			{Set: "garbage"},
			{Set: "1:11111111", First: 1, Last: shown.Add(-61 * time.Second).UnixMilli()},
			{Set: "1:22222222", First: 1, Last: shown.Add(6 * time.Second).UnixMilli()},
			{Set: "1:33333333", First: 1, Last: shown.Add(-59 * time.Second).UnixMilli()},
		}
		fx.m.compare(0, uses, clock.Now(), shown.UnixMilli())
		if got := p.at[0].stale; len(got) != 3 {
			t.Errorf("%q are to be taken away, want garbage, 1 and 2", got)
		}
		uses = uses[3:]
		for range 100 {
			uses = append(uses, script.Use{Set: "1:44444444", First: 1, Last: shown.UnixMilli()})
		}
		fx.m.compare(0, uses, clock.Now(), shown.UnixMilli())
		if got := len(p.at[0].stale); got != 101-maxSets {
			t.Errorf("%d of 101 sets are to be taken away, want all but %d", got, maxSets)
		}
	})
}
