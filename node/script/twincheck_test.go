package script

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script/twin"
)

// compare makes the master carry out cmd, and the twin do the same, and compares the answers.
func (w *walk) compare(k int, cmd *Command, do func(*twin.Lock) twin.Reply) {
	if want, ok := w.twin(k, do); ok {
		w.run(cmd, func(got Answer) string { return w.differs(got, want) })
	}
}

// twin makes the twin of the k-th lock do something. What it published is to be expected from then on. ok is false, and
// nothing was done, if the twin has no room for that, since it keeps of each thing a few.
func (w *walk) twin(k int, do func(*twin.Lock) twin.Reply) (r twin.Reply, ok bool) {
	defer func() {
		if why := recover(); why != nil && !strings.HasPrefix(fmt.Sprint(why), "twin: more than ") {
			panic(why)
		}
	}()
	l := w.locks[k]
	r = do(&l)
	w.locks[k] = l
	w.told(k, r)
	return r, true
}

// inspect compares what the master tells with what its twin has.
func (w *walk) inspect(k int) {
	l, now := &w.locks[k], w.now()
	want := l.Inspect(now)
	var crowd Crowd
	for _, r := range l.Reading {
		if r.Owner != 0 && l.Holder == twin.Readers {
			crowd.Readers = append(crowd.Readers, Reader{w.text(r.Owner), millis(r.Until - now)})
		}
	}
	slices.SortStableFunc(crowd.Readers, func(a, b Reader) int { return cmp.Compare(a.Left, b.Left) })
	for _, e := range l.Queue {
		if e.Stale > now {
			crowd.Waiters = append(crowd.Waiters, Waiter{Owner: w.text(e.Owner), Mode: Mode(e.Mode)})
		}
	}
	w.run(Inspect(w.names[k]), func(got Answer) string {
		var told Crowd
		if got.Outcome == Failed {
			crowd = Crowd{}
		}
		if got.Crowd != nil {
			told, got.Crowd = *got.Crowd, nil
		}
		if g, s := fmt.Sprintf("%+v", told), fmt.Sprintf("%+v", crowd); g != s {
			return fmt.Sprintf("told of %s, want %s", g, s)
		}
		return w.differs(got, want)
	})
}

// told has what the twin published be expected from now on.
func (w *walk) told(k int, want twin.Reply) {
	for _, to := range want.HandOffs {
		if to.Owner == 0 {
			break
		}
		name, _, _ := strings.Cut(w.text(to.Owner), ":")
		token := fmt.Sprint(to.Token)
		if to.Mode == twin.Shared {
			token += ":shared"
		}
		w.published(HandOffChannel(name), fmt.Sprintf("%s %d %s %s", w.text(to.Owner), to.Round, token, w.names[k]))
	}
	if owner := w.text(want.Wanted); want.Wanted != 0 && w.hear(want.Wanted) {
		name, _, _ := strings.Cut(owner, ":")
		w.published(HandOffChannel(name), owner+" wanted "+w.names[k])
	}
	if want.Told {
		w.published(FreedChannel(w.names[k]), "0")
	}
}

// differs returns in what an answer is not that of the twin, "" if in nothing.
func (w *walk) differs(got Answer, want twin.Reply) string {
	if _, notLock := errors.AsType[*NotLockError](got.Err); got.Outcome == Failed && !notLock && !strings.Contains(got.Err.Error(), "beyond 2^53") {
		return fmt.Sprintf("failed: %v", got.Err)
	}
	got.Err = nil
	left := time.Duration(want.Left) * time.Millisecond
	if want.Left == twin.Never {
		left = Never
	}
	same := Answer{
		Outcome: Failed + Outcome(want.Outcome), Token: want.Token, Holder: w.text(want.Holder), Count: int(want.Count), Left: left, Rank: want.Rank,
	}
	if g, s := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", same); g != s {
		return fmt.Sprintf("answered %s, want %s", g, s)
	}
	return ""
}

// published is to be expected on channel.
func (w *walk) published(channel, message string) {
	w.expect[channel] = append(w.expect[channel], message)
}

// check compares all that there is to see.
func (w *walk) check(step int) {
	t, did := w.h.t, fmt.Sprintf("step %d, %s", step, strings.Join(w.did, "; "))
	check.That(t, w.differ == nil, "%s: %s", did, strings.Join(w.differ, "; "))
	w.did = nil
	got, want := map[string]string{}, map[string]string{}
	w.want = want
	for _, key := range w.h.m.Keys() {
		got[key] = w.real(key)
	}
	for k := range w.locks {
		w.picture(k)
		w.pictureLine(k)
	}
	all := maps.Clone(got)
	maps.Copy(all, want)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		check.Equal(t, got[key], want[key], "%s: %s", did, key)
	}
	for channel, post := range w.posts {
		got := post.take()
		check.That(t, slices.Equal(got, w.expect[channel]), "%s: published on %s: %q, want %q", did, channel, got, w.expect[channel])
		delete(w.expect, channel)
	}
	for channel, messages := range w.expect {
		t.Errorf("%s: nobody listens on %s, want %q there", did, channel, messages)
	}
}

// real is what the master has at key.
func (w *walk) real(key string) string {
	m := w.h.m
	ttl := m.TTL(key)
	switch m.Type(key) {
	case "hash":
		hash := m.Hash(key)
		var fields []string
		for _, field := range slices.Sorted(maps.Keys(hash)) {
			fields = append(fields, field+"="+hash[field])
		}
		return expiring(strings.Join(fields, ", "), ttl)
	case "zset":
		all, err := redis.Strings(w.h.conn.Do("ZRANGE", key, 0, -1, "WITHSCORES"))
		if err != nil {
			w.h.t.Fatal(err)
		}
		var queue strings.Builder
		for i := 0; i < len(all); i += 2 {
			if strings.HasPrefix(key, readPrefix) {
				if until, _ := strconv.ParseInt(all[i+1], 10, 64); until <= w.now() {
					continue // it goes when somebody joins
				}
			}
			fmt.Fprintf(&queue, "%s since %s; ", all[i], all[i+1])
		}
		return expiring(queue.String(), ttl)
	}
	if strings.HasPrefix(key, fencePrefix) && ttl > time.Hour-time.Minute {
		return m.Get(key) // the twin knows no more of its expiry
	}
	return expiring(m.Get(key), ttl)
}

// picture adds what the twin of the k-th lock has at each key.
func (w *walk) picture(k int) {
	l, name := &w.locks[k], w.names[k]
	l.Expire(w.now())
	var fields []string
	switch l.Holder {
	case 0:
	case twin.Readers:
		fields = append(fields, "mode=shared")
	default:
		fields = append(fields, fmt.Sprintf("%s=%d", w.text(l.Holder), l.Count))
	}
	if l.Alien {
		fields = append(fields, "name=bob")
	}
	if l.Expires != 0 {
		w.put(name, strings.Join(fields, ", "), l.Expires)
	}
	if readers := slices.DeleteFunc(slices.Clone(l.Reading[:]), func(r twin.Span) bool { return r.Owner == 0 }); len(readers) > 0 {
		slices.SortStableFunc(readers, func(a, b twin.Span) int { return cmp.Compare(a.Until, b.Until) })
		var set strings.Builder
		for _, r := range readers {
			fmt.Fprintf(&set, "%s since %d; ", w.text(r.Owner), r.Until)
		}
		w.put(belonging(readPrefix, name), set.String(), readers[len(readers)-1].Until)
	}
	if l.Counter != 0 {
		w.want[belonging(fencePrefix, name)] = fmt.Sprint(l.Counter)
	}
	if l.Turn != 0 {
		w.put(belonging(turnPrefix, name), "1", l.Turn)
	}
}

// put notes that the twin has a key until an instant.
func (w *walk) put(key, value string, end int64) {
	left := millis(end - w.now())
	if end == twin.Never {
		left = 0
	}
	w.want[key] = expiring(value, left)
}

// pictureLine adds what the twin has of those who wait, and of those who were forced out.
func (w *walk) pictureLine(k int) {
	queueKey := belonging(queuePrefix, w.names[k])
	var queue strings.Builder
	for _, e := range w.locks[k].Queue {
		if e.Owner == 0 {
			break
		}
		ask := fmt.Sprintf("%s %d %d", round(e), e.Lease, e.Proposal)
		if e.Mode == twin.Shared {
			ask += " shared"
		}
		fmt.Fprintf(&queue, "%s since %d; ", w.text(e.Owner), e.Since)
		if e.Stale > w.now() {
			w.put(queueKey+w.text(e.Owner), ask, e.Stale)
		}
	}
	if queue.String() != "" {
		w.put(queueKey, queue.String(), w.locks[k].QueueExpires)
	}
	for _, m := range w.locks[k].Forced {
		if m.Owner != 0 {
			w.put(belonging(forcedPrefix, w.names[k])+w.text(m.Owner), "1", m.Until)
		}
	}
}

// round is the round of an entry as the master keeps it.
func round(e twin.Entry) string {
	if e.Polls {
		return fmt.Sprint(e.Round, "p")
	}
	return fmt.Sprint(e.Round)
}

// expiring is a value and when it runs out.
func expiring(value string, left time.Duration) string {
	if left == 0 {
		return value + " without expiry"
	}
	return fmt.Sprintf("%s for %v", value, left)
}
