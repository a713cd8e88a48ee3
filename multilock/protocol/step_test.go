package protocol

import (
	"testing"
	"time"
	"unsafe"

	"example.com/redlock/clock"
)

// What a try at a free lock costs: five events and no allocation.
func BenchmarkStep(b *testing.B) {
	conf := Config{Masters: 5, Times: Usual}
	var out Effects
	b.ReportAllocs()
	b.Logf("a Contender has %d bytes, a Hold %d", unsafe.Sizeof(Contender{}), unsafe.Sizeof(Hold{}))
	for b.Loop() {
		c := Contender{Want: Want{Lease: 30 * time.Second, Wait: true}}
		now := clock.Instant{}
		c.Step(&conf, now, &Event{Kind: Start}, &out)
		for m := range 3 {
			c.Step(&conf, now, &Event{Kind: Answer, Master: m, Try: 1, Round: 1, Outcome: Yes, Token: 1000}, &out)
		}
		c.Step(&conf, now, &Event{Kind: Take}, &out)
		if c.State != Taken || c.Token != 1000 {
			b.Fatalf("%v with token %d, want %v with 1000", c.State, c.Token, Taken)
		}
	}
}
