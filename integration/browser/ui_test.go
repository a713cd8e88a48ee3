package browser

import (
	"errors"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func client(t *testing.T, fleet *redlocktest.Fleet, name string) *redlock.Client {
	t.Helper()
	cfg := redlock.Config{Name: name, Pools: fleet.Pools(), RestartGuard: redlock.GuardOff, NodeTimeout: 5 * time.Second} // a browser is busy
	c, err := redlock.New(cfg)
	check.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func lock(t *testing.T, c *redlock.Client, name string) *redlock.Hold {
	t.Helper()
	hold, err := c.Lock(t.Context(), name)
	check.OK(t, err)
	keep(t, hold)
	return hold
}

// keep has a hold last as long as the test, which may have to install a browser first: one that is garbage is
// renewed no more.
func keep(t *testing.T, hold *redlock.Hold) { t.Cleanup(func() { runtime.KeepAlive(hold) }) }

// evil is a name that wants to be more than text.
const evil = `<img src=x onerror="document.title='owned'">` + "\u202e\n"

// TestUI: the page shows who holds what and who waits, a master that hangs or has died within a second or
// so, and that it is back. It changes nothing at the masters, and keeps no record there.
func TestUI(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	holder, waiter := client(t, fleet, "orders-api"), client(t, fleet, "billing")
	hold := lock(t, holder, "orders:42")
	lock(t, holder, evil)
	permit, err := holder.Lock(t.Context(), "gpu", redlock.Permits(4))
	check.OK(t, err)
	keep(t, permit)
	reader, err := holder.Lock(t.Context(), "index", redlock.Shared())
	check.OK(t, err)
	keep(t, reader)
	waits := make(chan *redlock.Hold, 1)
	go func() {
		hold, _ := waiter.Lock(t.Context(), "orders:42")
		waits <- hold
	}()
	p := open(t, serve(t, fleet.URLs(), "--node-timeout", "3s"))
	p.until("#ready", "All is well: 3 of 3 masters")
	p.until("#locks", "orders:42", "orders-api on ", "gpu", "1 permit", "1 reader", `<img src=x onerror=`, `\u{202e}\u{a}`)
	p.until("#clients", "orders-api", "billing")

	choose := `[data-key="l orders:42"]`
	p.click(choose)
	p.until("#name", "held by orders-api on ", "Waiting", "billing on ")
	p.fits("ui")
	p.click(`[data-key="p gpu"]`)
	p.until("#name", "Permits of gpu", "1 permit held", "orders-api on ")
	p.click(choose)

	fleet.Master(2).Freeze()
	t.Logf("a master that hangs shows after %v", p.until("#masters li:last-child", "down", "no answer in time"))
	fleet.Master(2).Thaw()
	p.until("#masters li:last-child", "up")
	fleet.Master(2).Kill()
	t.Logf("a master that died shows after %v", p.until("#masters li:last-child", "down", "connection"))
	p.until("#ready", "no other master may fail")
	p.fits("strained")
	fleet.Master(1).Kill()
	p.until("#ready", "No locks: 1 of 3 masters can grant locks, 2 are needed.")
	p.until("#locks", "Too few masters answer. This was so ", "orders:42", "1 reader") // the last rows stay
	p.until("#clients", "This was so ", "billing")
	p.fits("outage")
	fleet.Master(1).RestartWithData()
	fleet.Master(2).RestartWithData()
	p.until("#ready", "All is well")

	if err := holder.Ready(t.Context()); err != nil { // it connects again by itself
		t.Fatal(err)
	}
	check.OK(t, hold.Unlock(t.Context()))
	if hold := <-waits; hold == nil {
		t.Fatal("the waiter has no lock")
	}
	p.until("#name", "held by billing on ")
	if title := p.text("title"); title == "owned" {
		t.Error("a name was run as a script")
	}
	if records := strings.Count(strings.Join(fleet.Master(0).Keys(), "\n"), "redlock_client:"); records != 2 {
		t.Errorf("%d clients have a record, want 2: the page has none", records)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	check.That(t, p.asked == nil, "the page asked %q", p.asked)
}

// TestForce: the page frees a lock if it is allowed to, and asks first. Nothing but the page can have that done.
func TestForce(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	c := client(t, fleet, "orders-api")
	hold := lock(t, c, "orders:42")
	only, may := serve(t, fleet.URLs()), serve(t, fleet.URLs(), "--allow-force")

	post := func(to, path, host, origin string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to+path, strings.NewReader(url.Values{"name": {"orders:42"}}.Encode()))
		check.OK(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if r.Host = host; host == "" {
			r.Host = r.URL.Host
		}
		answer, err := http.DefaultClient.Do(r)
		check.OK(t, err)
		answer.Body.Close()
		return answer.StatusCode
	}
	for what, code := range map[string]int{
		"a page that only looks":           post(only, "force", "", ""),
		"a page of another site":           post(may, "force", "", "https://evil.test"),
		"a site that has this address":     post(may, "force", "evil.test", ""),
		"doctor, for a page of another":    post(may, "doctor", "", "https://evil.test"),
		"doctor, for one that has this":    post(may, "doctor", "evil.test:80", ""),
		"a look, for one that has this":    post(may, "look", "evil.test", ""),
		"the page, for one that has this ": post(may, "", "evil.test", ""),
	} {
		check.Equal(t, code, http.StatusForbidden, "%s: status", what)
	}
	if hold.Context().Err() != nil {
		t.Fatal("the lock was freed")
	}

	p := open(t, may)
	p.until("#locks", "orders:42")
	p.click(`[data-key="l orders:42"]`)
	p.until("#name", "Free it")
	p.click(`[data-key="free"]`)
	p.until("#locks", "Nothing that matches is held.")
	p.until("#name", "free")
	if err := hold.Unlock(t.Context()); !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Unlock = %v, want ErrLost", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	check.That(t, len(p.asked) == 1 && strings.HasPrefix(p.asked[0], "Free orders:42, held by orders-api on "), "the page asked %q", p.asked)
}

// TestMany: of very many names the page lists as many as it was told to, and finds the others by a pattern, also those
// that are not UTF-8.
func TestMany(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	for _, m := range fleet.Masters() {
		for i := range 500 {
			key := "job:" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + time.Duration(i).String()
			m.HSet(key, "5c2b9a4e-0000-4000-8000-000000000000:r1", "1")
			m.Expire(key, time.Hour)
		}
	}
	holder := client(t, fleet, "orders-api")
	lock(t, holder, "zebra")
	lock(t, holder, "zebra\xff")
	// Masters in memory need a while for that, where tests run beside this one.
	p := open(t, serve(t, fleet.URLs(), "--limit", "50", "--node-timeout", "3s"))
	p.until("#locks", "Next", "job:")
	var rows int
	p.do(chromedp.Evaluate(`document.querySelectorAll('#locks tbody tr').length`, &rows))
	check.That(t, rows == 50, "%d names are listed, want 50", rows)
	first := p.text("#locks tbody tr")
	p.click(`[data-key="#locksnext"]`)
	p.until("#locks", "Back")
	p.fits("many")
	if next := p.text("#locks tbody tr"); next <= first {
		t.Errorf("the next page begins with %q, the first with %q", next, first)
	}
	p.do(chromedp.SendKeys("#pattern", "z*"))
	p.until("#locks tbody", "zebra")
	p.until("#locks .note", "")
	if text := p.text("#locks tbody"); strings.Contains(text, "job:") {
		t.Errorf("z* lists\n%s", text)
	}
	p.click(`[data-key$="emVicmH/"]`) // its bytes in base64
	p.until("#name", "held by orders-api on ")
}

// TestDoctor: the page shows what doctor says, once it is asked for.
func TestDoctor(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	p := open(t, serve(t, fleet.URLs())) // without a restart guard, which these masters need
	p.until("#ready", "All is well")
	p.click("#examine")
	p.until("#doctor", "Locks are not safe here", "restart-guard", "use a RestartGuard")
	p.fits("doctor")
}

// TestDemoPage: the page that redlock demo --html draws shows in a browser, and its scripts have no complaints.
func TestDemoPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.html")
	if out, err := command("demo", "--html", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := open(t, "file://"+file)
	p.until("h1", "redlock demo")
	p.fits("demo")
}

// TestArithmetic: the arithmetic of that page is right.
func TestArithmetic(t *testing.T) {
	node, err := redisserver.Need("Node.js", "nodejs", func() string {
		path, _ := exec.LookPath("node")
		return path
	})
	check.OK(t, err)
	out, err := exec.CommandContext(t.Context(), node, "../../internal/picture/testdata/check.js").CombinedOutput()
	check.OK(t, err, "check.js says\n%s", out)
}
