package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/doctor"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// TestStanding: the page says that all is well, that no other master may fail, or that there are no locks, and
// only of masters that can grant locks.
func TestStanding(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		states  []redlocktrace.State
		how     standing
		verdict string
	}{
		{[]redlocktrace.State{"up", "behind", "steady"}, well, "All is well: 3 of 3 masters can grant locks."},
		{[]redlocktrace.State{"granting", "up", "down"}, strained, "Locks work, but no other master may fail: 2 of 3 masters can grant locks, 2 are needed."},
		{[]redlocktrace.State{"up", "up", "up", "up", "refused"}, strained, "Locks work, but only 1 more may fail: 4 of 5 masters can grant locks, 3 are needed."},
		{[]redlocktrace.State{"up", "unsteady", ""}, none, "No locks: 1 of 3 masters can grant locks, 2 are needed."},
		{[]redlocktrace.State{"guarded", "guarded", "guarded"}, none, "No locks: 0 of 3 masters can grant locks, 2 are needed."},
		{[]redlocktrace.State{"up"}, well, "All is well: 1 of 1 master can grant locks."},
	} {
		var masters []uiMaster
		for _, state := range c.states {
			masters = append(masters, uiMaster{State: state})
		}
		if how, verdict := healthOf(masters, now); how != c.how || verdict != c.verdict {
			t.Errorf("%q: %s, %q; want %s, %q", c.states, how, verdict, c.how, c.verdict)
		}
	}
	connected := []uiMaster{{State: "up", Until: now.Add(time.Second)}}
	for at, want := range map[time.Time]standing{now: none, now.Add(time.Second): well} {
		how, _ := healthOf(connected, at)
		check.Equal(t, how, want, "at %v, with a guard for a second", at.Sub(now))
	}
}

// besideFleet runs f in a bubble, with the server of a page that may free locks and shows 200 rows.
func besideFleet(t *testing.T, f func(t *testing.T, fleet *redlocktest.Fleet, server *uiServer)) {
	synctest.Test(t, func(t *testing.T) {
		fleet, server := redlocktest.Start(t, 3), newUI(true, 200)
		var err error
		server.client, err = redlock.New(redlock.Config{Name: "page", NoRecord: true, Pools: fleet.Pools(), RestartGuard: redlock.GuardOff})
		check.OK(t, err)
		defer server.client.Close()
		f(t, fleet, server)
	})
}

// asks has the server answer a page.
func asks(t *testing.T, server *uiServer, method, path string, fields url.Values, site string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost/"+path+"?"+fields.Encode(), nil)
	if site != "" {
		r.Header.Set("Sec-Fetch-Site", site)
	}
	w := httptest.NewRecorder()
	server.handler().ServeHTTP(w, r)
	return w
}

// looked is what a page got.
func looked(t *testing.T, server *uiServer, fields url.Values) (look uiLook, size int) {
	t.Helper()
	w := asks(t, server, http.MethodGet, "look", fields, "same-origin")
	size = w.Body.Len()
	if err := json.Unmarshal(w.Body.Bytes(), &look); err != nil || w.Code != http.StatusOK {
		t.Fatalf("a look: %d, %v", w.Code, err)
	}
	return look, size
}

// TestPagesOfRowsLong: a look at many locks and clients has as many rows as a page shows, and no more than 2 MB. The
// next page begins where it has ended.
func TestPagesOfRowsLong(t *testing.T) {
	const locks, clients, most = 10_000, 1_000, 2_000_000
	owner := func(i int) string { return fmt.Sprintf("5c2b9a4e-0000-4000-8000-%012d", i%clients) }
	besideFleet(t, func(t *testing.T, fleet *redlocktest.Fleet, server *uiServer) {
		for _, m := range fleet.Masters() {
			for i := range locks {
				m.HSet(fmt.Sprintf("%s:%05d", strings.Repeat("long", 20), i), owner(i)+":r1", "1")
			}
			for i := range clients {
				record := script.Record{
					Name: fmt.Sprintf("orders-api-%d", i), Host: strings.Repeat("host", 20), PID: i, At: time.Now().UnixMilli(), Since: time.Now().UnixMilli(),
					Terms: script.Terms{Lease: 30_000, Guard: 30_000, Masters: []script.Master{{Run: strings.Repeat("a", 40)}, {Run: strings.Repeat("b", 40)}, {Run: strings.Repeat("c", 40)}}},
				}
				text, err := json.Marshal(record)
				check.OK(t, err)
				m.Set("redlock_client:{"+owner(i)+"}", string(text))
			}
		}
		fields, scripts := url.Values{}, fleet.Master(0).Calls("evalsha")
		look, size := looked(t, server, fields)
		if len(look.List.Locks) != 200 || len(look.Clients.Clients) != 200 || look.Total != clients || !look.List.More || size > most {
			t.Errorf("a look has %d locks, %d clients of %d, and %d bytes", len(look.List.Locks), len(look.Clients.Clients), look.Total, size)
		}
		check.AtMost(t, fleet.Master(0).Calls("evalsha")-scripts, 300, "scripts that a look costs a master, those of one page")
		t.Logf("a look has %d bytes", size)
		fields.Set("skip", "900")
		fields.Set("after", look.List.Locks[199].Name)
		look, _ = looked(t, server, fields)
		if len(look.Clients.Clients) != 100 || len(look.List.Locks) != 200 || !strings.HasSuffix(look.List.Locks[0].Name, ":00200") {
			t.Errorf("the next page has %d clients, and begins with %q", len(look.Clients.Clients), look.List.Locks[0].Name)
		}
	})
}

// TestPageOfAll: whoever wants all rows at once gets them.
func TestPageOfAll(t *testing.T) {
	besideFleet(t, func(t *testing.T, fleet *redlocktest.Fleet, server *uiServer) {
		server.limit = math.MaxInt
		for range 2 {
			other, err := redlock.New(redlock.Config{Pools: fleet.Pools(), RestartGuard: redlock.GuardOff})
			check.OK(t, err)
			defer other.Close()
			check.OK(t, other.Do(t.Context(), "n", func(context.Context) error { return nil }))
		}
		time.Sleep(time.Minute)
		for skip, want := range map[string]int{"0": 2, "1": 1, "2": 0, "3": 0} {
			look, _ := looked(t, server, url.Values{"skip": {skip}})
			check.Equal(t, len(look.Clients.Clients), want, "clients behind the first %s", skip)
		}
	})
}

// TestTurns: pages with several patterns cost the masters no more than one does, and each has its turn.
func TestTurns(t *testing.T) {
	minute := func(patterns ...string) (scans int64, least int) {
		besideFleet(t, func(t *testing.T, fleet *redlocktest.Fleet, server *uiServer) {
			for _, m := range fleet.Masters() {
				m.Delay(50 * time.Millisecond)
			}
			looked(t, server, url.Values{}) // it has connected
			begun := fleet.Master(0).Calls("scan")
			var pages sync.WaitGroup
			looks := make([]int, len(patterns))
			for i, pattern := range patterns {
				pages.Go(func() {
					for end := time.Now().Add(time.Minute); time.Now().Before(end); looks[i]++ {
						began := time.Now()
						looked(t, server, url.Values{"pattern": {pattern}})
						time.Sleep(min(mostPause, max(lookPause, 4*time.Since(began)))) // as ui.js does
					}
				})
			}
			pages.Wait()
			scans, least = fleet.Master(0).Calls("scan")-begun, slices.Min(looks)
		})
		return scans, least
	}
	one, alone := minute("a*")
	// Each of them would cost as much as one. Some looks end behind the minute.
	for _, patterns := range [][]string{{"a*", "a*"}, {"a*", "b*"}, {"a*", "b*", "c*", "d*"}} {
		if scans, least := minute(patterns...); scans > one*3/2 || least < alone/len(patterns)/2 {
			t.Errorf("pages with %q: %d SCAN and %d looks; one: %d and %d", patterns, scans, least, one, alone)
		}
	}
}

// TestLookForItself: only the page has the masters asked, and no page of another site.
func TestLookForItself(t *testing.T) {
	besideFleet(t, func(t *testing.T, fleet *redlocktest.Fleet, server *uiServer) {
		for site, want := range map[string]int{"": 200, "none": 200, "same-origin": 200, "same-site": 403, "cross-site": 403} {
			before := fleet.Master(0).Calls("scan")
			check.Equal(t, asks(t, server, http.MethodGet, "look", nil, site).Code, want, "Sec-Fetch-Site %q", site)
			if asked := fleet.Master(0).Calls("scan") > before; asked && want == 403 {
				t.Errorf("Sec-Fetch-Site %q has the masters asked", site)
			}
		}
	})
}

// TestHostOfThePage: the page answers by the names of the loopback, as browsers write them.
func TestHostOfThePage(t *testing.T) {
	handler := newUI(false, 200).handler()
	for host, want := range map[string]int{
		"localhost": 200, "localhost:7380": 200, "127.0.0.1": 200, "127.0.0.1:7380": 200, "[::1]": 200, "[::1]:7380": 200,
		"": 403, "example.com": 403, "localhost.example.com:7380": 403, "10.0.0.1:7380": 403, "[::2]": 403,
	} {
		r, w := httptest.NewRequest(http.MethodGet, "http://localhost/", nil), httptest.NewRecorder()
		r.Host = host
		handler.ServeHTTP(w, r)
		check.Equal(t, w.Code, want, "Host %q", host)
	}
}

// endless is a body of a form that has no end, and counts what is read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	const head = "--b\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n"
	n := copy(p, strings.Repeat("x", len(p)))
	if e.read == 0 {
		copy(p, head)
	}
	if e.read += n; e.read > 100<<20 {
		return n, errors.New("it would have filled the disk")
	}
	return n, nil
}

// TestFormsAreShort: what a request brings is read up to a bound.
func TestFormsAreShort(t *testing.T) {
	besideFleet(t, func(t *testing.T, fleet *redlocktest.Fleet, server *uiServer) {
		for path, method := range map[string]string{"look": http.MethodGet, "force": http.MethodPost, "doctor": http.MethodPost, "masters": http.MethodGet} {
			server.examine = func(context.Context) (doctor.Report, error) { return doctor.Report{}, nil }
			body := new(endless)
			r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost/"+path+"?name=n", body)
			r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
			server.handler().ServeHTTP(httptest.NewRecorder(), r)
			check.AtMost(t, body.read, 10<<20, "bytes that were read of %s", path)
		}
	})
}

// TestFreesWhatWasShown: the page frees what its user saw, and not what somebody else took since then.
func TestFreesWhatWasShown(t *testing.T) {
	besideFleet(t, func(t *testing.T, fleet *redlocktest.Fleet, server *uiServer) {
		free := func(permits string, owners ...string) int {
			return asks(t, server, http.MethodPost, "force", url.Values{"name": {"n"}, "permits": {permits}, "owner": owners}, "same-origin").Code
		}
		old, err := server.client.Lock(t.Context(), "n")
		check.OK(t, err)
		check.OK(t, old.Unlock(t.Context()))
		hold, err := server.client.Lock(t.Context(), "n")
		check.OK(t, err)
		permit, err := server.client.Lock(t.Context(), "n", redlock.Permits(2))
		check.OK(t, err)
		if code := free("", old.Owner()); code != http.StatusConflict || free("1", old.Owner()) != http.StatusConflict {
			t.Errorf("what another has by now: %d, want 409", code)
		}
		time.Sleep(time.Minute)
		if hold.Context().Err() != nil || permit.Context().Err() != nil {
			t.Error("it was freed")
		}
		if code := free("", hold.Owner()); code != http.StatusOK || free("1", permit.Owner()) != http.StatusOK {
			t.Errorf("what was shown: %d, want 200", code)
		}
		runtime.KeepAlive(hold)
		runtime.KeepAlive(permit)
		if in, err := redlockadmin.Of(server.client).Inspect(t.Context(), "n"); err != nil || in.Held {
			t.Errorf("then %+v, %v", in, err)
		}
	})
}

// TestPageWithinAPrefix: a page lists, shows and frees the names that have the prefix, by what they are called there.
func TestPageWithinAPrefix(t *testing.T) {
	besideFleet(t, func(t *testing.T, fleet *redlocktest.Fleet, server *uiServer) {
		others := server.client
		var err error
		server.client, err = redlock.New(redlock.Config{Prefix: "orders:", Pools: fleet.Pools(), RestartGuard: redlock.GuardOff})
		check.OK(t, err)
		defer server.client.Close()
		var holds [2]*redlock.Hold
		for i, name := range []string{"orders:42", "42"} {
			holds[i], err = others.Lock(t.Context(), name)
			check.OK(t, err)
		}
		look, _ := looked(t, server, url.Values{"name": {"42"}})
		if locks := look.List.Locks; len(locks) != 1 || locks[0].Name != "42" {
			t.Errorf("a look has %+v, want 42 alone", locks)
		}
		shown, _ := look.Name.(map[string]any)
		check.Equal[any](t, shown["held"], true, "42 is held")
		freed := url.Values{"name": {"42"}, "owner": {holds[0].Owner()}}
		check.Equal(t, asks(t, server, http.MethodPost, "force", freed, "same-origin").Code, http.StatusOK, "42 is freed")
		time.Sleep(time.Minute)
		if within, without := holds[0].Context().Err(), holds[1].Context().Err(); within == nil || without != nil {
			t.Errorf("then orders:42 has ended with %v, and 42 with %v; want the first alone", within, without)
		}
	})
}

// TestLookWithShortSettings: what only looks, and the page's examination, work with settings that clients of a short
// lease have.
func TestLookWithShortSettings(t *testing.T) {
	for _, setting := range []string{"REDLOCK_RESTART_GUARD=10s", "REDLOCK_MAX_LEASE=10s"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			fleet := redlocktest.Start(t, 3)
			env := []string{"REDLOCK_MASTERS=" + strings.Join(fleet.URLs(), ","), setting}
			command(t, "list").env(env...).start().wantCode(exitNo)
			page := command(t, "ui", "--listen=127.0.0.1:0").env(env...).start()
			check.Eventually(t, "the page is served", func() bool { return strings.HasSuffix(page.stdout.String(), "\n") })
			answer, err := http.Post(strings.TrimSpace(page.stdout.String())+"doctor", "", nil)
			check.OK(t, err)
			defer answer.Body.Close()
			check.Equal(t, answer.StatusCode, http.StatusOK, "the examination")
		})
	}
}

// TestNoEnd: the page takes the time left of a lock that never expires for what it is.
func TestNoEnd(t *testing.T) {
	found := regexp.MustCompile(`ms > (\S+)\) return 'no end'`).FindStringSubmatch(check.File(t, "ui/ui.js"))
	check.Equal(t, len(found), 2, "what ui.js compares the time left with")
	from, err := strconv.ParseFloat(found[1], 64)
	check.OK(t, err)
	if left := float64(never.Milliseconds()); left <= from || left > 2*from {
		t.Errorf("no end is %v ms left, and ui.js says so from %v on", left, from)
	}
}
