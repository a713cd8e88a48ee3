package script

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// TestFirstComeFirstServed: a reader that comes after a waiting writer waits behind it; all readers at
// the head are let in by one release, and told; those behind the next writer are not.
func TestFirstComeFirstServed(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.read("x:r0", lease)
		h.writes("a:r1", 10)
		for i, owner := range []string{"a:r2", "a:r3"} {
			got := h.waits(owner, int64(20+i))
			if want := (Answer{Outcome: Refused, Left: lease, Rank: i + 1}); !reflect.DeepEqual(got, want) {
				t.Errorf("ask of %s: got %+v, want %+v: it goes on asking, and so it is told of no holder", owner, got, want)
			}
		}
		h.wantAnswer("a try behind a waiting writer", h.read("y:r1", lease), Refused, SharedHolder)
		h.writes("a:r4", 30)
		h.waits("a:r5", 40)
		h.wantReaders("while the writer waits", "x:r0 30s")

		h.run(reader("x:r0").Release(5, 0))
		h.wantLock("after the reader", id("a:r1"), short)
		post.want(t, "to the writer", id("a:r1 1 6 k"))
		h.run(NewOwner("k", id("a:r1")).Release(6, 10))
		h.wantReaders("after the writer", "a:r2 400ms", "a:r3 400ms")
		post.want(t, "to the readers", id("a:r2 1 6:shared k"), id("a:r3 1 6:shared k"))
		h.wantQueue("then", id("a:r4 1"), id("a:r5 1"))
		h.run(reader("a:r2").Release(6, 20))
		post.want(t, "while one reads")
		h.run(reader("a:r3").Release(6, 21))
		h.wantLock("after the readers", id("a:r4"), short)
		post.want(t, "to the second writer", id("a:r4 1 7 k"))
	})
}

// TestManyReaders: one release lets in 32, and the next ask of one of the others the rest.
func TestManyReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		for i := range 40 {
			h.waits(fmt.Sprintf("a:r%d", 10+i), int64(10+i))
		}
		h.release(id("x:r0"), 5)
		if got := len(post.take()); got != 32 {
			t.Errorf("%d readers were told, want 32", got)
		}
		h.wantAnswer("the next ask", h.asks(reader("a:r49"), 2, 49), Done, "")
		if got := len(post.take()); got != 7 {
			t.Errorf("%d more readers were told, want 7", got)
		}
		h.wantQueue("then")
	})
}

// TestTokensOfReaders: readers leave the counter as it is, and their token is at least that of every
// writer before. What they raise it to, the next writer is above.
func TestTokensOfReaders(t *testing.T) {
	token := func(h *scriptFixture) string { return h.m.Get("redlock_fence:{k}") }
	withScripts(t, func(h *scriptFixture) {
		if got := h.read("a:r1", lease); got.Token != 5 {
			t.Errorf("first of all: token %d, want 5, the proposal", got.Token)
		}
		if got := h.run(reader("a:r2").Acquire(lease, 50)); got.Token != 5 {
			t.Errorf("second reader: token %d, want 5, the counter", got.Token)
		}
		for _, raise := range []int64{9, 9, 7} {
			if got := h.run(reader("a:r1").Raise(lease, raise)); got.Outcome != Done || got.Token != raise {
				t.Errorf("raise to %d: %+v, want Done: the counter is not below it then", raise, got)
			}
			if token(h) != "9" {
				t.Errorf("after a raise to %d the counter is %s, want 9", raise, token(h))
			}
		}
		h.wantAnswer("raise by one who does not read", h.run(reader("a:r3").Raise(lease, 20)), Refused, "")
		h.run(reader("a:r1").Release(9, 0))
		h.run(reader("a:r2").Release(9, 0))
		if got := h.run(NewOwner("k", id("w:r1")).Acquire(lease, 6)); got.Token != 10 {
			t.Errorf("writer: token %d, want 10", got.Token)
		}
	})
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.waits("a:r1", 10)
		h.release(id("x:r0"), 41)
		post.want(t, "token of the writer before", id("a:r1 1 41:shared k"))
		h.writes("a:r2", 20)
		h.run(reader("a:r1").Release(60, 10)) // it had read 60 elsewhere
		post.want(t, "above that of the reader", id("a:r2 1 61 k"))
	})
}

// TestStrayHandOffOfAReader: what a message says is enough to give back what was handed off.
func TestStrayHandOffOfAReader(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.waits("a:r1", 10)
		h.release(id("x:r0"), 5)
		message := post.take()
		if len(message) != 1 {
			t.Fatalf("published %q, want one message", message)
		}
		got, ok := DecodeHandOff(message[0])
		if want := (HandOff{Owner: id("a:r1"), Round: 1, Token: 5, Key: "k", Mode: Shared}); !ok || got != want {
			t.Errorf("DecodeHandOff(%q) = %+v, %v, want %+v", message[0], got, ok, want)
		}
		h.wantAnswer("release", h.run(got.Release()), Done, "")
		h.wantReaders("then")
	})
}

// TestRepeatsOfReaders: a release or Leave that is sent again is that of a reader.
func TestRepeatsOfReaders(t *testing.T) {
	o := reader("a:r1")
	entry := QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 5}
	for _, tt := range []struct{ cmd, want *Command }{
		{o.Release(5, 0), o.Release(5, 0)},
		{o.Yield(10), o.Yield(10)},
		{o.ReleaseTo(5, 10, reader("a:r2"), entry), o.Release(5, 10)},
		{o.Leave(2), o.Leave(2)},
	} {
		again := tt.cmd.Repeat().Command()
		if again.Script() != tt.want.Script() || !slices.Equal(again.args, tt.want.args) || !again.Repeats() {
			t.Errorf("%v again: %v, want %v", tt.cmd.args, again.args, tt.want.args)
		}
	}
}

// TestWriterThatGivesUp: the readers behind it are let in, also while others read.
func TestWriterThatGivesUp(t *testing.T) {
	for _, next := range []*Owner{nil, reader("a:r9"), NewOwner("k", id("a:r9"))} {
		withScripts(t, func(h *scriptFixture) {
			post := h.subscribeClient("a")
			h.read("x:r0", lease)
			h.writes("w:r1", 10)
			h.waits("a:r2", 20)
			cmd := NewOwner("k", id("w:r1")).Release(5, 10)
			if next != nil {
				cmd = NewOwner("k", id("w:r1")).ReleaseTo(5, 10, next, QueueEntry{Round: 1, Since: 30, Lease: short, Proposal: 7})
			}
			h.wantAnswer("giving up", h.run(cmd), Refused, "")
			want, told := []string{"a:r2 400ms"}, []string{id("a:r2 1 5:shared k")}
			if next != nil && next.Mode == Shared {
				want, told = append(want, "a:r9 400ms"), append(told, id("a:r9 1 5:shared k"))
			}
			h.wantReaders("then", append(want, "x:r0 30s")...)
			post.want(t, "to the readers", told...)
		})
	}
}
