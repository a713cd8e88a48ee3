// Package browser looks at the project's pages in Chromium, as people do.
package browser

import (
	"bufio"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
)

// deadline is how long a test waits for what should happen at once: these machines are busy.
const deadline = time.Minute

// browser returns the path of a Chromium, after installing it if need be.
var browser = sync.OnceValues(func() (string, error) {
	return redisserver.Need("Chromium", "chromium", func() string {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		return ""
	})
})

// tab is a page in a browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	asked  []string // by dialogs, all of which are confirmed
	failed []string // what scripts complained of
}

func open(t *testing.T, url string) *tab {
	t.Helper()
	path, err := browser()
	check.OK(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := event.(type) {
		case *page.EventJavascriptDialogOpening:
			p.asked = append(p.asked, e.Message)
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(true)) }()
		case *runtime.EventExceptionThrown:
			p.failed = append(p.failed, e.ExceptionDetails.Error())
		}
	})
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, text := range p.failed {
			t.Errorf("a script failed: %s", text)
		}
	})
	p.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(url))
	return p
}

func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// text returns what there is to read at a place of the page.
func (p *tab) text(at string) (text string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(`document.querySelector('`+at+`').innerText`, &text))
	return text
}

// click clicks on what is there, once it is: the page draws it anew again and again.
func (p *tab) click(at string) {
	p.t.Helper()
	p.do(chromedp.WaitReady(at), chromedp.Evaluate("setTimeout(() => document.querySelector('"+at+"').click()); 0", nil))
}

// until waits until the place says all of that, and returns how long it took.
func (p *tab) until(at string, says ...string) time.Duration {
	p.t.Helper()
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		text, missing := p.text(at), ""
		for _, s := range says {
			if !strings.Contains(text, s) {
				missing = s
			}
		}
		if missing == "" {
			return time.Since(start)
		}
		if time.Since(start) > deadline {
			p.t.Fatalf("%s does not say %q:\n%s", at, missing, text)
		}
	}
}

// fits looks at the page on a screen and on a phone, in the light and in the dark: nothing hangs over the
// edge.
func (p *tab) fits(name string) {
	p.t.Helper()
	for size, width := range map[string]int64{"screen": 1280, "phone": 390} {
		for _, scheme := range []string{"light", "dark"} {
			var over int64
			var cut []string
			p.do(
				chromedp.EmulateViewport(width, 900),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.Sleep(200*time.Millisecond), // for what the page draws anew
				chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &over),
				chromedp.Evaluate(`[...document.querySelectorAll('section, section :not(.unseen)')].filter((e) => e.getClientRects().length && (e.scrollWidth > e.clientWidth + 1 && e.clientWidth || e.getBoundingClientRect().right > innerWidth)).map((e) => e.outerHTML)`, &cut),
			)
			if over > 0 {
				p.t.Errorf("%s on a %s: %d pixels hang over the edge", name, size, over)
			}
			if len(cut) > 0 {
				p.t.Errorf("%s on a %s: cut off: %q", name, size, cut)
			}
		}
	}
	p.do(chromedp.EmulateViewport(1280, 900))
}

// program is where the command redlock is.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "redlock")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "redlock")
		build := exec.Command("go", "build", "-o", program, ".")
		build.Dir = "../../cmd/redlock"
		if out, err := build.CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// command returns redlock with args, to be started.
func command(args ...string) *exec.Cmd { return exec.Command(program, args...) }

// serve starts redlock ui for the masters, and returns the address of its page.
func serve(t *testing.T, masters []string, flags ...string) string {
	t.Helper()
	cmd := command(append([]string{"ui", "--listen", "localhost:0", "--no-restart-guard", "--masters", strings.Join(masters, ",")}, flags...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	check.OK(t, err)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		check.Equal(t, cmd.ProcessState.ExitCode(), 130, "redlock ui ended with")
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	check.OK(t, err)
	return strings.TrimSpace(url)
}
