package multilock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Why a bid has not been won yet: nothing is said before it is known, unless the caller
// waits no longer.
func TestFailure(t *testing.T) {
	cut := context.DeadlineExceeded
	for _, tt := range []struct {
		name  string
		bid   func(b bench) *Bid
		cut   error
		want  error // nil: none
		split bool
	}{
		{"no answer yet", func(b bench) *Bid { return newBid(b.m) }, nil, nil, false},
		{"no answer yet, and no time", func(b bench) *Bid { return newBid(b.m) }, cut, ErrNoQuorum, false},
		{"taken", func(b bench) *Bid {
			b.seat("x:r1", time.Minute, 0, 1, 2)
			return askedBid(b.m)
		}, nil, ErrTaken, false},
		{"taken, and no time", func(b bench) *Bid {
			b.seat("x:r1", time.Minute, 0, 1, 2)
			return askedBid(b.m)
		}, cut, ErrTaken, false},
		{"two owners", func(b bench) *Bid {
			b.seat("x:r1", time.Minute, 0)
			b.seat("y:r1", time.Minute, 1)
			return askedBid(b.m)
		}, nil, ErrTaken, true},
		{"a majority is dead", func(b bench) *Bid {
			b.Master(0).Kill()
			b.Master(1).Kill()
			bid := newBid(b.m)
			bid.Ask()
			time.Sleep(time.Second)
			return bid
		}, nil, ErrNoQuorum, false},
		{"a majority is frozen, and no time", func(b bench) *Bid {
			b.Master(0).Freeze()
			b.Master(1).Freeze()
			bid := newBid(b.m)
			bid.Ask()
			time.Sleep(timeout / 2)
			return bid
		}, cut, ErrNoQuorum, false},
		{"entered by a release", func(b bench) *Bid {
			bid := newBid(b.m)
			b.m.ReleaseTo(Claim{Owner: b.m.NewOwner("k"), At: 7}, bid)
			synctest.Wait()
			return bid
		}, cut, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				bid := tt.bid(b)
				defer bid.GiveUp(nil)
				err := bid.Failure(tt.cut)
				if tt.want == nil {
					if err != nil {
						t.Errorf("Failure(%v) = %v, want nil", tt.cut, err)
					}
					return
				}
				if err == nil || !errors.Is(err, tt.want) || errors.Is(err, cut) != (tt.cut != nil) || err.Split() != tt.split {
					t.Errorf("Failure(%v) = %v, want %v, split %v", tt.cut, err, tt.want, tt.split)
				}
			})
		})
	}
}

// Another caller of the client may ask why a bid has not been won while its own caller is
// about to say that it was.
func TestFailureOfABidThatIsWon(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		claim := b.held(t)
		bid := askedBid(b.another(t, 0))
		if err := bid.Failure(nil); !errors.Is(err, ErrTaken) {
			t.Errorf("Failure while another has it = %v, want ErrTaken", err)
		}
		w := wait(t, bid)
		time.Sleep(time.Second)
		b.m.Release(claim, 0)
		if !w.now().won {
			t.Fatal("not won after the release")
		}
		for _, cut := range []error{nil, context.Canceled} {
			if err := bid.Failure(cut); err != nil {
				t.Errorf("Failure(%v) of a bid that is won = %v, want nil", cut, err)
			}
		}
	})
}

// What Redisson's clients publish is listened to while a bid waits for one of them, and no
// longer, however it ends.
func TestRedissonsChannelIsLeft(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(b bench, bid *Bid)
	}{
		{"given up before anybody waits", func(b bench, bid *Bid) { bid.GiveUp(nil) }},
		{"Wait returns", func(b bench, bid *Bid) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			bid.Wait(ctx, nil, nil)
			bid.GiveUp(nil)
		}},
		{"won", func(b bench, bid *Bid) {
			for _, m := range b.Masters() {
				m.Del("k")
			}
			g, _ := bid.Wait(context.Background(), nil, nil)
			bid.m.Release(g.Claim, 0)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				b.m.Listen()
				time.Sleep(time.Second)
				b.seat("uuid:12", time.Minute, 0, 1, 2)
				before := b.Master(1).Calls("SUBSCRIBE")
				bid := askedBid(b.m)
				if got := b.Master(1).Calls("SUBSCRIBE") - before; got != 1 {
					t.Errorf("%d subscriptions, want 1", got)
				}
				tt.end(b, bid)
				synctest.Wait()
				if got := b.Master(1).Calls("UNSUBSCRIBE"); got != 1 {
					t.Errorf("%d were ended, want 1", got)
				}
			})
		})
	}
}
