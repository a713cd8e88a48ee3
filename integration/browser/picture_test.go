package browser

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

var update = flag.Bool("update", false, "draw the picture of the README anew")

// picture is what the README shows.
const picture = "../../docs/ui.png"

// TestPicture: the README's picture of the page is one, and small enough. To draw it anew: go test . -run TestPicture
// -update
func TestPicture(t *testing.T) {
	if *update {
		draw(t)
	}
	file, err := os.ReadFile(picture)
	check.OK(t, err)
	image, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil || image.Width != 1280 || len(file) > 150_000 {
		t.Errorf("the picture has %d bytes and is %d pixels wide, %v; want at most 150,000, and 1280", len(file), image.Width, err)
	}
}

// draw looks at a page of some locks, and keeps what it sees. The machine's name is not shown.
func draw(t *testing.T) {
	fleet := redlocktest.Start(t, 3)
	api, billing, reports := client(t, fleet, "orders-api"), client(t, fleet, "billing"), client(t, fleet, "reports")
	lock(t, api, "orders:42")
	lock(t, api, "orders:57")
	lock(t, billing, "invoices:2026-11")
	for _, c := range []*redlock.Client{billing, reports} {
		go func() { _, _ = c.Lock(t.Context(), "orders:42") }()
	}
	for _, of := range []struct {
		c    *redlock.Client
		name string
		as   redlock.Option
	}{{reports, "gpu", redlock.Permits(4)}, {billing, "gpu", redlock.Permits(4)}, {reports, "index", redlock.Shared()}, {api, "index", redlock.Shared()}} {
		hold, err := of.c.Lock(t.Context(), of.name, of.as)
		check.OK(t, err)
		keep(t, hold)
	}
	p := open(t, serve(t, fleet.URLs(), "--node-timeout", "3s"))
	p.do(chromedp.Sleep(20 * time.Second)) // until the records of clients have their holds
	p.until("#locks", "orders:42", "orders:57", "invoices:2026-11", "2 permits", "2 readers")
	p.click(`[data-key="l orders:42"]`)
	p.until("#name", "held by orders-api on ", "billing on ", "reports on ")
	host, err := os.Hostname()
	check.OK(t, err)
	var seen []byte
	p.do(
		chromedp.EmulateViewport(1280, 1024), // as far as the clients
		chromedp.Sleep(time.Second),
		chromedp.Evaluate("fetch = () => new Promise(() => {}); 0", nil), // the page is not drawn any more
		chromedp.Sleep(time.Second),
		chromedp.Evaluate(`{
			const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
			while (words.nextNode()) words.currentNode.data = words.currentNode.data.replace(/\b`+regexp.QuoteMeta(host)+`\b/g, 'host-7');
		}; 0`, nil),
		chromedp.CaptureScreenshot(&seen),
	)
	check.OK(t, os.WriteFile(picture, seen, 0o666))
}
